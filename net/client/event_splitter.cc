#include "weft/net/client/event_splitter.h"

#include <algorithm>

namespace weft {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Returns the value of a line's field "data"; nothing when the line has another field, or is a
/// comment.
std::optional<std::string_view> data_in(std::string_view line) noexcept {
  constexpr std::string_view kData = "data";
  if (!line.starts_with(kData)) return std::nullopt;
  line.remove_prefix(kData.size());
  if (line.empty()) return line;
  if (line.front() != ':') return std::nullopt;
  line.remove_prefix(1);
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

}  // namespace

void EventSplitter::clear() {
  rest_ = {};
  begun_.clear();
  kept_data_.clear();
  data_ = {};
  line_kept_ = after_return_ = has_data_ = too_large_ = false;
  first_line_ = true;
}

std::optional<std::string_view> EventSplitter::next_line() {
  if (line_kept_) begun_.clear();
  line_kept_ = false;
  if (after_return_ && !rest_.empty()) {
    after_return_ = false;
    if (rest_.front() == '\n') rest_.remove_prefix(1);
  }
  // Two searches, one for each line end, are faster than a search for either, because the library
  // has the former in SIMD.
  const std::size_t feed = rest_.find('\n');
  const std::size_t end = std::min(rest_.substr(0, feed).find('\r'), feed);
  if (end == std::string_view::npos) {
    begun_.append(rest_);
    rest_ = {};
    return std::nullopt;
  }
  std::string_view line = rest_.substr(0, end);
  after_return_ = rest_[end] == '\r';
  rest_.remove_prefix(end + 1);
  if (!begun_.empty()) {
    begun_.append(line);
    line_kept_ = true;
    line = begun_;
  }
  if (first_line_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  first_line_ = false;
  return line;
}

void EventSplitter::add_data(std::string_view value) {
  if (!has_data_ && !line_kept_) {
    data_ = value;
  } else {
    if (!has_data_) {
      kept_data_.clear();
    } else {
      if (data_.data() != kept_data_.data()) kept_data_.assign(data_);
      kept_data_.push_back('\n');
    }
    kept_data_.append(value);
    data_ = kept_data_;
  }
  has_data_ = true;
}

std::optional<std::string_view> EventSplitter::next() {
  if (too_large_) return std::nullopt;
  while (const auto line = next_line()) {
    if (line->size() > most_bytes_) return stop_too_large();
    if (line->empty()) {
      // An event without data is dropped, as the standard says.
      if (!has_data_ || data_.empty()) {
        has_data_ = false;
        continue;
      }
      has_data_ = false;
      return data_;
    }
    if (const auto value = data_in(*line)) add_data(*value);
    if (has_data_ && data_.size() > most_bytes_) return stop_too_large();
  }
  if (begun_.size() > most_bytes_) return stop_too_large();
  // The read buffer will be reused, so the unfinished event's data in it is copied.
  if (has_data_ && data_.data() != kept_data_.data()) {
    kept_data_.assign(data_);
    data_ = kept_data_;
  }
  return std::nullopt;
}

std::optional<std::string_view> EventSplitter::stop_too_large() {
  clear();
  too_large_ = true;
  return std::nullopt;
}

}  // namespace weft
