#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/model/program/program.h"
#include "weft/model/program/program_part.h"

namespace weft {

/// What a rank keeps of a matrix. Of a gated one the outputs are counted once: of gate and up the
/// same are kept.
struct KeptPart {
  std::vector<Extent> outputs;   ///< in the order in which they are held; empty: all
  std::optional<Extent> inputs;  ///< none: all
  bool bias = true;
};

/// Leaves of a matrix, before its types are planned, what is kept of it.
void keep_part(MatrixPlan& matrix, const KeptPart& kept);

/// Leaves of a vector the numbers of these runs, one after the other.
void keep_numbers(VectorPlan& vector, std::span<const Extent> kept);

/// The outputs of a gated matrix of `size` outputs: those of the gate, and behind them those of up.
[[nodiscard]] std::vector<Extent> in_both_halves(std::span<const Extent> outputs,
                                                 std::int64_t size);

}  // namespace weft
