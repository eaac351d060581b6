#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/train/data/examples.h"
#include "weft/train/step/micro_batch.h"

namespace weft {

/// Which examples each step learns from, and how they are packed. A step's examples follow from its
/// number alone, so a job can go on anywhere.
struct BatchPlan {
  std::size_t examples = 0;
  std::size_t batch = 8;      ///< examples of a step; the last step of an epoch may have fewer
  std::size_t tokens = 2048;  ///< most tokens of a micro-batch; no example has more
  std::uint64_t seed = 0;     ///< of the order in each epoch
  bool shuffle = true;

  [[nodiscard]] std::int64_t steps_of_epoch() const noexcept {
    return static_cast<std::int64_t>((examples + batch - 1) / batch);
  }
  /// Returns indexes of examples.
  [[nodiscard]] std::vector<std::size_t> examples_of(std::int64_t step) const;
  /// Packs examples in their order, as many into a micro-batch as it has room for.
  [[nodiscard]] std::vector<MicroBatch> pack(std::span<const Example> all,
                                             std::span<const std::size_t> chosen) const;
};

/// Returns the sum of the weights of all tokens.
[[nodiscard]] double weight_of(std::span<const MicroBatch> batches);

}  // namespace weft
