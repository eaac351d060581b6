#include "weft/gpu/host/step_costs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <variant>

namespace weft {
namespace {

// What one ordinary core does in a nanosecond: bytes read from memory, products of a matrix, and
// floats that pass by in other ops.
constexpr double kBytesRead = 8;
constexpr double kProducts = 40;
constexpr double kKeyProducts = 8;
constexpr double kFloats = 1;

/// Taking a piece costs some tenths of a microsecond, waking a thread some ten.
constexpr double kLeastOfPiece = 20'000;
/// A thread that has lost its processor holds up a fourth of its share of an op, or less.
constexpr int kPiecesOfMember = 4;

double as_double(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

class StepCosts::Estimator {
 public:
  explicit Estimator(const Program& program) : program_(program) {}

  OpCost operator()(const LinearOp& op) const { return of_product(op.weight, op.out); }
  OpCost operator()(const AttentionOp& op) const {
    OpCost cost = of_floats(op.out);
    cost.per_key = 2 * as_double(buffer(op.out).width) / kKeyProducts;
    cost.cross = op.group == KvGroup::kCross;
    return cost;
  }
  OpCost operator()(const ExpertLinearOp& op) const {
    if (op.weights.empty()) return {};
    OpCost cost = of_product(op.weights.front(), op.out);
    cost.experts = as_double(static_cast<std::int64_t>(op.weights.size()));
    // Of the choices those fall on a rank's experts that its part of them is.
    const double own = cost.experts / std::max(as_double(program_.max_experts), cost.experts);
    cost.chosen = own * as_double(buffer(op.out).rows_per_token);
    cost.per_row *= own;
    cost.read *= cost.experts;
    return cost;
  }
  OpCost operator()(const RotaryOp& op) const { return of_floats(op.qkv); }
  OpCost operator()(const RouteOp& op) const { return of_floats(op.scores); }
  // What ranks exchange is done by one thread.
  OpCost operator()(const AllReduceOp& /*op*/) const { return one_piece(); }
  OpCost operator()(const GatherOp& /*op*/) const { return one_piece(); }
  OpCost operator()(const ReceiveOp& /*op*/) const { return one_piece(); }
  OpCost operator()(const SendOp& /*op*/) const { return one_piece(); }
  template <class Other>
  OpCost operator()(const Other& op) const {
    return of_floats(op.out);
  }

 private:
  static OpCost one_piece() {
    OpCost cost;
    cost.one_piece = true;
    return cost;
  }

  [[nodiscard]] const BufferPlan& buffer(BufferId id) const {
    return program_.buffers[static_cast<std::size_t>(id)];
  }

  [[nodiscard]] OpCost of_floats(BufferId out) const {
    const BufferPlan& plan = buffer(out);
    OpCost cost;
    cost.per_row = as_double(plan.width * plan.rows_per_token) / kFloats;
    cost.by_output = plan.rows == RowKind::kOutputs;
    return cost;
  }

  [[nodiscard]] OpCost of_product(MatrixId weight, BufferId out) const {
    const MatrixPlan& matrix = program_.matrices[static_cast<std::size_t>(weight)];
    const std::int64_t numbers = matrix.outputs * matrix.inputs * (matrix.gated ? 2 : 1);
    OpCost cost = of_floats(out);
    cost.read = as_double(matrix.bytes()) / kBytesRead;
    cost.per_row += as_double(numbers * buffer(out).rows_per_token) / kProducts;
    return cost;
  }

  const Program& program_;
};

StepCosts::StepCosts(const Program& program, const OpList& list) {
  costs_.reserve(list.ops.size());
  pieces_.resize(list.ops.size());
  const Estimator estimate(program);
  for (const Op& op : list.ops) costs_.push_back(std::visit(estimate, op));
}

double StepCosts::nanoseconds(const OpCost& cost, const StepSize& size) {
  const double rows = as_double(cost.by_output ? size.outputs : size.tokens);
  if (rows == 0) return 0;
  const double part = cost.experts == 0 ? 1 : std::min(1.0, rows * cost.chosen / cost.experts);
  const double keys = as_double(cost.cross ? size.cross_keys : size.keys);
  return std::max(cost.read * part, rows * cost.per_row) + keys * cost.per_key;
}

double StepCosts::nanoseconds(const StepSize& size) const {
  double sum = 0;
  for (const OpCost& cost : costs_) sum += nanoseconds(cost, size);
  return sum;
}

std::span<const std::int32_t> StepCosts::most_pieces(int members) {
  const std::int32_t most = members > 1 ? members * kPiecesOfMember : 1;
  std::ranges::transform(costs_, pieces_.begin(),
                         [&](const OpCost& cost) { return cost.one_piece ? 1 : most; });
  return pieces_;
}

std::span<const std::int32_t> StepCosts::pieces(const StepSize& size, int members) {
  const double most = members > 1 ? members * kPiecesOfMember : 1;
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    const double worth = std::floor(nanoseconds(costs_[i], size) / kLeastOfPiece);
    pieces_[i] = static_cast<std::int32_t>(std::clamp(worth, 1.0, most));
  }
  return pieces_;
}

}  // namespace weft
