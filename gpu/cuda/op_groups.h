#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "weft/model/program/program.h"

/// Neighbours in a program that a GPU may compute in fewer launches than ops. Whether it does so in
/// a step depends on the step's rows and the ways of its products (op_launcher.cc).
namespace weft::cuda {

/// A product. In an adapted program the group also has the ops of its adapters: shrink, expand and
/// a separate activation of gates. A product that shares its input with an earlier product has no
/// shrink.
struct WholeProduct {
  LinearOp op;                              ///< with the residual, spec and output of the whole
  const AdapterShrinkOp* shrink = nullptr;  ///< null: not adapted
  const AdapterExpandOp* expand = nullptr;  ///< null: not adapted
  std::size_t ops = 0;                      ///< how many these are
};

/// Returns the product that ops begin with: a product, or both halves of adapters and a product.
[[nodiscard]] std::optional<WholeProduct> whole_product(std::span<const Op> ops);

/// Products around an RMS norm, which can compute the norm (NormAfter, NormBefore).
struct NormedProducts {
  WholeProduct before;
  const NormOp* norm = nullptr;
  WholeProduct behind;

  [[nodiscard]] std::size_t ops() const noexcept { return before.ops + 1 + behind.ops; }
};

/// Returns what ops begin with if that is a product, the RMS norm of its output alone, and a
/// product that alone reads the norm's result.
[[nodiscard]] std::optional<NormedProducts> products_around_norm(const Program& program,
                                                                 std::span<const Op> ops);

/// Whether ops begin with the rotation of queries, and keys and values, and attention over them.
[[nodiscard]] bool are_rotary_and_attention(std::span<const Op> ops);

/// Whether ops begin with the second half of adapters, a product that leaves its gates apart, and
/// the activation that combines them.
[[nodiscard]] bool are_gates_apart(std::span<const Op> ops);

/// Whether ops begin with a sum over ranks and the norm of that sum.
[[nodiscard]] bool are_sum_and_norm(std::span<const Op> ops);

}  // namespace weft::cuda
