#include "weft/measure/steps/step_work.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <variant>

#include "weft/core/kv_dtype.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/operands.h"

namespace weft::measure {
namespace {

/// Sequences of one kind in a step; each computes tokens [start, start + count).
struct Part {
  std::int64_t sequences = 1;
  std::int64_t start = 0;
  std::int64_t count = 1;
  bool chooses = true;

  [[nodiscard]] std::int64_t tokens() const { return sequences * count; }
};

double bytes(DType dtype, std::int64_t numbers) {
  return static_cast<double>(bytes_of(dtype, numbers).value_or(0));
}

/// The first position that a token at `position` attends to.
std::int64_t first_seen(const AttentionOp& op, std::int64_t position) {
  const AttentionSpec& spec = op.spec;
  if (spec.chunk > 0) return position / spec.chunk * spec.chunk;
  return spec.window > 0 ? std::max<std::int64_t>(position + 1 - spec.window, 0) : 0;
}

/// Adds up a program's ops over one step.
class Counter {
 public:
  Counter(const Program& program, DType kv_dtype, const Part& part)
      : program_(program), kv_dtype_(kv_dtype), part_(part) {
    for (const VectorPlan& vector : program.vectors) work_.bytes += bytes(DType::kF32, vector.size);
    for (const Op& op : program.decode.ops) {
      std::visit([this](const auto& one) { add(one); }, op);
    }
  }

  [[nodiscard]] const StepWork& work() const { return work_; }

 private:
  void add(const EmbedOp& op) {
    const auto rows = static_cast<double>(part_.tokens());
    const std::int64_t width = program_.buffers[static_cast<std::size_t>(op.out)].width;
    if (op.table.tensor != nullptr) work_.bytes += rows * bytes(op.table.tensor->dtype, width);
    if (op.positions == kAbsent) return;
    const std::int64_t table = program_.vectors[static_cast<std::size_t>(op.positions)].size;
    work_.bytes += rows * bytes(DType::kF32, program_.hidden) - bytes(DType::kF32, table);
  }

  void add(const RouteOp& op) {
    chosen_ = op.spec.chosen;
    experts_ = op.experts;
  }

  void add(const AttentionOp& op) {
    if (op.group != KvGroup::kSelf) return;
    const KvLayerPlan& kv = program_.self_kv[static_cast<std::size_t>(op.layer)];
    const std::int64_t end = part_.start + part_.count;
    double pairs = 0;
    for (std::int64_t at = part_.start; at < end; ++at) {
      pairs += static_cast<double>(at + 1 - first_seen(op, at));
    }
    const auto sequences = static_cast<double>(part_.sequences);
    const auto read = static_cast<double>(end - first_seen(op, part_.start));
    work_.bytes += sequences * read * 2 * kv.kv_heads *
                   static_cast<double>(kv_row_bytes(kv_dtype_, kv.head_size));
    // The score takes a product and a sum, and so does the value.
    work_.operations += sequences * pairs * 4 * op.heads * kv.head_size;
  }

  /// Products count, whichever op computes them; what else grows with the step's rows alone does
  /// not.
  template <class Other>
  void add(const Other& op) {
    for_each_matrix(op, [&](const MatrixId& matrix) {
      switch (program_.buffers[static_cast<std::size_t>(row_buffer(op))].rows) {
        case RowKind::kTokens:
          return multiply(matrix, static_cast<double>(part_.tokens()), 1);
        case RowKind::kOutputs:
          if (part_.chooses) multiply(matrix, static_cast<double>(part_.sequences), 1);
          return;
        case RowKind::kChoices:
          return multiply_expert(matrix);
      }
    });
  }

  /// As often as even choices fall on the expert.
  void multiply_expert(MatrixId id) {
    const auto tokens = static_cast<double>(part_.tokens());
    const double missed = std::pow(1 - chosen_ / experts_, tokens);
    multiply(id, tokens * chosen_ / experts_, 1 - missed);
  }

  /// Counts a product of `rows` rows with a matrix, of which `read` (a part) is read.
  void multiply(MatrixId id, double rows, double read) {
    const MatrixPlan& matrix = program_.matrices[static_cast<std::size_t>(id)];
    const std::int64_t numbers = matrix.outputs * matrix.inputs * (matrix.gated ? 2 : 1);
    work_.bytes += read * bytes(matrix.dtype, numbers);
    work_.operations += 2 * rows * static_cast<double>(numbers);
  }

  const Program& program_;
  const DType kv_dtype_;
  const Part part_;
  double chosen_ = 1;  // experts that the router before chose for a token, of so many
  double experts_ = 1;
  StepWork work_;
};

}  // namespace

StepWork& StepWork::operator+=(const StepWork& other) noexcept {
  bytes += other.bytes;
  operations += other.operations;
  return *this;
}

StepWork decode_work(const Program& program, DType kv_dtype, std::int32_t batch,
                     std::int32_t context) {
  return Counter(program, kv_dtype, {.sequences = batch, .start = context - 1}).work();
}

StepWork prefill_work(const Program& program, DType kv_dtype, std::int32_t tokens,
                      std::int32_t step_tokens) {
  StepWork all;
  for (std::int32_t at = 0; at < tokens; at += step_tokens) {
    const std::int32_t count = std::min(step_tokens, tokens - at);
    const Part part{.start = at, .count = count, .chooses = at + count == tokens};
    all += Counter(program, kv_dtype, part).work();
  }
  return all;
}

}  // namespace weft::measure
