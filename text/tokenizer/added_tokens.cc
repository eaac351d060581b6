#include "weft/text/tokenizer/added_tokens.h"

#include <algorithm>

#include "weft/core/text/utf8.h"
#include "weft/text/unicode/unicode.h"

namespace weft {
namespace {

bool touches_word(std::string_view text, std::size_t begin, std::size_t end) {
  if (begin > 0 && is_word(utf8_at(text, utf8_before(text, begin)).code)) return true;
  return end < text.size() && is_word(utf8_at(text, end).code);
}

std::size_t space_before(std::string_view text, std::size_t begin, std::size_t lowest) {
  while (begin > lowest) {
    const std::size_t before = utf8_before(text, begin);
    if (!is_white_space(utf8_at(text, before).code)) break;
    begin = before;
  }
  return std::max(begin, lowest);
}

std::size_t space_after(std::string_view text, std::size_t end) {
  while (end < text.size()) {
    const Utf8Char c = utf8_at(text, end);
    if (!is_white_space(c.code)) break;
    end += c.length;
  }
  return end;
}

ByteTrie added_token_trie(const std::vector<AddedToken>& tokens) {
  std::vector<std::pair<std::string_view, TokenId>> entries;
  for (const AddedToken& token : tokens) {
    entries.emplace_back(token.content, static_cast<TokenId>(entries.size()));
  }
  return ByteTrie(std::move(entries));
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), trie_(added_token_trie(tokens_)), begins_(256) {
  for (unsigned byte = 0; byte < 256; ++byte) begins_[byte] = trie_.begins(static_cast<char>(byte));
}

void AddedTokenFinder::split(std::string_view text, bool parse_special,
                             std::span<const std::size_t> literals,
                             std::vector<TextSection>& out) const {
  const auto add = [&](std::size_t begin, std::size_t end, TokenId id) {
    if (end > begin) out.push_back({text.substr(begin, end - begin), id});
  };
  std::size_t done = 0;
  for (std::size_t at = 0; !tokens_.empty() && at < text.size();) {
    const ByteTrie::Match match = begins_[static_cast<unsigned char>(text[at])]
                                      ? trie_.longest_prefix(text.substr(at))
                                      : ByteTrie::Match{};
    if (match.length == 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(match.id)];
    std::size_t begin = at;
    std::size_t end = at + match.length;
    at = end;
    if (token.special && (!parse_special || std::ranges::binary_search(literals, begin))) continue;
    if (token.single_word && touches_word(text, begin, end)) continue;
    if (token.left_strip) begin = space_before(text, begin, done);
    if (token.right_strip) end = space_after(text, end);
    add(done, begin, kNoToken);
    add(begin, end, token.id);
    done = end;
  }
  add(done, text.size(), kNoToken);
}

}  // namespace weft
