#include "weft/model/quantize/mix.h"

#include <algorithm>
#include <array>

namespace weft {
namespace {

/// Names, numbers and types of llama_ftype (llama.h) and of llama-quantize's list.
constexpr std::array kMixes = {
    Mix{MixId::kF32, "f32", "all_f32", 0, DType::kF32},
    Mix{MixId::kF16, "f16", "", 1, DType::kF16},
    Mix{MixId::kBF16, "bf16", "", 32, DType::kBF16},
    Mix{MixId::kQ4_0, "q4_0", "", 2, DType::kQ4_0},
    Mix{MixId::kQ4_1, "q4_1", "", 3, DType::kQ4_1},
    Mix{MixId::kQ5_0, "q5_0", "", 8, DType::kQ5_0},
    Mix{MixId::kQ5_1, "q5_1", "", 9, DType::kQ5_1},
    Mix{MixId::kQ8_0, "q8_0", "", 7, DType::kQ8_0},
    Mix{MixId::kQ2_K, "q2_k", "", 10, DType::kQ2_K},
    Mix{MixId::kQ2_K_S, "q2_k_s", "", 21, DType::kQ2_K},
    Mix{MixId::kQ3_K_S, "q3_k_s", "", 11, DType::kQ3_K},
    Mix{MixId::kQ3_K_M, "q3_k_m", "q3_k", 12, DType::kQ3_K},
    Mix{MixId::kQ3_K_L, "q3_k_l", "", 13, DType::kQ3_K},
    Mix{MixId::kQ4_K_S, "q4_k_s", "", 14, DType::kQ4_K},
    Mix{MixId::kQ4_K_M, "q4_k_m", "q4_k", 15, DType::kQ4_K},
    Mix{MixId::kQ5_K_S, "q5_k_s", "", 16, DType::kQ5_K},
    Mix{MixId::kQ5_K_M, "q5_k_m", "q5_k", 17, DType::kQ5_K},
    Mix{MixId::kQ6_K, "q6_k", "", 18, DType::kQ6_K},
    Mix{MixId::kIQ1_S, "iq1_s", "", 24, DType::kIQ1_S},
    Mix{MixId::kIQ1_M, "iq1_m", "", 31, DType::kIQ1_M},
    Mix{MixId::kIQ2_XXS, "iq2_xxs", "", 19, DType::kIQ2_XXS},
    Mix{MixId::kIQ2_XS, "iq2_xs", "", 20, DType::kIQ2_XS},
    Mix{MixId::kIQ2_S, "iq2_s", "", 28, DType::kIQ2_XS},
    Mix{MixId::kIQ2_M, "iq2_m", "", 29, DType::kIQ2_S},
    Mix{MixId::kIQ3_XXS, "iq3_xxs", "", 23, DType::kIQ3_XXS},
    Mix{MixId::kIQ3_XS, "iq3_xs", "", 22, DType::kIQ3_S},
    Mix{MixId::kIQ3_S, "iq3_s", "", 26, DType::kIQ3_S},
    Mix{MixId::kIQ3_M, "iq3_m", "", 27, DType::kIQ3_S},
    Mix{MixId::kIQ4_NL, "iq4_nl", "", 25, DType::kIQ4_NL},
    Mix{MixId::kIQ4_XS, "iq4_xs", "", 30, DType::kIQ4_XS},
    Mix{MixId::kTQ1_0, "tq1_0", "", 36, DType::kTQ1_0},
    Mix{MixId::kTQ2_0, "tq2_0", "", 37, DType::kTQ2_0},
    Mix{MixId::kMXFP4_MOE, "mxfp4_moe", "", 38, DType::kMXFP4},
};

constexpr bool rows_stand_at_their_number() {
  for (std::size_t i = 0; i < kMixes.size(); ++i) {
    if (static_cast<std::size_t>(kMixes[i].id) != i) return false;
  }
  return true;
}
static_assert(rows_stand_at_their_number());

}  // namespace

std::span<const Mix> mixes() noexcept { return kMixes; }

const Mix& mix_of(MixId id) noexcept { return kMixes[static_cast<std::size_t>(id)]; }

const Mix* mix_named(std::string_view name) noexcept {
  if (name.empty()) return nullptr;
  const auto* found = std::ranges::find_if(
      kMixes, [&](const Mix& mix) { return mix.name == name || mix.alias == name; });
  return found == kMixes.end() ? nullptr : found;
}

const Mix* mix_numbered(std::uint32_t file_type) noexcept {
  const auto* found = std::ranges::find(kMixes, file_type, &Mix::file_type);
  return found == kMixes.end() ? nullptr : found;
}

}  // namespace weft
