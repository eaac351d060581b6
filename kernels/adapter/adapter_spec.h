#pragma once

#include <cstdint>

namespace weft {

/// Outputs in a panel of B: a panel's row fills a vector of AVX-512.
inline constexpr std::int64_t kAdapterPanel = 16;

/// Rows of A by which the host multiplies an input at once; their sums stay in registers.
inline constexpr std::int64_t kAdapterRankBlock = 4;

/// A site's columns of `low` are a multiple of this number, since tensor cores multiply 16 inputs
/// at once.
inline constexpr std::int64_t kAdapterRankGrain = 16;

/// Contiguous outputs of a product that rows of one pair's B change; B is [outputs of the tensor,
/// rank]. A product's runs do not overlap and cover all its outputs.
struct AdapterRun {
  std::int32_t site = 0;       ///< index in Program::adapter_sites
  std::int32_t low = 0;        ///< the site's first column in AdapterExpandOp::low
  std::int64_t first_row = 0;  ///< first row of B
  std::int64_t row_step = 1;   ///< from one output's row of B to the next output's
  std::int64_t outputs = 0;
  /// Index in the product; in a gated product all gates precede the ups.
  std::int64_t first_output = 0;
  /// Index among the site's panels: earlier panels belong to other runs.
  std::int64_t first_panel = 0;

  /// Returns the number of panels of kAdapterPanel outputs; the last may be partly empty.
  [[nodiscard]] constexpr std::int64_t panels() const noexcept {
    return (outputs + kAdapterPanel - 1) / kAdapterPanel;
  }
  friend bool operator==(const AdapterRun&, const AdapterRun&) = default;
};

}  // namespace weft
