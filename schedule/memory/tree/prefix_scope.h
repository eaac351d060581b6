#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "weft/core/token.h"
#include "weft/gpu/sequence_traits.h"
#include "weft/schedule/memory/page_pool.h"

namespace weft {

/// Whose prefixes are the same if their tokens are: keys and values of one scope are never found by
/// those of another.
struct PrefixScope {
  std::shared_ptr<const std::string> domain{};  ///< compared by its text; null is one of its own
  KvTraits traits{};

  friend bool operator==(const PrefixScope& a, const PrefixScope& b) noexcept {
    if (a.traits != b.traits) return false;
    if (a.domain == b.domain) return true;
    return a.domain != nullptr && b.domain != nullptr && *a.domain == *b.domain;
  }
};

/// Hashes what pages are found by. It has a seed of its own, as clients choose the tokens.
/// Thread-safe.
class PrefixHash {
 public:
  PrefixHash();

  /// The hash of tokens behind a page, or of the first ones of a scope (kNoPage).
  [[nodiscard]] std::uint32_t operator()(const PrefixScope& scope, PageId parent,
                                         std::span<const TokenId> tokens) const;

 private:
  const std::uint64_t seed_;
};

}  // namespace weft
