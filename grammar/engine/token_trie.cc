#include "weft/grammar/engine/token_trie.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "weft/core/text/utf8.h"

namespace weft::grammar {
namespace {

/// Longer tokens are left out, because no token that a model writes has so many bytes.
constexpr std::size_t kLongestToken = 1024;

/// The slices' bounds in code points, beside 0 and no bound. A bounded string counts down, and few
/// tokens are longer than 32.
constexpr std::array<std::uint32_t, 5> kSlices = {4, 8, 16, 32,
                                                  std::numeric_limits<std::uint32_t>::max()};

/// Returns the code points of plain text; 0 for other text.
std::uint32_t plain_characters(std::string_view bytes) {
  if (!is_utf8(bytes)) return 0;
  const bool has_others = std::ranges::any_of(
      bytes, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; });
  return has_others ? 0 : static_cast<std::uint32_t>(count_code_points(bytes));
}

/// Makes a trie of tokens that are sorted by their bytes.
ByteTrie make_trie(std::span<const TokenId> sorted, const std::vector<std::string>& bytes) {
  ByteTrie trie;
  std::vector<std::uint32_t> path;
  const auto close = [&](std::size_t depth) {
    while (path.size() > depth) {
      trie.nodes[path.back()].after = static_cast<std::uint32_t>(trie.nodes.size());
      path.pop_back();
    }
  };
  std::string_view before;
  for (const TokenId token : sorted) {
    const std::string_view text = bytes[static_cast<std::size_t>(token)];
    const auto same =
        static_cast<std::size_t>(std::ranges::mismatch(before, text).in1 - before.begin());
    close(same);
    for (std::size_t i = same; i < text.size(); ++i) {
      path.push_back(static_cast<std::uint32_t>(trie.nodes.size()));
      trie.nodes.push_back({0, static_cast<std::uint32_t>(trie.tokens.size()),
                            static_cast<std::uint16_t>(i), static_cast<std::uint8_t>(text[i])});
    }
    trie.tokens.push_back(token);
    before = text;
  }
  close(0);
  trie.nodes.push_back({0, static_cast<std::uint32_t>(trie.tokens.size()), 0, 0});
  return trie;
}

std::vector<std::string> token_bytes(const Tokenizer& tokenizer) {
  std::vector<std::string> bytes(tokenizer.vocabulary_size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (tokenizer.is_special(id) || !tokenizer.append_bytes(id, bytes[i])) bytes[i].clear();
  }
  return bytes;
}

std::unordered_map<std::string, TokenId> special_tokens(const Tokenizer& tokenizer) {
  std::unordered_map<std::string, TokenId> special;
  for (std::size_t i = 0; i < tokenizer.vocabulary_size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const auto text = tokenizer.is_special(id) ? tokenizer.token(id) : Result<std::string_view>("");
    if (text && !text->empty()) special.emplace(*text, id);
  }
  return special;
}

}  // namespace

TokenTrie::TokenTrie(const Tokenizer& tokenizer)
    : TokenTrie(token_bytes(tokenizer), special_tokens(tokenizer)) {
  tokenizer_ = tokenizer;
}

TokenTrie::TokenTrie(std::vector<std::string> bytes,
                     std::unordered_map<std::string, TokenId> special)
    : bytes_(std::move(bytes)), special_(std::move(special)) {
  make_slices();
}

void TokenTrie::make_slices() {
  std::vector<TokenId> sorted;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (!bytes_[i].empty() && bytes_[i].size() <= kLongestToken) {
      sorted.push_back(static_cast<TokenId>(i));
    }
  }
  std::ranges::sort(sorted, [&](TokenId a, TokenId b) { return bytes(a) < bytes(b); });
  slices_.push_back({0, 0, {}, make_trie(sorted, bytes_)});
  for (const std::uint32_t most : kSlices) {
    Slice slice{most, 0, std::vector<std::uint32_t>(words()), {}};
    std::vector<TokenId> others;
    for (const TokenId token : sorted) {
      const std::uint32_t characters = plain_characters(bytes(token));
      if (characters == 0 || characters > most) {
        others.push_back(token);
      } else {
        const auto id = static_cast<std::uint32_t>(token);
        slice.bits[id / 32] |= std::uint32_t{1} << (id % 32);
        ++slice.count;
      }
    }
    slice.others = make_trie(others, bytes_);
    slices_.push_back(std::move(slice));
  }
}

const TokenTrie::Slice& TokenTrie::slice(std::uint32_t characters) const {
  const auto above = std::ranges::upper_bound(slices_, characters, {}, &Slice::characters);
  return *std::prev(above);
}

bool TokenTrie::spells(std::span<const TokenId> tokens, std::string_view text) const {
  for (const TokenId token : tokens) {
    if (!has(token) || bytes(token).empty() || !text.starts_with(bytes(token))) return false;
    text.remove_prefix(bytes(token).size());
  }
  return text.empty();
}

/// Some tokenizers put a space before every text. Then the text is encoded again after a line
/// break, which is a token of its own.
bool TokenTrie::spell(std::string_view text, std::vector<TokenId>& out) const {
  out.clear();
  if (!tokenizer_) return false;
  constexpr EncodeOptions kPlain{.add_special = false};
  if (tokenizer_->encode(text, kPlain, out) && spells(out, text)) return true;
  out.clear();
  if (!tokenizer_->encode("\n" + std::string(text), kPlain, out)) return false;
  std::size_t first = out.size();
  for (std::size_t size = 0; first > 0 && size < text.size() && has(out[first - 1]);) {
    size += bytes(out[--first]).size();
  }
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(first));
  return spells(out, text);
}

TokenId TokenTrie::special(std::string_view text) const {
  const auto found = special_.find(std::string(text));
  return found == special_.end() ? kNoToken : found->second;
}

}  // namespace weft::grammar
