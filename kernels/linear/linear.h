#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/kernels/linear/linear_spec.h"
#include "weft/kernels/linear/packed_weight.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// The rows of `in` that a thread's workspace holds packed, so that the thread's next piece of the
/// same product need not pack them again. linear() writes it. Its owner clears it before `in` or
/// the weight changes, and before another use of the workspace.
struct PackedBlock {
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

/// out = residual + scale * soft_cap(act(in * W^T + bias)), for T rows at once.
/// `in` keeps the order of the inputs even if the weight's columns are permuted (input_order()).
/// With a gated weight: out = residual + scale * act(min(gate, limit)) * (clamp(up, limit) +
/// up_offset) where gate = in * Wg^T + bias[0..N) and up = in * Wu^T + bias[N..2N).
struct LinearParams {
  ConstRows in{};                        ///< [T, K]
  const PackedWeight* weight = nullptr;  ///< [N, K], or gated
  const float* bias = nullptr;           ///< [N] ([2N] gated), or null
  LinearSpec spec{};
  ConstRows residual{};  ///< [T, N]; data null: no residual; may be `out` itself
  Rows out{};            ///< [T, N]; does not overlap `in`
  /// With a gated weight: out = residual + scale * (gate, up), [T, 2N] like the residual.
  bool gate_apart = false;
  /// Row i of `out` is computed from row input_rows[i] of `in` (for experts, and for logits of last
  /// tokens only). Empty: from row i.
  std::span<const std::int32_t> input_rows{};
  PackedBlock* packed = nullptr;  ///< the workspace's packed rows; null: each call packs its rows
};

/// The bytes of workspace that one thread needs for any T up to `max_rows`.
[[nodiscard]] std::size_t linear_workspace_bytes(std::int64_t max_rows,
                                                 std::int64_t inputs) noexcept;

/// A row of `out` depends on its row of `in` alone, bit for bit: neither T nor the row's index nor
/// the number of threads changes it. Sums are in float32 over K in one fixed order. If narrower
/// numbers are multiplied, `in` is rounded first, for every T. With bf16 weights `in` is rounded to
/// bf16 on processors with products of bf16 (CpuTarget::kAvx512Bf16 and kNeonBf16; AMX adds in
/// another order, linear_cpu_amxbf16.h, and ARM64 rounds sums to odd, linear_cpu_neonbf16.h). With
/// weights whose codes are multiplied (kernels/encoding/README.md) `in` is rounded to int8, with a
/// scale for each 32 inputs of a row, except by x86-64's portable code. `workspace` belongs to the
/// calling thread and is aligned to a cache line. Allocates nothing. A wrong parameter is a bug of
/// the caller: internal_error.
void linear(const LinearParams& params, Share share, std::span<std::byte> workspace);

}  // namespace weft
