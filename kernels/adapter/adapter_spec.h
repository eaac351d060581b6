#pragma once

#include <cstdint>

namespace weft {

/// B is held in panels of so many outputs, since a panel's row fills a vector of AVX-512.
inline constexpr std::int64_t kAdapterPanel = 16;

/// The host multiplies an input by so many rows of A at once, whose sums stay in registers.
inline constexpr std::int64_t kAdapterRankBlock = 4;

/// Columns of `low` that a site has are a multiple of so many, as tensor cores multiply 16 inputs
/// at once.
inline constexpr std::int64_t kAdapterRankGrain = 16;

/// Outputs of a product, one behind the other, that are changed by rows of one pair's B [outputs of
/// the tensor, rank]. Runs of a product do not overlap, and together they are all its outputs.
struct AdapterRun {
  std::int32_t site = 0;       ///< in Program::adapter_sites
  std::int32_t low = 0;        ///< the site's first column in AdapterExpandOp::low
  std::int64_t first_row = 0;  ///< of B
  std::int64_t row_step = 1;   ///< from one output's row of B to the next output's
  std::int64_t outputs = 0;
  std::int64_t first_output = 0;  ///< of the product; of a gated one ups stand behind all gates
  std::int64_t first_panel = 0;   ///< of the site's panels: those before it are of other runs

  /// How many panels of kAdapterPanel outputs it has; the last may be partly empty.
  [[nodiscard]] constexpr std::int64_t panels() const noexcept {
    return (outputs + kAdapterPanel - 1) / kAdapterPanel;
  }
  friend bool operator==(const AdapterRun&, const AdapterRun&) = default;
};

}  // namespace weft
