#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/model/program/op_work.h"
#include "weft/model/program/program.h"

namespace weft {

/// What the sizes of a step are to its costs.
struct StepSize {
  std::int64_t tokens = 0;
  std::int64_t outputs = 0;
  std::int64_t keys = 0;        ///< sum over tokens of the keys of their own sequence
  std::int64_t cross_keys = 0;  ///< of the encoder's output
};

/// How long the ops of a list take one thread, roughly, so that large ops are cut into pieces and
/// small ones are not: from what is read of weights and computed, at the rates of an ordinary core.
/// A factor of two either way changes little. Owner only; allocates when it is made.
class StepCosts {
 public:
  StepCosts() = default;
  StepCosts(const Program& program, const OpList& list);

  /// Cuts the ops of a step into pieces for `members` threads: enough that a thread that loses its
  /// processor holds up little, each large enough that taking it costs nothing.
  [[nodiscard]] std::span<const std::int32_t> pieces(const StepSize& size, int members);

  /// The most pieces for each op, however small.
  [[nodiscard]] std::span<const std::int32_t> most_pieces(int members);

  /// Nanoseconds of all ops of a step.
  [[nodiscard]] double nanoseconds(const StepSize& size) const;

 private:
  /// max(read * (the part of the weights that is read), rows * per_row) + keys * per_key.
  struct OpCost {
    double read = 0;
    double per_row = 0;
    double per_key = 0;
    double experts = 0;  // when not 0, a row of a token reads `chosen` of so many matrices
    double chosen = 1;
    bool by_output = false;
    bool cross = false;
    bool one_piece = false;  // not to be cut: it waits for other ranks
  };

  [[nodiscard]] static OpCost cost_of(const OpWork& work, std::int64_t max_experts);
  [[nodiscard]] static double nanoseconds(const OpCost& cost, const StepSize& size);

  std::vector<OpCost> costs_;
  std::vector<std::int32_t> pieces_;
};

}  // namespace weft
