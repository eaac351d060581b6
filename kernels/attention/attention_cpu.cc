#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "weft/kernels/attention/attention_plan.h"
#include "weft/kernels/attention/attention_workspace.h"
#include "weft/kernels/attention/relative_bias.h"
#include "weft/kernels/cpu_ops.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/attention/attention_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/attention/attention_block-inl.h"
#include "weft/kernels/simd/simd_row-inl.h"
#include "weft/kernels/simd/softmax_math-inl.h"

// Online softmax over blocks of keys (Milakov and Gimelshein, arXiv 1805.02867; Dao et al., arXiv
// 2205.14135). A query's arithmetic is the same whatever queries are computed with it: a score is
// one chain of fused multiplications over d, a block's weights are summed lane by lane, values are
// added in the order of positions, and positions that a query does not see are left out rather
// than multiplied by zero.
HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// One item of the plan. Row r of the workspace is the query of token r / group and head r % group.
struct Item {
  const AttentionParams& params;
  const RelativeBuckets& buckets;
  const AttentionWorkspace& work;
  AttentionItem part;
  std::int32_t group;

  [[nodiscard]] std::int32_t rows() const { return part.tokens * group; }
  [[nodiscard]] std::int32_t head(std::int32_t row) const {
    return part.kv_head * group + row % group;
  }
  [[nodiscard]] std::int32_t position(std::int32_t row) const {
    return part.span->start + part.first_token + row / group;
  }
  [[nodiscard]] std::int64_t step_row(std::int32_t row) const {
    return part.span->first + part.first_token + row / group;
  }
  [[nodiscard]] const float* query(std::int32_t row) const {
    return params.queries.row(step_row(row)) + std::int64_t{head(row)} * params.kv.head_size;
  }
  [[nodiscard]] float* scores(std::int32_t row) const {
    return work.scores + std::int64_t{row} * kKeyBlock;
  }
  [[nodiscard]] float* sums(std::int32_t row) const {
    return work.sums + static_cast<std::size_t>(row) * work.padded_size;
  }

  /// The positions of the block at `block` that a row sees, counted from `block`.
  [[nodiscard]] KeyRange visible(std::int32_t row, std::int32_t block) const {
    const KeyRange range = visible_keys(params, *part.span, position(row));
    return {std::clamp(range.begin - block, 0, kKeyBlock),
            std::clamp(range.end - block, 0, kKeyBlock)};
  }
};

/// The scores of rows [first, first + kRows) for the block's positions [begin, end), rounded
/// outwards to whole vectors.
template <int kRows>
void score_rows(const Item& item, std::int32_t first, KvBlocks& blocks) {
  const Columns columns = whole_vectors(blocks.loaded());
  Operands<kRows> operands;
  for (int r = 0; r < kRows; ++r) {
    operands.left[r] = item.query(first + r);
    operands.out[r] = item.scores(first + r);
    for (std::size_t c = columns.begin; c < columns.end; ++c) operands.out[r][c] = 0;
  }
  multiply_add(operands, 0, static_cast<std::size_t>(item.params.kv.head_size), item.work.keys,
               kKeyBlock, columns, blocks);
}

/// The learned biases of a row's visible positions in a block.
void relative_biases(const Item& item, std::int32_t row, std::int32_t block, KeyRange visible,
                     float* biases) {
  const AttentionParams& params = item.params;
  const float* table =
      params.relative_bias + std::int64_t{item.head(row)} * params.spec.relative_buckets;
  for (std::int32_t c = visible.begin; c < visible.end; ++c) {
    biases[c] = table[item.buckets.bucket_of(block + c - item.position(row))];
  }
}

/// Scales products to scores, caps them and adds their biases, a vector at a time.
class ScoreShaper {
 public:
  ScoreShaper(const Item& item, std::int32_t row, std::int32_t block, KeyRange visible)
      : params_(item.params), distance_(static_cast<float>(block - item.position(row))) {
    if (params_.alibi_slopes != nullptr) slope_ = params_.alibi_slopes[item.head(row)];
    if (params_.relative_bias != nullptr) {
      relative_biases(item, row, block, visible, biases_.data());
    }
  }

