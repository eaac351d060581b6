#include "weft/text/tokenizer/normalize/precompiled_charsmap.h"

#include <utf8proc.h>

#include <cstring>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

// Read one unit of the double array: a label in the low byte, or a value; flags; an offset to its
// children.
constexpr std::uint32_t label(std::uint32_t unit) { return unit & 0x800000FFU; }
constexpr std::uint32_t value(std::uint32_t unit) { return unit & 0x7FFFFFFFU; }
constexpr bool has_leaf(std::uint32_t unit) { return ((unit >> 8) & 1) != 0; }
constexpr std::uint32_t offset(std::uint32_t unit) {
  return (unit >> 10) << ((unit & (1U << 9)) >> 6);
}

// Longer clusters are looked up only by their characters.
constexpr std::size_t kLongestCluster = 5;

Error bad(std::string_view what) {
  return {make_error_code(TextErrc::kBadTokenizer), "precompiled_charsmap: " + std::string(what)};
}

}  // namespace

Result<PrecompiledCharsmap> PrecompiledCharsmap::parse(std::string_view blob) {
  std::uint32_t size = 0;
  if (blob.size() < sizeof size) return bad("shorter than its header");
  std::memcpy(&size, blob.data(), sizeof size);
  blob.remove_prefix(sizeof size);
  if (size > blob.size()) return bad("the trie is cut");
  if (size == 0 || size % sizeof(std::uint32_t) != 0) return bad("the trie is misaligned");
  PrecompiledCharsmap charsmap;
  charsmap.trie_.resize(size / sizeof(std::uint32_t));
  std::memcpy(charsmap.trie_.data(), blob.data(), size);
  charsmap.replacements_ = blob.substr(size);
  if (!is_utf8(charsmap.replacements_)) {
    return bad("the replacements are not UTF-8");
  }
  for (unsigned char byte = 0; byte < 0x80; ++byte) {
    const auto c = static_cast<char>(byte);
    charsmap.is_plain_[byte] = c != '\r' && c != '\n' && !charsmap.find({&c, 1});
  }
  return charsmap;
}

std::optional<std::string_view> PrecompiledCharsmap::find(std::string_view chunk) const {
  std::uint32_t node = offset(trie_.front());
  for (const char c : chunk) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= trie_.size() || label(trie_[node]) != byte) return std::nullopt;
    const std::uint32_t unit = trie_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= trie_.size()) return std::nullopt;
    const std::uint32_t at = value(trie_[node]);
    if (at >= replacements_.size()) return std::nullopt;
    const std::string_view rest = std::string_view(replacements_).substr(at);
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

std::size_t PrecompiledCharsmap::skip_plain(std::string_view text, std::size_t at) const {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  // The next character may be a mark that joins the last character.
  while (at < text.size() && is_plain_[byte(at)] &&
         (at + 1 == text.size() || byte(at + 1) < 0x80)) {
    ++at;
  }
  return at;
}

bool PrecompiledCharsmap::apply(std::string& text, std::size_t max_size) const {
  std::string out;
  out.reserve(text.size());
  const auto replace_characters = [&](std::string_view cluster) {
    for (std::size_t at = 0; at < cluster.size() && out.size() <= max_size;) {
      const std::size_t length = utf8_length(static_cast<unsigned char>(cluster[at]));
      const std::string_view part = cluster.substr(at, length);
      out += find(part).value_or(part);
      at += length;
    }
  };
  for (std::size_t begin = 0; begin < text.size();) {
    if (const std::size_t end = skip_plain(text, begin); end > begin) {
      if (out.size() + (end - begin) > max_size) return false;
      out.append(text, begin, end - begin);
      begin = end;
      continue;
    }
    Utf8Char last = utf8_at(text, begin);
    std::size_t end = begin + last.length;
    utf8proc_int32_t state = 0;
    while (end < text.size()) {
      const Utf8Char next = utf8_at(text, end);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(last.code),
                                           static_cast<utf8proc_int32_t>(next.code), &state)) {
        break;
      }
      last = next;
      end += next.length;
    }
    const std::string_view cluster = std::string_view(text).substr(begin, end - begin);
    const auto whole = cluster.size() <= kLongestCluster ? find(cluster) : std::nullopt;
    if (whole) {
      out += *whole;
    } else {
      replace_characters(cluster);
    }
    if (out.size() > max_size) return false;
    begin = end;
  }
  text = std::move(out);
  return true;
}

}  // namespace weft
