#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/text/jinja/concat.h"
#include "weft/text/jinja/limits.h"
#include "weft/text/jinja/values/value.h"
#include "weft/text/text_error.h"

namespace weft::jinja {

/// One rendering: the memory of its values, its budgets, and the first failure. A failure is kept
/// and everything after it does little and gives undefined values, so that the rendering winds down
/// by itself; whoever loops asks step(), charge() or failed(). Owner only.
class Run {
 public:
  Run(const TemplateLimits& limits, std::chrono::local_seconds now) : limits_(limits), now_(now) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] const TemplateLimits& limits() const { return limits_; }
  [[nodiscard]] std::chrono::local_seconds now() const { return now_; }

  [[nodiscard]] bool failed() const { return failure_.has_value(); }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// The line of the template in which it failed; 0 while that is not known.
  [[nodiscard]] std::uint32_t failed_line() const { return failed_line_; }
  /// The first failure stays; its message is the parts, cut to kMaxMessageBytes. Gives an undefined
  /// value, for `return run.fail(...)`.
  template <class... Parts>
  Value fail(const Parts&... parts) {
    keep_failure(TextErrc::kTemplateFailed, concat({parts...}));
    return Undefined{};
  }
  template <class... Parts>
  Value fail_limit(const Parts&... parts) {
    keep_failure(TextErrc::kTemplateLimit, concat({parts...}));
    return Undefined{};
  }
  /// Says where a failure happened; the first one to say so is the innermost.
  void locate_failure(std::uint32_t line) {
    if (failed() && failed_line_ == 0) failed_line_ = line;
  }

  /// Takes from the budget of steps; false once the rendering has failed.
  bool step(std::size_t count = 1);
  /// For work on `bytes` at the speed of memory: to count, compare or find one character.
  bool step_scan(std::size_t bytes) { return step(1 + bytes / kScannedBytesPerStep); }
  /// For work on `bytes` character by character, and for the search of a string.
  bool step_read(std::size_t bytes) { return step(1 + bytes / kReadBytesPerStep); }
  /// For looking at `count` small things, such as names.
  bool step_look(std::size_t count) { return step(1 + count / kLooksPerStep); }
  /// Takes from the budget of memory before it is used; false once the rendering has failed.
  bool charge(std::size_t bytes);

  /// A new object, which is never destroyed; its memory goes with the rendering. For single small
  /// objects: past the budget it still gives one.
  template <class T, class... Args>
  T* make(Args&&... args) {
    charge(sizeof(T));
    return std::construct_at(static_cast<T*>(memory_.allocate(sizeof(T), alignof(T))),
                             std::forward<Args>(args)...);
  }
  [[nodiscard]] std::pmr::memory_resource* memory() { return &memory_; }

  /// A copy of `text`, charged.
  Value text(std::string_view text, bool markup = false);
  /// A copy that is charged already.
  Value charged_text(std::string_view text, bool markup);
  Value list(std::span<const Value> items, List::Type type = List::Type::kList);

 private:
  void keep_failure(TextErrc code, std::string what);

  TemplateLimits limits_;
  std::chrono::local_seconds now_;
  std::size_t steps_ = 0;
  std::size_t charged_ = 0;
  std::optional<Error> failure_;
  std::uint32_t failed_line_ = 0;
  std::pmr::monotonic_buffer_resource memory_;
};

/// Puts a string together, within the budget of memory.
class TextBuilder {
 public:
  explicit TextBuilder(Run& run) : run_(run) {}

  /// False when the budget is spent, and then nothing is added.
  bool append(std::string_view text) {
    if (!run_.charge(text.size())) return false;
    text_ += text;
    return true;
  }
  bool append(std::size_t count, char c) {
    if (!run_.charge(count)) return false;
    text_.append(count, c);
    return true;
  }
  bool append_repeated(std::size_t count, std::string_view text);

  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] std::string_view view() const { return text_; }
  [[nodiscard]] Run& run() { return run_; }
  [[nodiscard]] Value finish(bool markup = false) { return run_.charged_text(text_, markup); }

 private:
  Run& run_;
  std::string text_;
};

/// Puts a list together, within the budgets of memory and steps.
class ListBuilder {
 public:
  explicit ListBuilder(Run& run) : run_(run) {}

  /// False when a budget is spent, and then nothing is added.
  bool push(const Value& value) {
    if (!run_.step() || !run_.charge(sizeof(Value))) return false;
    items_.push_back(value);
    return true;
  }

  [[nodiscard]] std::span<const Value> items() const { return items_; }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] Value finish(List::Type type = List::Type::kList) const {
    return run_.list(items_, type);
  }
  /// As a generator.
  [[nodiscard]] Value finish_iterator() const;

 private:
  Run& run_;
  std::vector<Value> items_;
};

}  // namespace weft::jinja
