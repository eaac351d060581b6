#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "weft/model/program/program.h"

/// Groups of neighbouring ops that a GPU may compute in fewer launches than ops. Whether it does so
/// in a step depends on the step's rows and on the ways of the products (op_launcher.cc).
namespace weft::cuda {

/// A product. In an adapted program the group also has the ops of its adapters: shrink, expand and
/// a separate activation of gates. A product that shares its input with an earlier product has no
/// shrink.
struct WholeProduct {
  LinearOp op;  ///< the product with the group's residual, spec and output
  const AdapterShrinkOp* shrink = nullptr;  ///< null: not adapted
  const AdapterExpandOp* expand = nullptr;  ///< null: not adapted
  std::size_t ops = 0;                      ///< number of ops in the group
};

/// Returns the product that ops begin with: a product alone, or the two halves of adapters with a
/// product.
[[nodiscard]] std::optional<WholeProduct> whole_product(std::span<const Op> ops);

/// Products before and after an RMS norm, which can compute the norm (NormAfter, NormBefore).
struct NormedProducts {
  WholeProduct before;
  const NormOp* norm = nullptr;
  WholeProduct behind;

  [[nodiscard]] std::size_t ops() const noexcept { return before.ops + 1 + behind.ops; }
};

/// Returns the group that ops begin with, if it is a product, the RMS norm of its output alone, and
/// a product that alone reads the norm's result.
[[nodiscard]] std::optional<NormedProducts> products_around_norm(const Program& program,
                                                                 std::span<const Op> ops);

/// Whether ops begin with the rotation of queries, keys and values, and the attention over them.
[[nodiscard]] bool are_rotary_and_attention(std::span<const Op> ops);

/// Whether ops begin with the second half of adapters, a product that does not combine its gates
/// with its ups, and the activation that combines them.
[[nodiscard]] bool are_gates_apart(std::span<const Op> ops);

/// Whether ops begin with a sum over ranks and the norm of that sum.
[[nodiscard]] bool are_sum_and_norm(std::span<const Op> ops);

}  // namespace weft::cuda
