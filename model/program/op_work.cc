#include "weft/model/program/op_work.h"

#include <cstddef>
#include <variant>

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
    if constexpr (AnyOp::kTraits.work == WorkKind::kProduct) multiply(op, rows, work);
    if constexpr (AnyOp::kTraits.work == WorkKind::kAttend) {
      work.key_products = 2 * rows.width;
      work.keys = op.group;
    }
    return work;
  }

 private:
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

  const Program& program_;
};

}  // namespace

OpWork work_of(const Program& program, const Op& op) {
  return std::visit(WorkCounter(program), op);
}

}  // namespace weft
