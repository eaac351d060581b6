#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weft/core/token.h"

namespace weft {

/// Tokens by character, in pages of 256 made when they are needed. Thread-safe once filled.
class CodePointTable {
 public:
  CodePointTable() : tokens_(kPage, kNoToken) {}

  void set(char32_t code, TokenId id) {
    std::uint16_t& page = pages_[code / kPage];
    if (page == 0) {
      page = static_cast<std::uint16_t>(tokens_.size() / kPage);
      tokens_.resize(tokens_.size() + kPage, kNoToken);
    }
    tokens_[page * kPage + code % kPage] = id;
  }

  [[nodiscard]] TokenId find(char32_t code) const noexcept {
    return tokens_[pages_[code / kPage] * kPage + code % kPage];
  }

 private:
  static constexpr std::size_t kPage = 256;

  std::array<std::uint16_t, 0x110000 / kPage> pages_{};  ///< 0 is the empty page.
  std::vector<TokenId> tokens_;
};

}  // namespace weft
