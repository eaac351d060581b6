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
/// scope that owns the page, of the tokens before the page and of the tokens in it. Nobody can
/// construct two texts with the same key, so equal keys mean equal pages.
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

/// Converts to 64 hexadecimal digits, and back; false if the text is no key.
[[nodiscard]] std::string to_hex(const PageKey& key);
[[nodiscard]] bool from_hex(std::string_view text, PageKey& key);

/// Makes keys, each from the previous page's key. Owner only; allocates while its scratch grows.
class PageKeyMaker {
 public:
  /// Returns the key before a text's first page. `identity` is the model's; `domain` and `traits`
  /// are the PrefixScope's. `domain` is null if the scope has none.
  [[nodiscard]] PageKey first(const PageKey& identity, const std::string* domain,
                              const KvTraits& traits);
  /// Returns the key of the page with these tokens that follows the page `before`.
  [[nodiscard]] PageKey next(const PageKey& before, std::span<const TokenId> tokens);

 private:
  void add(const void* from, std::size_t size);

  std::vector<std::byte> scratch_;
};

}  // namespace weft
