#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/gpu/sequence_traits.h"

namespace weft {

/// The name of a full page of the KV cache outside of the process: a SHA-256 of the model, of the
/// scope that owns the page, and of all tokens that lead to it and are in it. Two texts with the
/// same key cannot be made, so equal keys mean equal pages.
using PageKey = std::array<std::byte, 32>;

struct PageKeyHash {
  std::size_t operator()(const PageKey& key) const noexcept {
    std::size_t hash = 0;
    std::memcpy(&hash, key.data(), sizeof(hash));
    return hash;
  }
};

/// The SHA-256 of bytes.
[[nodiscard]] PageKey sha256(std::span<const std::byte> bytes);

/// 64 hexadecimal digits, and back; false where the text is no key.
[[nodiscard]] std::string to_hex(const PageKey& key);
[[nodiscard]] bool from_hex(std::string_view text, PageKey& key);

/// Makes keys, each of the one before it. Owner only; allocates while its scratch grows.
class PageKeyMaker {
 public:
  /// Returns the key that a text's first page continues. `identity` is the model's; `domain` and
  /// `traits` are the PrefixScope's, and `domain` is null where the scope's is.
  [[nodiscard]] PageKey first(const PageKey& identity, const std::string* domain,
                              const KvTraits& traits);
  /// The key of the page with these tokens that continues `before`.
  [[nodiscard]] PageKey next(const PageKey& before, std::span<const TokenId> tokens);

 private:
  void add(const void* from, std::size_t size);

  std::vector<std::byte> scratch_;
};

}  // namespace weft
