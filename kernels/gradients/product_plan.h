#pragma once

#include <cstdint>

namespace weft {

/// How a product() is cut. A tile's packed rows and columns take 448 KiB, so they stay in the
/// second-level cache.
struct ProductPlan {
  static constexpr std::int64_t kTileRows = 192;     ///< whole runs of kRunRows
  static constexpr std::int64_t kTileColumns = 256;  ///< whole runs of two vectors of any width
  static constexpr std::int64_t kInner = 256;
  /// Rows that are multiplied at a time: with two vectors of columns they take 12 of AVX2's 16
  /// registers.
  static constexpr std::int64_t kRunRows = 6;
};

}  // namespace weft
