#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "weft/core/error/error.h"

namespace weft {

class Checkpoint;
struct BatchPlan;
struct Examples;
struct LowRankPairs;
struct OptimizerSettings;

/// FNV-1a (Fowler, Noll, Vo) with 64 bits. It tells things apart that differ by accident; whoever
/// wants two with one hash finds them.
class ContentHash {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes) {
      hash_ = (hash_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
    }
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void add(Number number) noexcept {
    add(std::as_bytes(std::span(&number, 1)));
  }
  /// Lists have their size before them, so that no two lists of lists give the same bytes.
  template <class Number>
  void add_list(std::span<const Number> numbers) noexcept {
    add(numbers.size());
    add(std::as_bytes(numbers));
  }
  void add(std::string_view text) noexcept { add_list(std::span<const char>(text)); }

  [[nodiscard]] std::uint64_t value() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

/// Hashes names, types, shapes and some bytes of each tensor, so that it takes no second reading of
/// a large model: a change elsewhere in a tensor is not seen. Errors of CheckpointTensor::read().
[[nodiscard]] Result<std::uint64_t> hash_of(const Checkpoint& checkpoint);

/// Hashes the tokens and the weights.
[[nodiscard]] std::uint64_t hash_of(const Examples& examples);

/// Hashes the pairs' tensors, ranks, scales, dropout and numbers.
[[nodiscard]] std::uint64_t hash_of(const LowRankPairs& pairs);

[[nodiscard]] std::uint64_t hash_of(const BatchPlan& plan);
[[nodiscard]] std::uint64_t hash_of(const OptimizerSettings& settings);

}  // namespace weft
