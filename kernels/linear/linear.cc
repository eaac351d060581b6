#include "weft/kernels/linear/linear.h"

#include <algorithm>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/codes/linear_cpu_amxint8.h"
#include "weft/kernels/linear/linear_cpu.h"
#include "weft/kernels/linear/linear_plan.h"

namespace weft {
namespace {

template <class Float>
bool fits(const BasicRows<Float>& rows, std::int64_t count, std::int64_t width) noexcept {
  return rows.count == count && rows.width == width && (count == 0 || rows.data != nullptr) &&
         (count <= 1 || rows.stride >= width);
}

void check_input_rows(const LinearParams& params) {
  const auto beyond = [&](std::int32_t row) { return row < 0 || row >= params.in.count; };
  if (static_cast<std::int64_t>(params.input_rows.size()) != params.out.count) {
    internal_error("linear: input_rows has another number of rows than out");
  }
  if (std::ranges::any_of(params.input_rows, beyond)) {
    internal_error("linear: input_rows names a row that in does not have");
  }
}

void check_linear(const LinearParams& params) {
  const PackedWeight* weight = params.weight;
  if (weight == nullptr || weight->data() == nullptr) internal_error("linear: no weight");
  if (!fits(params.in, params.in.count, weight->inputs())) {
    internal_error("linear: in does not fit the weight");
  }
  if (params.gate_apart && (!weight->gated() || params.spec.activation != Activation::kNone)) {
    internal_error("linear: a gate apart of a weight without one, or with an activation");
  }
  const std::int64_t outputs = weight->outputs() * (params.gate_apart ? 2 : 1);
  if (!fits(params.out, params.out.count, outputs)) {
    internal_error("linear: out does not fit the weight");
  }
  if (!params.input_rows.empty()) {
    check_input_rows(params);
  } else if (params.in.count != params.out.count) {
    internal_error("linear: in and out have different numbers of rows");
  }
  if (params.residual.data != nullptr && !fits(params.residual, params.out.count, outputs)) {
    internal_error("linear: residual does not fit out");
  }
  if (weight->gated() && params.spec.soft_cap > 0) {
    internal_error("linear: a gated weight has no soft cap");
  }
  if (!weight->gated() &&
      (params.spec.gate_limit != 0 || params.spec.up_offset != 0 || params.spec.gate_alpha != 0)) {
    internal_error("linear: the weight has no gate");
  }
}

}  // namespace

std::size_t linear_workspace_bytes(std::int64_t max_rows, std::int64_t inputs) noexcept {
  const std::int64_t rows = std::max<std::int64_t>(max_rows, 1);
  constexpr std::int64_t kLineWords = CodedPlan::kBlockInputs / 2;  // pairs of bf16 in a line
  const std::int64_t blocks = (inputs + CodedPlan::kBlockInputs - 1) / CodedPlan::kBlockInputs;
  const std::int64_t packed = std::max(
      {LinearPlan::rows_bytes(rows, inputs), LinearPlan::rows_bytes(rows, (inputs + 1) / 2),
       LinearPlan::rows_bytes(rows, blocks * kLineWords),
       LinearPlan::rows_bytes(rows, blocks * CodedPlan::kBlockWords),
       LinearPlan::rows_bytes(rows, blocks * PairedRow<false>::kBlockWords),
       LinearPlan::rows_bytes(rows, blocks * PairedRow<true>::kBlockWords),
       LinearPlan::rows_bytes(rows, blocks * amxint8::kBlockWords, amxint8::kTileRows)});
  return static_cast<std::size_t>(packed + LinearPlan::sums_bytes(rows) + LinearPlan::kWideBytes +
                                  LinearPlan::line_up(inputs * 4));
}

void linear(const LinearParams& params, Share share, std::span<std::byte> workspace) {
  check_linear(params);
  if (params.out.count == 0) return;
  if (workspace.size() < linear_workspace_bytes(params.out.count, params.in.width) ||
      reinterpret_cast<std::uintptr_t>(workspace.data()) % 64 != 0) {
    internal_error("linear: the workspace is too small or not aligned");
  }
  linear_on_cpu(params, share, workspace);
}

}  // namespace weft
