#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/model/program/program.h"
#include "weft/model/program/program_part.h"

namespace weft {

/// The part of a matrix that a rank keeps. In a gated matrix an output counts once: the same
/// outputs of gate and up are kept.
struct KeptPart {
  std::vector<Extent> outputs;   ///< in the order in which they are held; empty: all
  std::optional<Extent> inputs;  ///< empty: all
  bool bias = true;
};

/// Reduces a matrix to the kept part, before its types are planned.
void keep_part(MatrixPlan& matrix, const KeptPart& kept);

/// Reduces a vector to the numbers of these runs, one run after the other.
void keep_numbers(VectorPlan& vector, std::span<const Extent> kept);

/// Returns the kept outputs of a gated matrix with `size` outputs: outputs of the gate, followed by
/// outputs of up.
[[nodiscard]] std::vector<Extent> in_both_halves(std::span<const Extent> outputs,
                                                 std::int64_t size);

}  // namespace weft
