#include "weft/kernels/attention/attention_plan.h"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

/// The costs of widening a block of keys and values, and of beginning an item, in units of one
/// query's work on a block.
constexpr std::int64_t kBlockCost = 3;
constexpr std::int64_t kItemCost = 1;

}  // namespace

KeyRange visible_keys(const AttentionParams& params, const SequenceSpan& span,
                      std::int32_t position) noexcept {
  KeyRange range{0, params.spec.causal ? position + 1 : span.context};
  if (params.spec.window > 0) {
    range.begin = std::max(range.begin, position - params.spec.window + 1);
    const std::int64_t end = std::int64_t{position} + params.spec.window;
    range.end = static_cast<std::int32_t>(std::min<std::int64_t>(range.end, end));
  }
  if (params.spec.chunk > 0) {
    const std::int64_t chunk = std::int64_t{position} / params.spec.chunk * params.spec.chunk;
    range.begin = std::max(range.begin, static_cast<std::int32_t>(chunk));
    const auto end = std::min<std::int64_t>(chunk + params.spec.chunk, range.end);
    range.end = static_cast<std::int32_t>(end);
  }
  return range;
}

AttentionPlan::AttentionPlan(const AttentionParams& params, Share share)
    : params_(params),
      group_(params.heads / params.kv.kv_heads),
      item_tokens_(std::max(1, kQueryBlock / group_)) {
  std::int64_t total = 0;
  for (const SequenceSpan& span : params.spans) total += head_cost(span) * params.kv.kv_heads;
  const auto edge = [&](int part) {
    return static_cast<std::int64_t>(static_cast<double>(total) * part / share.count);
  };
  begin_ = share.index == 0 ? 0 : edge(share.index);
  end_ = share.index + 1 == share.count ? std::numeric_limits<std::int64_t>::max()
                                        : edge(share.index + 1);
}

std::int64_t AttentionPlan::item_cost(const SequenceSpan& span, std::int32_t first_token,
                                      std::int32_t tokens) const noexcept {
  const KeyRange first = visible_keys(params_, span, span.start + first_token);
  const KeyRange last = visible_keys(params_, span, span.start + first_token + tokens - 1);
  const std::int64_t blocks =
      (std::int64_t{last.end} + kKeyBlock - 1) / kKeyBlock - first.begin / kKeyBlock;
  return kItemCost +
         std::max<std::int64_t>(blocks, 0) * (kBlockCost + std::int64_t{tokens} * group_);
}

std::int32_t AttentionPlan::tokens_at(const SequenceSpan& span, std::int32_t token) const noexcept {
  return std::min(item_tokens_, span.count - token);
}

std::int64_t AttentionPlan::head_cost(const SequenceSpan& span) const noexcept {
  std::int64_t cost = 0;
  for (std::int32_t token = 0; token < span.count; token += tokens_at(span, token)) {
    cost += item_cost(span, token, tokens_at(span, token));
  }
  return cost;
}

/// Skips spans that end before this thread's part; returns whether an item is left.
bool AttentionPlan::skip_foreign_spans() noexcept {
  for (; span_ < params_.spans.size(); ++span_) {
    const SequenceSpan& span = params_.spans[span_];
    if (head_ != 0 || token_ != 0) return true;
    const std::int64_t cost = head_cost(span) * params_.kv.kv_heads;
    if (span.count > 0 && passed_ + cost > begin_) return true;
    passed_ += cost;
  }
  return false;
}

/// Skips the next item.
void AttentionPlan::pass(std::int32_t tokens, std::int64_t cost) noexcept {
  const SequenceSpan& span = params_.spans[span_];
  passed_ += cost;
  token_ += tokens;
  if (token_ < span.count) return;
  token_ = 0;
  if (++head_ < params_.kv.kv_heads) return;
  head_ = 0;
  ++span_;
}

std::optional<AttentionItem> AttentionPlan::next() {
  while (skip_foreign_spans()) {
    const SequenceSpan& span = params_.spans[span_];
    const AttentionItem item{&span, head_, token_, tokens_at(span, token_)};
    const std::int64_t cost = item_cost(span, token_, item.tokens);
    const std::int64_t middle = passed_ + cost / 2;
    if (middle >= end_) return std::nullopt;
    pass(item.tokens, cost);
    if (middle >= begin_) return item;
  }
  return std::nullopt;
}

}  // namespace weft
