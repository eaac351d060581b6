#pragma once

#include <cstddef>
#include <deque>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/jinja/client_text.h"
#include "weft/text/jinja/run.h"

namespace weft::jinja {

/// The target of a rendering: the prompt or, while a macro or a block is captured, a separate
/// string. The prompt is also bounded by TemplateLimits::output_bytes.
class Output {
 public:
  explicit Output(Run& run)
      : run_(run), prompt_(run), captures_(run.scratch()), generated_(run.scratch()) {}

  void write(std::string_view text) {
    if (!captures_.empty()) {
      captures_.back().append(text);
    } else if (fits(text.size())) {
      prompt_.append(text);
    }
  }

  void begin_capture() { captures_.emplace_back(run_); }
  /// Returns the text written since the last begin_capture().
  Value end_capture() {
    const Value text = captures_.back().finish();
    captures_.pop_back();
    return text;
  }

  /// Returns the place in the prompt where text is written now; none inside a macro or a captured
  /// block, whose text has no place yet.
  [[nodiscard]] std::optional<std::size_t> place() const {
    if (!captures_.empty()) return std::nullopt;
    return prompt_.size();
  }
  /// Marks the prompt's text from `begin` on as the assistant's.
  void mark_generated(std::size_t begin) { generated_.push_back({begin, prompt_.size()}); }
  [[nodiscard]] std::span<const ByteRange> generated() const { return generated_; }

  /// The parts of the prompt that a client wrote.
  [[nodiscard]] std::span<const ByteRange> client() const { return prompt_.client(); }
  /// Returns the prompt, and gives its memory to the caller.
  [[nodiscard]] std::string take_prompt() {
    return run_.has_room(prompt_.size()) ? std::string(prompt_.view()) : std::string();
  }

 private:
  bool fits(std::size_t bytes) {
    if (run_.failed()) return false;
    if (bytes <= run_.limits().output_bytes - prompt_.size()) return true;
    run_.fail_output("more than ", std::to_string(run_.limits().output_bytes), " bytes of output");
    return false;
  }

  Run& run_;
  TextBuilder prompt_;
  std::pmr::deque<TextBuilder> captures_;
  std::pmr::vector<ByteRange> generated_;
};

}  // namespace weft::jinja
