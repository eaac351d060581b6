#include "weft/kernels/gradients/packed_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/kernels/gradients/product.h"
#include "weft/kernels/gradients/softmax_row.h"
#include "weft/kernels/require.h"

namespace weft {
namespace {

/// Queries whose scores are computed at a time: enough that packing their keys costs little
/// compared with multiplying.
constexpr std::int64_t kQueries = 48;

std::size_t score_bytes(std::int64_t longest) noexcept {
  const auto bytes = static_cast<std::size_t>(kQueries * longest) * sizeof(float);
  return (bytes + 63) / 64 * 64;
}

/// Some queries of a head, and the keys that one of them sees.
struct ScoreBlock {
  std::int64_t query = 0, queries = 0;  ///< positions
  std::int64_t key = 0, keys = 0;
};

/// One head's queries, keys and values of one sequence.
class HeadTask {
 public:
  HeadTask(const PackedAttentionParams& params, const PackedSpan& span, std::int64_t head,
           std::span<std::byte> workspace)
      : params_(params), span_(span), size_(params.shape.head_size) {
    const std::int64_t shared = params.shape.heads / params.shape.kv_heads;
    query_at_ = head * size_;
    key_at_ = (params.shape.heads + head / shared) * size_;
    value_at_ = key_at_ + params.shape.kv_heads * size_;
    const std::size_t bytes = score_bytes(span.count);
    scores_ = reinterpret_cast<float*>(workspace.data());
    others_ = reinterpret_cast<float*>(workspace.data() + bytes);
    product_space_ = workspace.subspan(2 * bytes);
  }

  void compute(const Rows& out) const {
    each_block([&](const ScoreBlock& block) {
      find_probabilities(block);
      // out = P V
      multiply(block.queries, size_, block.keys, {scores_, block.keys, 1},
               rows_of(params_.qkv, block.key, value_at_),
               out.row(span_.first + block.query) + query_at_, out.stride, false);
    });
  }

  void add_gradient(const ConstRows& from, const Rows& to) const {
    each_block([&](const ScoreBlock& block) {
      find_probabilities(block);
      const MatrixView probabilities{scores_, block.keys, 1};
      const MatrixView gradient = rows_of(from, block.query, query_at_);
      // dV += P^T dO, and dP = dO V^T
      multiply(block.keys, size_, block.queries, probabilities.turned(), gradient,
               to.row(span_.first + block.key) + value_at_, to.stride, true);
      multiply(block.queries, block.keys, size_, gradient,
               rows_of(params_.qkv, block.key, value_at_).turned(), others_, block.keys, false);
      turn_into_score_gradients(block);
      // dQ += dS K, and dK += dS^T Q
      const MatrixView scores{others_, block.keys, 1};
      multiply(block.queries, size_, block.keys, scores, rows_of(params_.qkv, block.key, key_at_),
               to.row(span_.first + block.query) + query_at_, to.stride, true);
      multiply(block.keys, size_, block.queries, scores.turned(),
               rows_of(params_.qkv, block.query, query_at_),
               to.row(span_.first + block.key) + key_at_, to.stride, true);
    });
  }

 private:
  template <class Work>
  void each_block(const Work& work) const {
    for (std::int64_t query = 0; query < span_.count; query += kQueries) {
      ScoreBlock block{query, std::min(kQueries, span_.count - query), first_seen(query), 0};
      block.keys = end_seen(query + block.queries - 1) - block.key;
      work(block);
    }
  }

  [[nodiscard]] std::int64_t first_seen(std::int64_t position) const {
    const AttentionSpec& spec = params_.spec;
    std::int64_t first = 0;
    if (spec.window > 0) first = std::max<std::int64_t>(0, position - spec.window + 1);
    if (spec.chunk > 0) first = std::max<std::int64_t>(first, position / spec.chunk * spec.chunk);
    return first;
  }
  [[nodiscard]] std::int64_t end_seen(std::int64_t position) const { return position + 1; }

  [[nodiscard]] MatrixView rows_of(const ConstRows& rows, std::int64_t position,
                                   std::int64_t column) const {
    return {rows.row(span_.first + position) + column, rows.stride, 1};
  }

  void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, const MatrixView& a,
                const MatrixView& b, float* out, std::int64_t stride, bool adds) const {
    product({.rows = rows,
             .columns = columns,
             .inner = inner,
             .a = a,
             .b = b,
             .out = out,
             .out_row_stride = stride,
             .adds = adds},
            Share{}, product_space_);
  }

