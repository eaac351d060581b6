#include "weft/model/program/op_work.h"

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/operands.h"

namespace weft {
namespace {

class WorkCounter {
 public:
  explicit WorkCounter(const Program& program) : program_(program) {}

  template <class AnyOp>
  OpWork operator()(const AnyOp& op) const {
    OpWork work;
    work.kind = AnyOp::kTraits.work;
    if (work.kind == WorkKind::kExchange) return work;
    const BufferPlan& rows = program_.buffers[static_cast<std::size_t>(row_buffer(op))];
    work.by_output = rows.rows == RowKind::kOutputs;
    work.numbers = rows.width * rows.rows_per_token;
    for_each_vector(op, [&](const VectorId& id) { work.vector_bytes += vector_bytes(id); });
    if constexpr (AnyOp::kTraits.work == WorkKind::kLookUp) look_up(op, rows, work);
    if constexpr (AnyOp::kTraits.work == WorkKind::kProduct) multiply(op, rows, work);
    if constexpr (AnyOp::kTraits.work == WorkKind::kAttend) attend(op, rows, work);
    if constexpr (AnyOp::kTraits.work == WorkKind::kRoute) work.routed = op.experts;
    if constexpr (AnyOp::kTraits.work == WorkKind::kAdapt) work.products = adapter_products(op);
    return work;
  }

 private:
  void look_up(const EmbedOp& op, const BufferPlan& rows, OpWork& work) const {
    for_each_table(op, [&](const TableRows& table) {
      work.table_bytes += bytes_of(table.tensor->dtype, rows.width).value_or(0);
    });
    if (op.positions == kAbsent) return;
    work.table_bytes += bytes_of(DType::kF32, rows.width).value_or(0);
    work.vector_bytes -= vector_bytes(op.positions);
  }

  void attend(const AttentionOp& op, const BufferPlan& rows, OpWork& work) const {
    work.key_products = 2 * rows.width;
    work.keys = op.group;
    work.kv = kv_layers(op.group)[static_cast<std::size_t>(op.layer)];
    work.window = op.spec.window;
    work.chunk = op.spec.chunk;
  }

  template <class AnyOp>
  void multiply(const AnyOp& op, const BufferPlan& rows, OpWork& work) const {
    for_each_matrix(op, [&](const MatrixId& id) {
      const MatrixPlan& matrix = program_.matrices[static_cast<std::size_t>(id)];
      work.products = matrix.outputs * matrix.inputs * (matrix.gated ? 2 : 1) * rows.rows_per_token;
      work.weight_bytes += matrix.bytes();
      if (rows.rows == RowKind::kChoices) ++work.experts;
    });
    work.chosen = rows.rows_per_token;
  }

  // Counts as if each row had an adapter of the greatest rank for each tensor.
  [[nodiscard]] std::int64_t adapter_products(const AdapterShrinkOp& op) const {
    return width_of(op.in) * width_of(op.low);
  }
  [[nodiscard]] std::int64_t adapter_products(const AdapterExpandOp& op) const {
    return width_of(op.out) * program_.adapter_rank;
  }
  [[nodiscard]] std::int64_t width_of(BufferId id) const {
    return program_.buffers[static_cast<std::size_t>(id)].width;
  }

  [[nodiscard]] std::int64_t vector_bytes(VectorId id) const {
    const VectorPlan& vector = program_.vectors[static_cast<std::size_t>(id)];
    return vector.size * std::int64_t{sizeof(float)};
  }

  [[nodiscard]] const std::vector<KvLayerPlan>& kv_layers(KvGroup group) const {
    if (group == KvGroup::kCross) return program_.cross_kv;
    return group == KvGroup::kEncoder ? program_.encoder_kv : program_.self_kv;
  }

  const Program& program_;
};

}  // namespace

std::int64_t OpWork::first_key(std::int64_t position) const noexcept {
  if (chunk > 0) return position / chunk * chunk;
  return window > 0 ? std::max<std::int64_t>(position + 1 - window, 0) : 0;
}

OpWork work_of(const Program& program, const Op& op) {
  return std::visit(WorkCounter(program), op);
}

}  // namespace weft
