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
#include "weft/text/jinja/client_text.h"
#include "weft/text/jinja/concat.h"
#include "weft/text/jinja/limits.h"
#include "weft/text/jinja/memory.h"
#include "weft/text/jinja/values/value.h"
#include "weft/text/text_error.h"

namespace weft::jinja {

/// One rendering: the memory of its values, its budgets, and its first failure. After a failure
/// every operation does little and returns undefined values, so that the rendering ends soon; loops
/// ask step(), has_room() or failed(). Owner only.
class Run {
 public:
  Run(const TemplateLimits& limits, std::chrono::local_seconds now)
      : limits_(limits), now_(now), held_(limits.memory_bytes), arena_(held_) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] const TemplateLimits& limits() const { return limits_; }
  [[nodiscard]] std::chrono::local_seconds now() const { return now_; }

  [[nodiscard]] bool failed() const { return failure_.has_value(); }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// Returns the line of the template in which it failed; 0 while the line is unknown.
  [[nodiscard]] std::uint32_t failed_line() const { return failed_line_; }
  /// Fails the rendering. The first failure counts; its message is the joined parts, cut to
  /// kMaxMessageBytes. Returns an undefined value, for `return run.fail(...)`.
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
  template <class... Parts>
  Value fail_output(const Parts&... parts) {
    keep_failure(TextErrc::kTemplateOutput, concat({parts...}));
    return Undefined{};
  }
  /// Sets the line of a failure. The first call counts, because it is the innermost.
  void locate_failure(std::uint32_t line) {
    if (failed() && failed_line_ == 0) failed_line_ = line;
  }

  /// Takes from the budget of steps; false once the rendering has failed.
  bool step(std::size_t count = 1);
  /// Takes steps for work on `bytes` at the speed of memory: to count, compare or find one
  /// character.
  bool step_scan(std::size_t bytes) { return step(1 + bytes / kScannedBytesPerStep); }
  /// Takes steps for work on `bytes` character by character, and for the search of a string.
  bool step_read(std::size_t bytes) { return step(1 + bytes / kReadBytesPerStep); }
  /// Takes steps for looking at `count` small things, such as names.
  bool step_look(std::size_t count) { return step(1 + count / kLooksPerStep); }
  /// Returns whether so many more bytes may be held; otherwise the rendering fails. Needed only for
  /// sizes that could reach gigabytes, because all allocations from memory() and scratch() are
  /// bounded.
  bool has_room(std::size_t bytes);
  /// Fails the rendering because of MemorySpent.
  void fail_memory();

  /// Makes a new object, which is never destroyed; its memory is freed with the rendering.
  template <class T, class... Args>
  T* make(Args&&... args) {
    return std::construct_at(static_cast<T*>(arena_.allocate(sizeof(T), alignof(T))),
                             std::forward<Args>(args)...);
  }
  /// Returns the memory of values: allocations stay until the rendering ends. It throws
  /// MemorySpent.
  [[nodiscard]] std::pmr::memory_resource* memory() { return &arena_; }
  /// Returns the memory of temporary parts, which is freed at once. It throws MemorySpent.
  [[nodiscard]] std::pmr::memory_resource* scratch() { return &held_; }

  /// Returns the texts that a client wrote; empty unless the caller enters them.
  [[nodiscard]] ClientText& client() { return client_; }

  /// Returns a copy of `text`. The copy counts as a client's text if `text` does.
  Value text(std::string_view text, bool markup = false);
  Value list(std::span<const Value> items, List::Type type = List::Type::kList);

 private:
  void keep_failure(TextErrc code, std::string what);

  TemplateLimits limits_;
  std::chrono::local_seconds now_;
  std::size_t steps_ = 0;
  std::optional<Error> failure_;
  std::uint32_t failed_line_ = 0;
  BoundedMemory held_;
  Arena arena_;
  ClientText client_{&held_};
};

/// Builds a string within the memory budget, and records which parts a client wrote.
class TextBuilder {
 public:
  explicit TextBuilder(Run& run) : run_(run), text_(run.scratch()), client_(run.scratch()) {}

  /// Returns false, and adds nothing, when the budget is spent. `text` belongs to a value or to the
  /// template, or is made of text that no client wrote.
  bool append(std::string_view text) {
    if (!run_.has_room(text.size())) return false;
    const std::size_t at = text_.size();
    run_.client().for_each_range(
        text, [&](ByteRange range) { keep_client({at + range.begin, at + range.end}); });
    text_ += text;
    return true;
  }
  bool append(std::size_t count, char c) {
    if (!run_.has_room(count)) return false;
    text_.append(count, c);
    return true;
  }
  /// Appends the small string that `write(std::string&)` makes. It stands for `source`, and counts
  /// as a client's text if `source` does.
  template <class Write>
  bool append_for(std::string_view source, Write write) {
    piece_.clear();
    write(piece_);
    if (!run_.has_room(piece_.size())) return false;
    if (run_.client().any_in(source)) keep_client({text_.size(), text_.size() + piece_.size()});
    text_ += piece_;
    return true;
  }
  bool append_repeated(std::size_t count, std::string_view text);

  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] std::string_view view() const { return text_; }
  /// The parts that a client wrote, in their order.
  [[nodiscard]] std::span<const ByteRange> client() const { return client_; }
  [[nodiscard]] Run& run() { return run_; }
  /// Always returns a string, an empty one when there is no memory for it.
  [[nodiscard]] Value finish(bool markup = false);

 private:
  void keep_client(ByteRange range) {
    if (range.begin == range.end) return;
    if (!client_.empty() && client_.back().end == range.begin) {
      client_.back().end = range.end;
    } else {
      client_.push_back(range);
    }
  }

  Run& run_;
  std::pmr::string text_;
  std::pmr::vector<ByteRange> client_;
  std::string piece_;
};

/// Builds a list, within the budgets of memory and steps.
class ListBuilder {
 public:
  explicit ListBuilder(Run& run) : run_(run), items_(run.scratch()) {}

  /// Appends a value; returns false, and adds nothing, when a budget is spent.
  bool push(const Value& value) {
    if (!run_.step()) return false;
    items_.push_back(value);
    return true;
  }

  [[nodiscard]] std::span<const Value> items() const { return items_; }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] Value finish(List::Type type = List::Type::kList) const {
    return run_.list(items_, type);
  }
  /// Returns the list as a generator.
  [[nodiscard]] Value finish_iterator() const;

 private:
  Run& run_;
  std::pmr::vector<Value> items_;
};

}  // namespace weft::jinja
