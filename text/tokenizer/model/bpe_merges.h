#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/tokenizer/text_hash.h"

namespace weft {

/// The merge rules of a byte-pair encoding: each says which symbol a pair of neighbours becomes,
/// and its rank. A flat table with open addressing. Thread-safe once filled.
class BpeMerges {
 public:
  struct Rule {
    std::uint32_t rank = kNoRank;  ///< Lower ranks merge first.
    TokenId merged = kNoToken;
  };
  static constexpr std::uint32_t kNoRank = UINT32_MAX;

  BpeMerges() : slots_(2) {}

  void reserve(std::size_t count);

  /// Adds a rule. If the pair has a rule already, the new one replaces it when `replace`, else is
  /// ignored.
  void add(TokenId left, TokenId right, Rule rule, bool replace);

  /// Returns a rule with kNoRank when the pair does not merge.
  [[nodiscard]] Rule find(TokenId left, TokenId right) const noexcept {
    const std::uint64_t wanted = key(left, right);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t slot = place(wanted) & mask;; slot = (slot + 1) & mask) {
      if (slots_[slot].key == wanted) return slots_[slot].rule;
      if (slots_[slot].key == kNoKey) return {};
    }
  }

 private:
  static constexpr std::uint64_t kNoKey = UINT64_MAX;

  struct Slot {
    std::uint64_t key = kNoKey;
    Rule rule;
  };

  static std::uint64_t key(TokenId left, TokenId right) noexcept {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
           static_cast<std::uint32_t>(right);
  }
  static std::size_t place(std::uint64_t key) noexcept { return mix_hash(key, 0x9E3779B97F4A7C15); }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace weft
