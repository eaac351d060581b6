#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// Finds the end of a JSON value byte by byte. It counts brackets, knows strings and reports bytes
/// that cannot stand in JSON; it checks nothing else. Owner only.
class JsonSpan {
 public:
  enum class Step : std::uint8_t {
    kMore,    ///< the byte belongs to the value, or is white space before it
    kLast,    ///< the value ends with this byte
    kAfter,   ///< the value, a number or a word, ended before this byte
    kBroken,  ///< the byte cannot stand here in a value
  };

  Step push(char c) noexcept;
  [[nodiscard]] bool started() const noexcept { return started_; }
  /// Whether the value has ended with kLast.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

 private:
  Step begin(char c) noexcept;
  Step push_in_string(char c) noexcept;

  std::uint64_t depth_ = 0;
  bool started_ = false;
  bool complete_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
  bool scalar_ = false;
};

/// Decodes the inside of a JSON string byte by byte. An unpaired surrogate escape becomes U+FFFD,
/// and an escape that JSON does not have stays unchanged. Owner only.
class JsonStringDecoder {
 public:
  /// Appends characters that the byte completes; true when it is the quote that ends the string.
  bool push(char c, std::string& out);

 private:
  void push_escaped(char c, std::string& out);
  void push_hex(char c, std::string& out);
  void end_code(std::string& out);

  bool escaped_ = false;
  int hex_left_ = 0;
  char32_t code_ = 0;
  char32_t high_ = 0;  ///< the first half of a surrogate pair, until the second comes
};

/// Appends `text` as it stands inside a JSON string's quotes: quotes, backslashes and controls are
/// escaped, and all other bytes are unchanged.
void append_json_escaped(std::string_view text, std::string& out);

}  // namespace weft
