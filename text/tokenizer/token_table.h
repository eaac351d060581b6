#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/token.h"

namespace weft {

/// Texts by id and ids by text. Texts are stored in one block, so that a vocabulary of 256k tokens
/// loads in milliseconds. Thread-safe once filled.
class TokenTable {
 public:
  /// Appends a text under the next id, and returns the id. If the text was added before, find()
  /// returns its first id, or with `replace` the new one.
  TokenId add(std::string_view added, bool replace = false);

  void reserve(std::size_t count);

  [[nodiscard]] std::size_t size() const noexcept { return begins_.size() - 1; }

  /// `id` is in [0, size()).
  [[nodiscard]] std::string_view text(TokenId id) const noexcept {
    const auto at = static_cast<std::size_t>(id);
    return {texts_.data() + begins_[at], begins_[at + 1] - begins_[at]};
  }

  /// Returns kNoToken when there is none.
  [[nodiscard]] TokenId find(std::string_view wanted) const noexcept;

 private:
  [[nodiscard]] std::size_t slot_of(std::string_view wanted) const noexcept;
  void rehash(std::size_t slots);

  std::string texts_;
  std::vector<std::size_t> begins_ = {0};
  std::vector<TokenId> slots_;  ///< Open addressing; the size is a power of two.
};

}  // namespace weft
