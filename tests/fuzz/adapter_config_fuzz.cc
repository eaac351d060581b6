#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/model/adapters/adapter_config.h"
#include "weft/tests/fixture/fuzz_input.h"

// A config that is taken has a rank and a scale for every module, and either selects it or not.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config = weft::parse_adapter_config(weft::test::fuzz_text(data, size), "input");
  if (!weft::test::accepted(config)) return 0;
  constexpr std::string_view kModule = "model.layers.1.self_attn.q_proj";
  static_cast<void>(weft::test::accepted(weft::is_adapted(*config, kModule)));
  const auto rank = weft::rank_of(*config, kModule);
  const auto alpha = weft::alpha_of(*config, kModule);
  if (!weft::test::accepted(rank) || !weft::test::accepted(alpha)) return 0;
  weft::test::fuzz_require(*rank >= 1 && *rank <= weft::kMaxAdapterRank);
  weft::test::fuzz_require(
      std::isfinite(weft::adapter_scale(*alpha, *rank, config->rank_stabilized)));
  return 0;
}
