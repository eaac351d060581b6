#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// Writes a Python literal (texts, numbers, True, False, None, lists, tuples, dicts) as JSON while
/// it comes, byte by byte. Texts have no prefix, and one quote on each side or three. One quote
/// ends a text only where a comma, a colon or a closing bracket follows: models do not escape the
/// quotes inside, as their templates do not. Owner only.
class PythonLiteral {
 public:
  enum class Step : std::uint8_t {
    kMore,
    kLast,    ///< the value ends with this byte
    kAfter,   ///< it ended before this byte
    kBroken,  ///< this is no literal
  };

  /// Levels of lists and dicts.
  static constexpr std::size_t kMaxDepth = 64;

  /// Appends the JSON that the byte settles.
  Step push(char c, std::string& out);

 private:
  Step push_in_text(char c, std::string& out);
  Step push_quote(std::string& out);
  Step push_after_quote(char c, std::string& out);
  Step push_escaped(char c, std::string& out);
  Step push_code(char c, std::string& out);
  Step push_word(char c, std::string& out);
  Step push_plain(char c, std::string& out);
  Step begin_value(char c, std::string& out);
  Step close(char c, std::string& out);
  Step after_value() { return open_.empty() ? Step::kLast : Step::kMore; }

  std::string open_;          ///< the brackets that are still to be closed
  std::string word_;          ///< the number or name that is being read
  char quote_ = 0;            ///< the quote of the open text
  bool fresh_ = false;        ///< no byte of the text has come
  bool triple_ = false;       ///< the text stands between three quotes
  int quotes_ = 0;            ///< quotes at the end of what has come
  bool after_quote_ = false;  ///< behind a quote that may end the text
  std::string spaces_;        ///< white space behind that quote
  bool escaped_ = false;
  int digits_left_ = 0;  ///< of an escape by number
  char32_t code_ = 0;
  bool comma_ = false;  ///< that is written once another value follows
};

}  // namespace weft
