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

/// What a full page of the KV cache is known by outside of the process: a SHA-256 of the model, of
/// whose page it is, and of all the tokens that lead to it and are in it. Nobody can make two texts
/// with the same key, so a key that is equal says that the page is.
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
