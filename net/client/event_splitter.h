#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// Splits a text/event-stream, which may come in any pieces, into its events. Most events lie whole
/// within one read and are returned from there without a copy. Their names, ids and comments are
/// left out. Owner only.
///
/// Source: HTML Living Standard, section 9.2.6, "Interpreting an event stream".
class EventSplitter {
 public:
  /// Neither a line nor an event may have more than `most_bytes`.
  explicit EventSplitter(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Takes the bytes that were read next. They must stay until next() returns nothing.
  void put(std::string_view bytes) noexcept { rest_ = bytes; }
  /// Returns the data of the next whole event, valid until the next call; nothing: put() is due.
  [[nodiscard]] std::optional<std::string_view> next();
  /// Whether a line or an event was larger than allowed; then nothing comes any more.
  [[nodiscard]] bool too_large() const noexcept { return too_large_; }
  /// Resets the splitter to its initial state.
  void clear();

 private:
  /// Returns the next line without its end, valid until the next call; nothing: its end has not
  /// come.
  [[nodiscard]] std::optional<std::string_view> next_line();
  void add_data(std::string_view value);
  [[nodiscard]] std::optional<std::string_view> stop_too_large();

  const std::size_t most_bytes_;
  std::string_view rest_;      // the bytes of put() that are not split yet
  std::string begun_;          // the beginning of a line whose end has not come
  bool line_kept_ = false;     // the last returned line lies in begun_
  bool after_return_ = false;  // a line feed that comes next belongs to the previous line
  bool first_line_ = true;
  bool has_data_ = false;
  std::string_view data_;  // the event that is being read; lies in the put bytes, or in kept_data_
  std::string kept_data_;
  bool too_large_ = false;
};

}  // namespace weft
