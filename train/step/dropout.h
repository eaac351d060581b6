#pragma once

#include <cstdint>

#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// The dropout of the pairs' inputs (Srivastava et al., "Dropout", 2014), as PEFT's lora_dropout.
/// What is dropped follows from the key, the site, the token and the column alone, so a layer that
/// is computed again drops the same numbers.
struct Dropout {
  double probability = 0;  ///< less than 1; 0: nothing is dropped
  std::uint64_t key = 0;   ///< of the job's seed and the step
  std::int64_t first = 0;  ///< token of the step that is the first row

  [[nodiscard]] bool drops() const noexcept { return probability > 0; }
};

/// What drop() works on. Each site, a pair beside a matrix, drops numbers of its own.
struct DropoutParams {
  Dropout dropout{};
  std::uint64_t site = 0;
  ConstRows in{};
  Rows out{};         ///< [T, W] as `in`
  bool adds = false;  ///< whether `out` keeps its numbers
};

/// out = (adds ? out : 0) + (dropped ? 0 : in / (1 - probability)).
void drop(const DropoutParams& params, Share share);

}  // namespace weft
