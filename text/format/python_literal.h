#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// Writes a Python literal (texts, numbers, True, False, None, lists, tuples, dicts) as JSON while
/// it arrives, byte by byte. Texts have no prefix, and one quote on each side or three. A single
/// quote ends a text only where a comma, a colon or a closing bracket follows, because models, like
/// their templates, do not escape inner quotes. Owner only.
class PythonLiteral {
 public:
  enum class Step : std::uint8_t {
    kMore,
    kLast,    ///< the value ends with this byte
    kAfter,   ///< the value ended before this byte
    kBroken,  ///< the text is no literal
  };

  /// Levels of lists and dicts.
  static constexpr std::size_t kMaxDepth = 64;

  /// Appends the JSON that the byte completes.
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

  std::string open_;          ///< the brackets that must still be closed
  std::string word_;          ///< the number or name that is being read
  char quote_ = 0;            ///< the quote of the open text
  bool fresh_ = false;        ///< no byte of the text has come yet
  bool triple_ = false;       ///< the text stands between three quotes
  int quotes_ = 0;            ///< number of quotes at the present end of the text
  bool after_quote_ = false;  ///< after a quote that may end the text
  std::string spaces_;        ///< white space after that quote
  bool escaped_ = false;
  int digits_left_ = 0;  ///< digits that a numbered escape still needs
  char32_t code_ = 0;
  bool comma_ = false;  ///< a comma, which is written once another value follows
};

}  // namespace weft
