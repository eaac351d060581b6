#include "weft/net/api/fields/large_number.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

#include "weft/net/api/fields/body_fields.h"

namespace weft {
namespace {

template <class Number>
bool is_out_of_range(std::string_view digits) {
  Number number{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc::result_out_of_range;
}

bool is_beyond_64_bits(std::string_view number) {
  const auto exponent = number.find_first_of("eE");
  if (exponent == std::string_view::npos && number.find('.') == std::string_view::npos) {
    return number.starts_with('-') ? is_out_of_range<std::int64_t>(number)
                                   : is_out_of_range<std::uint64_t>(number);
  }
  // A number too close to 0 reads as 0, and is refused as out of range, too.
  const bool small = exponent != std::string_view::npos && number.substr(exponent + 1, 1) == "-";
  return !small && is_out_of_range<double>(number);
}

/// Walks a JSON text from value to value, and knows the path of the current value.
class NumberSearch {
 public:
  explicit NumberSearch(std::string_view text) : text_(text) {}

  std::optional<std::string> run() {
    while (at_ < text_.size() && levels_.size() <= BodyParser::kMaxDepth) {
      const char c = text_[at_];
      if (c == '-' || (c >= '0' && c <= '9')) {
        if (is_beyond_64_bits(take_number())) return path();
      } else if (c == '"') {
        take_string();
      } else {
        take_mark(c);
      }
    }
    return std::nullopt;
  }

 private:
  /// An object or a list that is open.
  struct Level {
    bool is_list = false;
    std::size_t index = 0;   // in a list
    std::string_view key{};  // in an object
  };

  std::string_view take_number() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_not_of("+-.eE0123456789", begin), text_.size());
    return text_.substr(begin, at_ - begin);
  }

  void take_string() {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    const std::size_t end = std::min(at_, text_.size());
    at_ = std::min(text_.find_first_not_of(" \t\r\n", end + 1), text_.size());
    const bool is_key = at_ < text_.size() && text_[at_] == ':';
    if (is_key && !levels_.empty()) levels_.back().key = text_.substr(begin, end - begin);
  }

  void take_mark(char mark) {
    ++at_;
    if (mark == '{' || mark == '[') levels_.push_back({.is_list = mark == '['});
    if (levels_.empty()) return;
    if (mark == '}' || mark == ']') levels_.pop_back();
    if (mark == ',') ++levels_.back().index;
  }

  [[nodiscard]] std::string path() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.is_list) {
        path = indexed(path, level.index);
      } else {
        path.append(path.empty() ? "" : ".").append(level.key);
      }
    }
    return path;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Level> levels_;
};

}  // namespace

std::optional<std::string> number_beyond_64_bits(std::string_view text) {
  return NumberSearch(text).run();
}

}  // namespace weft
