#include "weft/gpu/host/step_costs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace weft {
namespace {

// Work of one ordinary core in a nanosecond: bytes read from memory, products of a matrix, and
// floats in other ops.
constexpr double kBytesRead = 8;
constexpr double kProducts = 40;
// Products with pairs that few rows share, which includes reading the pairs.
constexpr double kAdapterProducts = 10;
constexpr double kKeyProducts = 8;
constexpr double kFloats = 1;

/// The least nanoseconds of a piece. Taking a piece costs some tenths of a microsecond, waking a
/// thread some ten.
constexpr double kLeastOfPiece = 20'000;
/// Pieces for each member: a thread that has lost its processor delays an op by at most a fourth of
/// its share.
constexpr int kPiecesOfMember = 4;

double as_double(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

StepCosts::OpCost StepCosts::cost_of(const OpWork& work, std::int64_t max_experts) {
  OpCost cost;
  cost.one_piece = work.kind == WorkKind::kExchange;  // one thread exchanges with other ranks
  cost.by_output = work.by_output;
  cost.cross = work.keys == KvGroup::kCross;
  cost.read = as_double(work.weight_bytes) / kBytesRead;
  const double products = work.kind == WorkKind::kAdapt ? kAdapterProducts : kProducts;
  cost.per_row = as_double(work.numbers) / kFloats + as_double(work.products) / products;
  cost.per_key = as_double(work.key_products) / kKeyProducts;
  if (work.experts == 0) return cost;
  cost.experts = as_double(work.experts);
  // A rank has some of the experts. The same part of the choices falls on them.
  const double own = cost.experts / std::max(as_double(max_experts), cost.experts);
  cost.chosen = own * as_double(work.chosen);
  cost.per_row *= own;
  return cost;
}

StepCosts::StepCosts(const Program& program, const OpList& list) {
  costs_.reserve(list.ops.size());
  pieces_.resize(list.ops.size());
  for (const Op& op : list.ops) {
    costs_.push_back(cost_of(work_of(program, op), program.max_experts));
  }
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
