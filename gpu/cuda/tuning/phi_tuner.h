#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/cuda/cuda_device.h"

namespace weft::cuda {

/// A phi, and how many rows of attention had to be computed again with it.
struct PhiTrial {
  float phi = 0;
  std::uint32_t recomputed = 0;
};

/// What was tried, in this order: nearest to 0 first, and nothing after one that did.
struct PhiSearch {
  std::vector<PhiTrial> trials;

  /// The one with the fewest, of several the nearest to 0.
  [[nodiscard]] const PhiTrial& best() const;
  /// That one, if no row was computed again.
  [[nodiscard]] std::optional<float> phi() const;
};

/// Whether a device decodes with a phi at all: its kernel does over keys in bf16.
[[nodiscard]] constexpr bool takes_phi(DType kv_dtype) noexcept { return kv_dtype == DType::kBF16; }

/// Looks for a phi (FlashDecoding++, arXiv 2311.01282, section 3) with which decoding `prompts` of
/// a decoder needs no running maximum: their first halves are read at once, then one token after
/// the other. What is longer than the device's context is cut. The device is left with its linear
/// table `linear`, without phi. kDriver, kOutOfRange for a token that the model has not.
[[nodiscard]] Result<PhiSearch> find_phi(CudaDevice& device, const CudaLinearTable& linear,
                                         std::span<const std::vector<TokenId>> prompts);

/// Tokens at random, the same in each run.
[[nodiscard]] std::vector<std::vector<TokenId>> random_prompts(std::int64_t vocabulary,
                                                               std::size_t prompts,
                                                               std::size_t tokens);

}  // namespace weft::cuda
