#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// The events of a text/event-stream, whatever pieces its bytes come in. Most events lie whole
/// within what was read, and are shown there: nothing is copied. Their names, ids and comments are
/// left out. Owner only.
///
/// Source: HTML Living Standard, section 9.2.6, "Interpreting an event stream".
class EventSplitter {
 public:
  /// Of a line and of an event.
  explicit EventSplitter(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// What was read next; stays where it is until next() gives nothing.
  void put(std::string_view bytes) noexcept { rest_ = bytes; }
  /// The data of the next event that is whole, until the next call; nothing: more is to be put.
  [[nodiscard]] std::optional<std::string_view> next();
  /// A line or an event was larger than it may be: nothing comes any more.
  [[nodiscard]] bool too_large() const noexcept { return too_large_; }
  /// As if nothing had come yet.
  void clear();

 private:
  /// The next line without its end, until the next call; nothing: its end has not come.
  [[nodiscard]] std::optional<std::string_view> next_line();
  void add_data(std::string_view value);
  [[nodiscard]] std::optional<std::string_view> stop_too_large();

  const std::size_t most_bytes_;
  std::string_view rest_;      // of what was put
  std::string begun_;          // of a line whose end has not come
  bool line_kept_ = false;     // the line that was given last lies in begun_
  bool after_return_ = false;  // a line feed belongs to the line before
  bool first_line_ = true;
  bool has_data_ = false;
  std::string_view data_;  // of the event that is being read: in what was put, or kept_data_
  std::string kept_data_;
  bool too_large_ = false;
};

}  // namespace weft
