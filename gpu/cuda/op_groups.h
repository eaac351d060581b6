#pragma once

#include <span>

#include "weft/model/program/program.h"

/// Neighbours in a program that a GPU may compute in fewer launches than ops. Whether it does so in
/// a step depends on the step's rows and the ways of its products (op_launcher.cc).
namespace weft::cuda {

/// Whether ops begin with a product, the RMS norm of its output alone, and a product that alone
/// reads the norm's result: the products can compute the norm (NormAfter, NormBefore).
[[nodiscard]] bool are_products_around_norm(const Program& program, std::span<const Op> ops);

/// Whether ops begin with the rotation of queries, and keys and values, and attention over them.
[[nodiscard]] bool are_rotary_and_attention(std::span<const Op> ops);

/// Whether ops begin with the second half of adapters, a product that leaves its gates apart, and
/// the activation that combines them.
[[nodiscard]] bool are_gates_apart(std::span<const Op> ops);

/// Whether ops begin with a sum over ranks and the norm of that sum.
[[nodiscard]] bool are_sum_and_norm(std::span<const Op> ops);

}  // namespace weft::cuda
