#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weft {

/// Folds the 128-bit product, so that every bit of the result depends on every bit of both factors.
[[nodiscard]] inline std::uint64_t mix_hash(std::uint64_t left, std::uint64_t right) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(left) * right;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Returns a hash of a short text for tables in memory. Each step takes eight bytes and one
/// multiplication.
[[nodiscard]] inline std::uint64_t hash_text(std::string_view text) noexcept {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  std::uint64_t hash = text.size() * kOdd;
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t word = 0;
  for (; left >= sizeof word; left -= sizeof word, at += sizeof word) {
    std::memcpy(&word, at, sizeof word);
    hash = mix_hash(hash ^ word, kOdd);
  }
  word = 0;
  // Copies of fixed sizes are inlined; a copy of a few bytes with a run-time size is a call.
  if ((left & 4) != 0) {
    std::uint32_t part = 0;
    std::memcpy(&part, at, 4);
    word = part;
    at += 4;
  }
  if ((left & 2) != 0) {
    std::uint16_t part = 0;
    std::memcpy(&part, at, 2);
    word = (word << 16) | part;
    at += 2;
  }
  if ((left & 1) != 0) word = (word << 8) | static_cast<unsigned char>(*at);
  return mix_hash(hash ^ word, kOdd);
}

}  // namespace weft
