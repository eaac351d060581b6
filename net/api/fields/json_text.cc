#include "weft/net/api/fields/json_text.h"

#include <array>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <utility>

#include "weft/core/text/utf8.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr auto kIsPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < 0x80; ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}();

/// Whether none of eight bytes is a control, a quote, a backslash or beyond ASCII. A byte is below
/// n when subtracting n from it borrows from its highest bit; borrows run upwards, so they can only
/// mark bytes above one that is below n.
bool are_plain(const char* eight) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighest = kOnes * 0x80;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, eight, sizeof bytes);
  const std::uint64_t quote = bytes ^ (kOnes * '"');
  const std::uint64_t backslash = bytes ^ (kOnes * '\\');
  const std::uint64_t guilty =
      bytes | (bytes - kOnes * 0x20) | (quote - kOnes) | (backslash - kOnes);
  return (guilty & kHighest) == 0;
}

/// Returns the end of the bytes from `at` on that need no escape.
std::size_t plain_end(std::string_view text, std::size_t at) noexcept {
  for (;;) {
    while (text.size() - at >= 8 && are_plain(text.data() + at)) at += 8;
    while (at < text.size() && kIsPlain[static_cast<unsigned char>(text[at])]) ++at;
    if (at == text.size()) return at;
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) return at;
    const std::size_t length = utf8_length(lead);
    if (valid_utf8_prefix(text.substr(at, length)) != length) return at;
    at += length;
  }
}

void append_escape(std::string& out, char byte) {
  switch (byte) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    default:
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto code = static_cast<unsigned char>(byte);
      out.append("\\u00");
      out.push_back(kDigits[code >> 4]);
      out.push_back(kDigits[code & 15]);
  }
}

void append_double(std::string& out, double number) {
  std::array<char, 32> digits;  // the longest number has 24
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out.append(text);
  if (text.find_first_of(".e") == text.npos) out.append(".0");
}

template <class Items, class Append>
void append_items(std::string& out, const Items& items, char open, char close, Append&& append) {
  out.push_back(open);
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) out.push_back(',');
    append(item);
  }
  out.push_back(close);
}

}  // namespace

void append_json_string(std::string& out, std::string_view utf8) {
  std::string repaired;
  out.push_back('"');
  for (std::size_t at = 0;;) {
    const std::size_t end = plain_end(utf8, at);
    out.append(utf8, at, end - at);
    if (end == utf8.size()) break;
    if (static_cast<unsigned char>(utf8[end]) < 0x80) {
      append_escape(out, utf8[end]);
      at = end + 1;
    } else {
      repaired = lossy_utf8(utf8.substr(end));
      utf8 = repaired;
      at = 0;
    }
  }
  out.push_back('"');
}

void append_json_string_or_null(std::string& out, std::string_view utf8) {
  if (utf8.empty()) {
    out.append("null");
  } else {
    append_json_string(out, utf8);
  }
}

void append_number(std::string& out, std::int64_t number) {
  std::array<char, 20> digits;  // the smallest number has 19 digits and a sign
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), end);
}

void append_json(std::string& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::string:
      return append_json_string(out, value.get_string());
    case json::kind::double_:
      return append_double(out, value.get_double());
    case json::kind::array:
      return append_items(out, value.get_array(), '[', ']',
                          [&](const json::value& item) { append_json(out, item); });
    case json::kind::object:
      return append_items(out, value.get_object(), '{', '}', [&](const auto& member) {
        append_json_string(out, member.key());
        out.push_back(':');
        append_json(out, member.value());
      });
    default:
      out.append(json::serialize(value));
  }
}

std::string json_text(const json::value& value) {
  std::string text;
  append_json(text, value);
  return text;
}

}  // namespace weft
