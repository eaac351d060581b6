#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/cuda/cuda_device.h"

namespace weft::cuda {

/// A phi, and the number of rows of attention that had to be computed again with it.
struct PhiTrial {
  float phi = 0;
  std::uint32_t recomputed = 0;
};

/// The trials in their order, by distance from 0. The search stops at the first phi that needs no
/// row again.
struct PhiSearch {
  std::vector<PhiTrial> trials;

  /// Returns the trial with the fewest rows; among several the phi nearest to 0.
  [[nodiscard]] const PhiTrial& best() const;
  /// Returns that phi, if no row was computed again.
  [[nodiscard]] std::optional<float> phi() const;
};

/// Whether a device can decode with a phi: the kernel does so with keys in bf16.
[[nodiscard]] constexpr bool takes_phi(DType kv_dtype) noexcept { return kv_dtype == DType::kBF16; }

/// Looks for a phi (FlashDecoding++, arXiv 2311.01282, section 3) with which decoding `prompts`
/// needs no running maximum. The first half of each prompt is read at once, the rest token by
/// token. Prompts are cut to the device's context. The device keeps the linear table `linear`,
/// without phi. kDriver; kOutOfRange for a token that the model does not have.
[[nodiscard]] Result<PhiSearch> find_phi(CudaDevice& device, const CudaLinearTable& linear,
                                         std::span<const std::vector<TokenId>> prompts);

/// Returns random tokens, the same in each run.
[[nodiscard]] std::vector<std::vector<TokenId>> random_prompts(std::int64_t vocabulary,
                                                               std::size_t prompts,
                                                               std::size_t tokens);

}  // namespace weft::cuda
