#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/kernels/linear/linear_spec.h"
#include "weft/kernels/linear/packed_weight.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// Which rows of a product stand packed in a thread's workspace, so that its next piece of the same
/// product takes them as they are. linear() writes it; its owner empties it before `in` or the
/// weight become others, and before anything else uses the workspace.
struct PackedBlock {
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

/// out = residual + scale * soft_cap(act(in * W^T + bias)), for T rows at once.
/// A weight whose columns stand in another order (PackedWeight::input_order) takes `in` in the
/// inputs' own. With a gated weight: out = residual + scale * act(min(gate, limit)) * (clamp(up,
/// limit) + up_offset) where gate = in * Wg^T + bias[0..N) and up = in * Wu^T + bias[N..2N).
struct LinearParams {
  ConstRows in{};                        ///< [T, K]
  const PackedWeight* weight = nullptr;  ///< [N, K], or gated
  const float* bias = nullptr;           ///< [N] ([2N] gated), or null
  LinearSpec spec{};
  ConstRows residual{};  ///< [T, N]; data is null when there is none; may be `out` itself
  Rows out{};            ///< [T, N]; does not overlap `in`
  /// Rows of `in` by row of `out`, or empty for the same order: out row i is made from in row
  /// input_rows[i] (experts, and logits of the last tokens only).
  std::span<const std::int32_t> input_rows{};
  PackedBlock* packed = nullptr;  ///< of the workspace, or null: each call packs its rows
};

/// Bytes that one thread needs of workspace for any T up to `max_rows`.
[[nodiscard]] std::size_t linear_workspace_bytes(std::int64_t max_rows,
                                                 std::int64_t inputs) noexcept;

/// A row of `out` depends on its row of `in` alone, bit for bit: neither T nor the row's index nor
/// the number of threads changes it. Sums are in float32 over K in one fixed order. Where
/// narrower numbers are multiplied, `in` is rounded first, for every T: with bf16 weights to bf16
/// on a processor that has their products (CpuTarget::kAvx512Bf16 and kNeonBf16; AMX adds in
/// another order, linear_cpu_amxbf16.h, and ARM64's products round their sums to odd,
/// linear_cpu_neonbf16.h); with weights whose codes are multiplied (kernels/encoding/README.md) to
/// int8 on every processor but those that run the portable code of x86-64, each 32 inputs of a row
/// under a scale of their own. `workspace` belongs to the calling thread, aligned to a cache line.
/// Nothing is allocated. A parameter that does not fit is a bug of the caller: internal_error.
void linear(const LinearParams& params, Share share, std::span<std::byte> workspace);

}  // namespace weft
