#include "weft/text/unicode/unicode_normalization.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "weft/core/text/utf8.h"

namespace weft {
namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

// The longest decomposition is that of U+FDFA, 18 characters.
constexpr std::size_t kLongestDecomposition = 32;

/// Whether no character of `text` can change or combine with another. Characters below U+0300 do
/// not combine, and without compatibility none of them decomposes under NFC.
bool is_stable(std::string_view text, NormalizationForm form) {
  if (!form.compose || form.compatibility) return false;
  // U+0300 begins with the byte 0xCC.
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0xCC; });
}

utf8proc_propval_t combining_class(utf8proc_int32_t code) {
  return utf8proc_get_property(code)->combining_class;
}

void decompose(std::string_view text, bool compatibility, CodePoints& codes) {
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatibility ? UTF8PROC_COMPAT : 0));
  codes.clear();
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    at += c.length;
    std::array<utf8proc_int32_t, kLongestDecomposition> parts{};
    int boundary = 0;
    const auto code = static_cast<utf8proc_int32_t>(c.code);
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(code, parts.data(), parts.size(), options, &boundary);
    if (count < 1 || static_cast<std::size_t>(count) > parts.size()) {
      codes.push_back(code);
    } else {
      codes.insert(codes.end(), parts.begin(), parts.begin() + count);
    }
  }
}

/// The canonical ordering algorithm (Unicode Standard, D109), by sorting.
void order_marks(CodePoints& codes) {
  const auto is_starter = [](utf8proc_int32_t code) { return combining_class(code) == 0; };
  auto begin = codes.begin();
  while (begin != codes.end()) {
    begin = std::find_if_not(begin, codes.end(), is_starter);
    const auto end = std::find_if(begin, codes.end(), is_starter);
    if (end - begin > 1)
      std::stable_sort(begin, end, [](auto left, auto right) {
        return combining_class(left) < combining_class(right);
      });
    begin = end;
  }
}

/// Appends the normalized form of `text`.
void append_normalized(std::string_view text, NormalizationForm form, CodePoints& codes,
                       std::string& out) {
  decompose(text, form.compatibility, codes);
  order_marks(codes);
  if (form.compose) {
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    const utf8proc_ssize_t size = utf8proc_normalize_utf32(
        codes.data(), static_cast<utf8proc_ssize_t>(codes.size()), options);
    codes.resize(static_cast<std::size_t>(std::max<utf8proc_ssize_t>(size, 0)));
  }
  for (const utf8proc_int32_t code : codes) append_utf8(out, static_cast<char32_t>(code));
}

bool is_ascii_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]) < 0x80;
}

/// Returns the end of ASCII from `at` on, without its last character when another kind follows.
std::size_t skip_plain(std::string_view text, std::size_t at) {
  while (at < text.size() && is_ascii_at(text, at) &&
         (at + 1 == text.size() || is_ascii_at(text, at + 1))) {
    ++at;
  }
  return at;
}

}  // namespace

void normalize_unicode(std::string& text, NormalizationForm form) {
  if (is_ascii(text)) return;
  // No ASCII character changes, moves or joins the character before it. So each begins a part that
  // is normalized separately, and needs no work where the next ASCII character follows at once.
  std::string out;
  out.reserve(text.size());
  CodePoints codes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = skip_plain(text, at);
    out.append(text, at, begin - at);
    at = std::min(begin + 1, text.size());
    while (at < text.size() && !is_ascii_at(text, at)) ++at;
    const std::string_view part = std::string_view(text).substr(begin, at - begin);
    if (is_stable(part, form)) {
      out += part;
    } else {
      append_normalized(part, form, codes, out);
    }
  }
  text = std::move(out);
}

}  // namespace weft