  HWY_INLINE FloatVec operator()(FloatVec score, std::size_t column) const {
    const FloatTag d;
    score = hn::Mul(score, hn::Set(d, params_.spec.scale));
    if (params_.spec.soft_cap > 0) {
      score = capped(score, params_.spec.soft_cap);
    }
    if (params_.alibi_slopes != nullptr) {
      const FloatVec distance = hn::Iota(d, distance_ + static_cast<float>(column));
      score = hn::MulAdd(distance, hn::Set(d, slope_), score);
    }
    if (params_.relative_bias != nullptr) {
      score = hn::Add(score, hn::Load(d, biases_.data() + column));
    }
    return score;
  }

 private:
  const AttentionParams& params_;
  float distance_;
  float slope_ = 0;
  alignas(kAttentionAlignment) std::array<float, kKeyBlock> biases_{};
};

/// `value` in lanes [visible.begin, visible.end) - column, `other` elsewhere.
HWY_INLINE FloatVec where_visible(KeyRange visible, std::size_t column, FloatVec value,
                                  FloatVec other) {
  const FloatTag d;
  const auto first = static_cast<std::int32_t>(column);
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(d));
  if (visible.begin <= first && first + lanes <= visible.end) return value;
  const auto lane_below = [&](std::int32_t edge) HWY_ATTR {
    return hn::FirstN(d, static_cast<std::size_t>(std::clamp(edge - first, 0, lanes)));
  };
  return hn::IfThenElse(lane_below(visible.begin), other,
                        hn::IfThenElse(lane_below(visible.end), value, other));
}

/// Turns the row's scores of the block into weights relative to the row's greatest score so far,
/// and rescales the row's earlier sums to that maximum.
void weigh_row(const Item& item, std::int32_t row, std::int32_t block, KeyRange visible) {
  const FloatTag d;
  const Columns columns = whole_vectors(visible);
  float* scores = item.scores(row);
  const ScoreShaper shape(item, row, block, visible);
  FloatVec greatest = hn::Set(d, kNothing);
  for (std::size_t c = columns.begin; c < columns.end; c += hn::Lanes(d)) {
    const FloatVec score =
        where_visible(visible, c, shape(hn::Load(d, scores + c), c), hn::Set(d, kNothing));
    hn::Store(score, d, scores + c);
    greatest = hn::Max(greatest, score);
  }
  const float before = item.work.maximum[row];
  const float maximum = std::max(before, hn::GetLane(hn::MaxOfLanes(d, greatest)));
  // All scores may be -inf; -inf minus -inf would be NaN.
  const FloatVec measure = hn::Set(d, maximum == kNothing ? 0.0F : maximum);
  FloatVec total = hn::Zero(d);
  for (std::size_t c = columns.begin; c < columns.end; c += hn::Lanes(d)) {
    const FloatVec weight = exp_of_negative(d, hn::Sub(hn::Load(d, scores + c), measure));
    hn::Store(weight, d, scores + c);
    total = hn::Add(total, weight);
  }
  const float block_total = hn::GetLane(hn::SumOfLanes(d, total));
  if (maximum == before) {
    item.work.total[row] += block_total;
    return;
  }
  const FloatVec rescale = exp_of_negative(d, hn::Sub(hn::Set(d, before), measure));
  item.work.maximum[row] = maximum;
  item.work.total[row] = item.work.total[row] * hn::GetLane(rescale) + block_total;
  float* sums = item.sums(row);
  for (std::size_t c = 0; c < item.work.padded_size; c += hn::Lanes(d)) {
    hn::Store(hn::Mul(hn::Load(d, sums + c), rescale), d, sums + c);
  }
}

/// Adds the block's values to the sums of kRows rows. Row r sees positions visible[r]; the rows'
/// ranges may differ at their ends.
template <int kRows>
void add_values(const Item& item, std::int32_t first, const KeyRange (&visible)[kRows],
                KvBlocks& blocks) {
  const Columns columns{0, padded_to_vectors(item.params.kv.head_size)};
  const auto add = [&]<int kCount>(Operands<kCount> operands, std::int32_t begin,
                                   std::int32_t end) HWY_ATTR {
    if (begin >= end) return;
    multiply_add(operands, static_cast<std::size_t>(begin), static_cast<std::size_t>(end),
                 item.work.values, item.work.padded_size, columns, blocks);
  };
  Operands<kRows> all;
  KeyRange shared{0, kKeyBlock};
  for (int r = 0; r < kRows; ++r) {
    all.left[r] = item.scores(first + r);
    all.out[r] = item.sums(first + r);
    shared.begin = std::max(shared.begin, visible[r].begin);
    shared.end = std::min(shared.end, visible[r].end);
  }
  if (shared.empty()) shared = {kKeyBlock, kKeyBlock};
  for (int r = 0; r < kRows; ++r) {
    const Operands<1> one{{all.left[r]}, {all.out[r]}};
    add(one, visible[r].begin, std::min(shared.begin, visible[r].end));
  }
  add(all, shared.begin, shared.end);
  for (int r = 0; r < kRows; ++r) {
    const Operands<1> one{{all.left[r]}, {all.out[r]}};
    add(one, std::max(shared.end, visible[r].begin), visible[r].end);
  }
}

