#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weft/core/dtype.h"

namespace weft {

/// llama.cpp's rules to choose a type for each tensor of a GGUF file, by llama-quantize's names.
enum class MixId : std::uint8_t {
  // NOLINTBEGIN(readability-identifier-naming): the mixes' own names
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ2_K_S,
  kQ3_K_S,
  kQ3_K_M,
  kQ3_K_L,
  kQ4_K_S,
  kQ4_K_M,
  kQ5_K_S,
  kQ5_K_M,
  kQ6_K,
  kIQ1_S,
  kIQ1_M,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ2_M,
  kIQ3_XXS,
  kIQ3_XS,
  kIQ3_S,
  kIQ3_M,
  kIQ4_NL,
  kIQ4_XS,
  kTQ1_0,
  kTQ2_0,
  kMXFP4_MOE,
  // NOLINTEND(readability-identifier-naming)
};

struct Mix {
  MixId id = MixId::kF16;
  std::string_view name;        ///< "q4_k_m"
  std::string_view alias;       ///< llama-quantize's other name for it ("q4_k"), or empty
  std::uint32_t file_type = 0;  ///< the general.file_type of its files
  DType dtype = DType::kF16;    ///< type of the tensors to which no rule applies
};

/// All mixes, in the order of MixId.
[[nodiscard]] std::span<const Mix> mixes() noexcept;

[[nodiscard]] const Mix& mix_of(MixId id) noexcept;

/// Returns the mix of that name or alias, in lower case; null if there is none.
[[nodiscard]] const Mix* mix_named(std::string_view name) noexcept;

/// Returns the mix of that general.file_type; null if there is none.
[[nodiscard]] const Mix* mix_numbered(std::uint32_t file_type) noexcept;

}  // namespace weft
