#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/model/program/op_work.h"
#include "weft/model/program/program.h"

namespace weft {

/// The sizes of a step that determine its costs.
struct StepSize {
  std::int64_t tokens = 0;
  std::int64_t outputs = 0;
  std::int64_t keys = 0;        ///< sum over tokens of the keys of their own sequence
  std::int64_t cross_keys = 0;  ///< sum over tokens of the keys of the encoder's output
};

/// Estimates how long the ops of a list take one thread, so that large ops are cut into pieces and
/// small ops are not. The estimate follows from the weights that are read and from the computation,
/// at the rates of an ordinary core. A factor of two either way changes little. Owner only;
/// allocates only in the constructor.
class StepCosts {
 public:
  StepCosts() = default;
  StepCosts(const Program& program, const OpList& list);

  /// Cuts the ops of a step into pieces for `members` threads. The pieces are small enough that a
  /// thread that loses its processor delays little, and large enough that taking one costs almost
  /// nothing.
  [[nodiscard]] std::span<const std::int32_t> pieces(const StepSize& size, int members);

  /// Returns the most pieces for each op, for any size of a step.
  [[nodiscard]] std::span<const std::int32_t> most_pieces(int members);

  /// Returns the nanoseconds of all ops of a step.
  [[nodiscard]] double nanoseconds(const StepSize& size) const;

 private:
  /// max(read * (the part of the weights that is read), rows * per_row) + keys * per_key.
  struct OpCost {
    double read = 0;
    double per_row = 0;
    double per_key = 0;
    double experts = 0;  // if not 0: the number of matrices, of which a token's row reads `chosen`
    double chosen = 1;
    bool by_output = false;
    bool cross = false;
    bool one_piece = false;  // never cut, because it waits for other ranks
  };

  [[nodiscard]] static OpCost cost_of(const OpWork& work, std::int64_t max_experts);
  [[nodiscard]] static double nanoseconds(const OpCost& cost, const StepSize& size);

  std::vector<OpCost> costs_;
  std::vector<std::int32_t> pieces_;
};

}  // namespace weft