template <int kRows>
void attend_rows(const Item& item, std::int32_t first, KvBlocks& blocks) {
  const std::int32_t block = blocks.block();
  KeyRange visible[kRows];
  bool any = false;
  for (int r = 0; r < kRows; ++r) {
    visible[r] = item.visible(first + r, block);
    any = any || !visible[r].empty();
  }
  if (!any) return;
  score_rows<kRows>(item, first, blocks);
  for (int r = 0; r < kRows; ++r) {
    const KeyRange own = visible[r];
    if (!own.empty()) weigh_row(item, first + r, block, own);
  }
  add_values<kRows>(item, first, visible, blocks);
}

void attend_block(const Item& item, KvBlocks& blocks) {
  std::int32_t row = 0;
  for (; row + kTileRows <= item.rows(); row += kTileRows) {
    attend_rows<kTileRows>(item, row, blocks);
  }
  switch (item.rows() - row) {
    case 3:
      return attend_rows<3>(item, row, blocks);
    case 2:
      return attend_rows<2>(item, row, blocks);
    case 1:
      return attend_rows<1>(item, row, blocks);
    default:
      return;
  }
}

void start_rows(const Item& item) {
  const auto rows = static_cast<std::size_t>(item.rows());
  std::fill_n(item.work.maximum, rows, kNothing);
  std::fill_n(item.work.total, rows, 0.0F);
  std::fill_n(item.work.sums, rows * item.work.padded_size, 0.0F);
}

/// Divides by the sum of the weights, which includes the sink's, and writes the result.
void finish_row(const Item& item, std::int32_t row) {
  const FloatTag d;
  const AttentionParams& params = item.params;
  float total = item.work.total[row];
  float factor = 1;
  if (params.sinks != nullptr) {
    const float sink = params.sinks[item.head(row)];
    const float maximum = std::max(item.work.maximum[row], sink);
    factor = total == 0 ? 0 : std::exp(item.work.maximum[row] - maximum);
    total = total * factor + std::exp(sink - maximum);
  }
  const FloatVec scale = hn::Set(d, total == 0 ? 0.0F : factor / total);
  const auto size = static_cast<std::size_t>(params.kv.head_size);
  float* out = params.out.row(item.step_row(row)) + static_cast<std::size_t>(item.head(row)) * size;
  const float* sums = item.sums(row);
  for (std::size_t c = 0; c < size; c += hn::Lanes(d)) {
    store_first(hn::Mul(hn::Load(d, sums + c), scale), out + c, size - c);
  }
}

void attend(const Item& item) {
  start_rows(item);
  const AttentionItem& part = item.part;
  const KeyRange visible{visible_keys(item.params, *part.span, item.position(0)).begin,
                         visible_keys(item.params, *part.span, item.position(item.rows() - 1)).end};
  KvBlocks blocks(item.params.kv, *part.span, part.kv_head, visible, item.rows());
  for (; !blocks.is_done(); blocks.advance()) {
    blocks.load(item.work);
    attend_block(item, blocks);
    blocks.fetch_rest();
  }
  for (std::int32_t row = 0; row < item.rows(); ++row) finish_row(item, row);
}

void attend_share(const AttentionParams& params, Share share, std::span<std::byte> memory) {
  const AttentionWorkspace work(params.heads, params.kv.head_size, memory);
  std::fill_n(work.zeros, work.padded_size, 0.0F);
  const RelativeBuckets buckets =
      params.relative_bias == nullptr
          ? RelativeBuckets()
          : RelativeBuckets(params.spec.relative_buckets, params.spec.relative_max_distance,
                            params.spec.relative_bidirectional);
  AttentionPlan plan(params, share);
  while (const auto part = plan.next()) {
    attend({params, buckets, work, *part, params.heads / params.kv.kv_heads});
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(attend_share);

void cpu::attention(const AttentionParams& params, Share share, std::span<std::byte> workspace) {
  HWY_DYNAMIC_DISPATCH(attend_share)(params, share, workspace);
}

}  // namespace weft
#endif  // HWY_ONCE
