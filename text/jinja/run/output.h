#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/text/jinja/run.h"

namespace weft::jinja {

/// Where a rendering writes: the prompt, or, while a macro or a block is captured, a string of its
/// own. The prompt is bounded by TemplateLimits::output_bytes, the others by its memory_bytes.
class Output {
 public:
  explicit Output(Run& run) : run_(run) {}

  void write(std::string_view text) {
    const bool prompt = captures_.empty();
    if (prompt ? !fits(text.size()) : !run_.charge(text.size())) return;
    (prompt ? prompt_ : captures_.back()) += text;
  }

  void begin_capture() { captures_.emplace_back(); }
  /// What was written since the last begin_capture(), charged already.
  std::string end_capture() {
    std::string text = std::move(captures_.back());
    captures_.pop_back();
    return text;
  }

  std::string take_prompt() { return std::move(prompt_); }

 private:
  bool fits(std::size_t bytes) {
    if (run_.failed()) return false;
    if (bytes <= run_.limits().output_bytes - prompt_.size()) return true;
    run_.fail_limit("more than ", std::to_string(run_.limits().output_bytes), " bytes of output");
    return false;
  }

  Run& run_;
  std::string prompt_;
  std::vector<std::string> captures_;
};

}  // namespace weft::jinja