  /// Fills scores_ [queries, keys] with probabilities; a key that a query does not see gets 0.
  void find_probabilities(const ScoreBlock& block) const {
    multiply(block.queries, block.keys, size_, rows_of(params_.qkv, block.query, query_at_),
             rows_of(params_.qkv, block.key, key_at_).turned(), scores_, block.keys, false);
    for (std::int64_t q = 0; q < block.queries; ++q) {
      float* row = scores_ + q * block.keys;
      const std::int64_t first = first_seen(block.query + q) - block.key;
      const std::int64_t end = end_seen(block.query + q) - block.key;
      std::fill_n(row, first, 0.0F);
      std::fill(row + end, row + block.keys, 0.0F);
      for (std::int64_t k = first; k < end; ++k) row[k] = capped(row[k] * params_.spec.scale);
      (void)softmax_row({row + first, static_cast<std::size_t>(end - first)});
    }
  }

  [[nodiscard]] float capped(float score) const {
    const float cap = params_.spec.soft_cap;
    return cap > 0 ? cap * std::tanh(score / cap) : score;
  }

  // Replaces the gradient by probabilities in others_ with the gradient by q k^T.
  void turn_into_score_gradients(const ScoreBlock& block) const {
    const float cap = params_.spec.soft_cap;
    for (std::int64_t q = 0; q < block.queries; ++q) {
      const float* probability = scores_ + q * block.keys;
      float* gradient = others_ + q * block.keys;
      double along = 0;
      for (std::int64_t k = 0; k < block.keys; ++k) along += double{probability[k]} * gradient[k];
      const auto mean = static_cast<float>(along);
      for (std::int64_t k = 0; k < block.keys; ++k) {
        gradient[k] = probability[k] * (gradient[k] - mean) * params_.spec.scale;
      }
    }
    if (cap > 0) bend(block);
  }

  // Multiplies by the slope of the soft cap, 1 - tanh^2, from scores that are computed again.
  void bend(const ScoreBlock& block) const {
    multiply(block.queries, block.keys, size_, rows_of(params_.qkv, block.query, query_at_),
             rows_of(params_.qkv, block.key, key_at_).turned(), scores_, block.keys, false);
    for (std::int64_t i = 0; i < block.queries * block.keys; ++i) {
      const float bent = std::tanh(scores_[i] * params_.spec.scale / params_.spec.soft_cap);
      others_[i] *= 1 - bent * bent;
    }
  }

  const PackedAttentionParams& params_;
  const PackedSpan& span_;
  const std::int64_t size_;
  std::int64_t query_at_ = 0;
  std::int64_t key_at_ = 0;
  std::int64_t value_at_ = 0;
  float* scores_ = nullptr;
  float* others_ = nullptr;
  std::span<std::byte> product_space_;
};

void check_packed(const PackedAttentionParams& params, std::span<std::byte> workspace) {
  const HeadShape& shape = params.shape;
  require(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
          "packed_attention: heads are no multiple of KV heads");
  require(params.spec.causal, "packed_attention: only causal attention is trained");
  const std::int64_t width =
      (std::int64_t{shape.heads} + std::int64_t{2} * shape.kv_heads) * shape.head_size;
  std::int64_t longest = 0;
  for (const PackedSpan& span : params.spans) {
    require(span.first >= 0 && holds_rows(params.qkv, span.first + span.count, width),
            "packed_attention: a sequence outside of qkv");
    longest = std::max(longest, span.count);
  }
  require(workspace.size() >= packed_attention_workspace_bytes(longest),
          "packed_attention: the workspace is too small");
}

}  // namespace

std::size_t packed_attention_workspace_bytes(std::int64_t longest) noexcept {
  return 2 * score_bytes(longest) + product_workspace_bytes();
}

void packed_attention(const PackedAttentionParams& params, const Rows& out, Share share,
                      std::span<std::byte> workspace) {
  check_packed(params, workspace);
  const std::int64_t heads = params.shape.heads;
  const auto [begin, end] = share.of(static_cast<std::int64_t>(params.spans.size()) * heads);
  for (std::int64_t at = begin; at < end; ++at) {
    const PackedSpan& span = params.spans[static_cast<std::size_t>(at / heads)];
    HeadTask(params, span, at % heads, workspace).compute(out);
  }
}

// Heads that share keys and values add to the same gradients, so one thread computes them in order.
void packed_attention_gradient(const PackedAttentionParams& params, const ConstRows& out_gradient,
                               const Rows& qkv_gradient, Share share,
                               std::span<std::byte> workspace) {
  check_packed(params, workspace);
  const std::int64_t groups = params.shape.kv_heads;
  const std::int64_t shared = params.shape.heads / groups;
  const auto [begin, end] = share.of(static_cast<std::int64_t>(params.spans.size()) * groups);
  for (std::int64_t at = begin; at < end; ++at) {
    const PackedSpan& span = params.spans[static_cast<std::size_t>(at / groups)];
    for (std::int64_t i = 0; i < shared; ++i) {
      HeadTask(params, span, at % groups * shared + i, workspace)
          .add_gradient(out_gradient, qkv_gradient);
    }
  }
}

}  // namespace weft
