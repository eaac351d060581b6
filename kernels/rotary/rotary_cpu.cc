#include <algorithm>
#include <cmath>

#include "weft/core/kv_dtype.h"
#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/require.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/rotary/rotary_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/attention/kv_row-inl.h"
#include "weft/kernels/norm/norm_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// The heads of one kind (queries, keys or values) in one token's row.
struct Heads {
  float* data;
  std::int64_t count;
  std::int64_t size;

  [[nodiscard]] float* head(std::int64_t index) const { return data + index * size; }
};

void clip(const Heads& heads, float limit) {
  for (std::int64_t i = 0; i < heads.count * heads.size; ++i) {
    const float value = heads.data[i];
    // Both comparisons are false for NaN, so it stays NaN.
    heads.data[i] = value < -limit ? -limit : (value > limit ? limit : value);
  }
}

void norm_heads(const Heads& heads, const HeadNorm& norm) {
  const HeadNormSpec& spec = norm.spec;
  if (!spec.enabled || heads.count == 0) return;
  const auto size = static_cast<std::size_t>(heads.size);
  const auto all = static_cast<std::size_t>(heads.count) * size;
  const bool together = spec.scope == HeadNormScope::kAllHeads;
  Moments moments;
  if (together) moments = moments_of(spec.norm, heads.data, all);
  for (std::int64_t h = 0; h < heads.count; ++h) {
    const std::int64_t own = spec.scope == HeadNormScope::kPerHead ? 0 : h * heads.size;
    if (!together) moments = moments_of(spec.norm, heads.head(h), size);
    const Affine affine{.weight = norm.weight != nullptr ? norm.weight + own : nullptr,
                        .bias = norm.bias != nullptr ? norm.bias + own : nullptr,
                        .offset = spec.norm.weight_offset};
    apply_norm(moments, affine, heads.head(h), heads.head(h), size);
  }
}

/// Rotates `pairs` pairs: (a, b) becomes (a cos - b sin, b cos + a sin).
void turn_halves(float* head, std::size_t pairs, const float* cosines, const float* sines) {
  for (std::size_t i = 0; i < pairs; i += hn::Lanes(FloatTag())) {
    const std::size_t left = pairs - i;
    const FloatVec cosine = load_first(cosines + i, left);
    const FloatVec sine = load_first(sines + i, left);
    const FloatVec a = load_first(head + i, left);
    const FloatVec b = load_first(head + pairs + i, left);
    store_first(hn::NegMulAdd(b, sine, hn::Mul(a, cosine)), head + i, left);
    store_first(hn::MulAdd(a, sine, hn::Mul(b, cosine)), head + pairs + i, left);
  }
}

void turn_interleaved(float* head, std::size_t pairs, const float* cosines, const float* sines) {
  for (std::size_t i = 0; i < pairs; ++i) {
    const float a = head[2 * i];
    const float b = head[2 * i + 1];
    head[2 * i] = a * cosines[i] - b * sines[i];
    head[2 * i + 1] = b * cosines[i] + a * sines[i];
  }
}

void turn(const RotaryParams& params, const Heads& heads, std::int64_t position) {
  const std::int64_t pairs = params.spec.rotary_size / 2;
  const float* cosines = params.cosines + position * pairs;
  const float* sines = params.sines + position * pairs;
  const auto turn_head = params.spec.style == RotaryStyle::kHalves ? turn_halves : turn_interleaved;
  for (std::int64_t h = 0; h < heads.count; ++h) {
    turn_head(heads.head(h), static_cast<std::size_t>(pairs), cosines, sines);
  }
}

void grow(const Heads& queries, const RotarySpec& spec, std::int32_t position) {
  const std::int32_t steps = position / spec.query_growth_step;
  const float scale = 1.0F + spec.query_growth * std::log1p(static_cast<float>(steps));
  for (std::int64_t i = 0; i < queries.count * queries.size; ++i) queries.data[i] *= scale;
}

/// Stores the heads of one token at `position` of its context.
void store(const KvLayer& kv, std::byte* cache, const Heads& heads, const SequenceSpan& span,
           std::int64_t position) {
  const std::int64_t page = span.pages[static_cast<std::size_t>(position / kv.page_tokens)];
  require(page >= 0 && page < kv.pages, "rotate_and_store: a page outside the cache");
  const std::int64_t row_bytes = kv_row_bytes(kv.dtype, kv.head_size);
  for (std::int64_t h = 0; h < heads.count; ++h) {
    const std::int64_t slot = (page * kv.kv_heads + h) * kv.page_tokens + position % kv.page_tokens;
    store_kv_row(kv.dtype, heads.head(h), static_cast<std::size_t>(heads.size),
                 cache + slot * row_bytes);
  }
}

void rotate_token(const RotaryParams& params, std::int64_t row, const Heads& queries,
                  const Heads& keys) {
  if (!params.spec.norm_after_rotary) {
    norm_heads(queries, params.query_norm);
    norm_heads(keys, params.key_norm);
  }
  if (params.spec.rotary_size > 0) {
    const std::int64_t position = params.position_ids[static_cast<std::size_t>(row)];
    require(position >= 0 && position < params.table_positions,
            "rotate_and_store: a position outside the table");
    turn(params, queries, position);
    turn(params, keys, position);
  }
  if (params.spec.norm_after_rotary) {
    norm_heads(queries, params.query_norm);
    norm_heads(keys, params.key_norm);
  }
  if (params.spec.query_growth_step > 0) {
    grow(queries, params.spec, params.position_ids[static_cast<std::size_t>(row)]);
  }
}

void rotate_and_store_rows(const RotaryParams& params, Share share) {
  const std::int64_t size = params.shape.head_size;
  const Share::Range rows = share.of(params.qkv.count);
  for (const SequenceSpan& span : params.spans) {
    const auto begin = std::max(rows.begin, std::int64_t{span.first});
    const auto end = std::min(rows.end, std::int64_t{span.first} + span.count);
    for (std::int64_t row = begin; row < end; ++row) {
      const Heads queries{params.qkv.row(row), params.shape.heads, size};
      const Heads keys{queries.head(params.shape.heads), params.shape.kv_heads, size};
      const Heads values{keys.head(params.shape.kv_heads), params.shape.kv_heads, size};
      if (params.spec.clip > 0)
        clip({queries.data, queries.count + 2 * keys.count, size}, params.spec.clip);
      rotate_token(params, row, queries, keys);
      norm_heads(values, params.value_norm);
      if (params.kv.keys == nullptr) continue;
      const std::int64_t position = span.start + (row - span.first);
      store(params.kv, params.kv.keys, keys, span, position);
      store(params.kv, params.kv.values, values, span, position);
    }
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(rotate_and_store_rows);

void cpu::rotate_and_store(const RotaryParams& params, Share share) {
  HWY_DYNAMIC_DISPATCH(rotate_and_store_rows)(params, share);
}

}  // namespace weft
#endif  // HWY_ONCE
