#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/tokenizer/text_hash.h"

namespace weft {

/// Remembers the tokens of short words. An entry fills a cache line, and a newer word replaces an
/// older one in the same slot. Owner only.
class WordCache {
 public:
  static constexpr std::size_t kMaxWord = 34;   ///< bytes; with the ids it fills a cache line
  static constexpr std::size_t kMaxTokens = 7;  ///< fills the cache line together with kMaxWord

  /// Appends the tokens of `word`, which is not empty: remembered tokens, or those that
  /// `encode_new()` appends to `out`.
  template <class EncodeNew>
  void encode(std::string_view word, std::vector<TokenId>& out, EncodeNew&& encode_new) {
    if (word.size() > kMaxWord) return encode_new();
    Entry& entry = entry_of(word);
    if (entry.holds(word)) {
      out.insert(out.end(), entry.tokens().begin(), entry.tokens().end());
      return;
    }
    const std::size_t before = out.size();
    encode_new();
    entry.store(word, std::span(out).subspan(before));
  }

 private:
  struct Entry {
    std::array<TokenId, kMaxTokens> ids;
    std::uint8_t count = 0;
    std::uint8_t size = 0;  ///< 0: the entry is empty.
    std::array<char, kMaxWord> text;

    [[nodiscard]] bool holds(std::string_view word) const noexcept {
      return size == word.size() && std::memcmp(text.data(), word.data(), word.size()) == 0;
    }
    [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return {ids.data(), count}; }
    void store(std::string_view word, std::span<const TokenId> tokens) noexcept {
      if (tokens.size() > kMaxTokens) return;
      size = static_cast<std::uint8_t>(word.size());
      count = static_cast<std::uint8_t>(tokens.size());
      std::memcpy(text.data(), word.data(), word.size());
      if (!tokens.empty()) std::memcpy(ids.data(), tokens.data(), tokens.size_bytes());
    }
  };

  /// Returns the entry of `word`, whether it is there or not.
  [[nodiscard]] Entry& entry_of(std::string_view word) {
    if (entries_.empty()) entries_.resize(kEntries);
    return entries_[hash_text(word) & (kEntries - 1)];
  }

  // 1 MiB: fits the words of a long English text, and stays in a second-level cache.
  static constexpr std::size_t kEntries = 16384;

  std::vector<Entry> entries_;
};

}  // namespace weft
