// Widens a block of the cache to float32, and multiplies it for scores and for values. Part of
// attention_cpu.cc. The include guard is Highway's: each instruction set reads the file once.
#if defined(WEFT_KERNELS_ATTENTION_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_ATTENTION_BLOCK_INL_H
#undef WEFT_KERNELS_ATTENTION_BLOCK_INL_H
#else
#define WEFT_KERNELS_ATTENTION_BLOCK_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "weft/core/kv_dtype.h"
#include "weft/kernels/attention/attention_plan.h"
#include "weft/kernels/attention/attention_workspace.h"
#include "weft/kernels/attention/kv_row-inl.h"
#include "weft/kernels/require.h"
#include "weft/kernels/simd/simd_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

constexpr std::size_t kLanes = hn::MaxLanes(FloatTag());

/// Rows in a tile of sums. With 32 registers a tile has 4 x 4 sums: 16 chains hide the latency of a
/// fused multiplication on two units. With 16 registers it has half as many.
constexpr int kTileRows = 4;
constexpr std::size_t kTileVectors = kLanes == 16 ? 4 : 2;

/// A range of columns that covers whole vectors of a row.
struct Columns {
  std::size_t begin;
  std::size_t end;
};

/// Keys are transposed in fours, also where a vector has one lane.
constexpr std::size_t kGrain = std::max<std::size_t>(kLanes, 4);

constexpr std::size_t padded_to_vectors(std::int32_t count) {
  return (static_cast<std::size_t>(count) + kGrain - 1) / kGrain * kGrain;
}

constexpr Columns whole_vectors(KeyRange range) {
  return {static_cast<std::size_t>(range.begin) / kGrain * kGrain, padded_to_vectors(range.end)};
}

/// Rows of a product's left side, and of its result (aligned).
template <int kRows>
struct Operands {
  const float* left[kRows];
  float* out[kRows];
};

template <int kRows, std::size_t kVectors, class Fetch>
HWY_INLINE void multiply_add_tile(const Operands<kRows>& operands, std::size_t begin,
                                  std::size_t end, const float* right, std::size_t stride,
                                  std::size_t column, Fetch& fetch) {
  const FloatTag d;
  FloatVec sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      sums[r][v] = hn::Load(d, operands.out[r] + column + v * kLanes);
    }
  }
  for (std::size_t k = begin; k < end; ++k) {
    fetch.step(k);
    FloatVec row[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      row[v] = hn::Load(d, right + k * stride + column + v * kLanes);
    }
    for (int r = 0; r < kRows; ++r) {
      const FloatVec left = hn::Set(d, operands.left[r][k]);
      for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(left, row[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::Store(sums[r][v], d, operands.out[r] + column + v * kLanes);
    }
  }
}

/// out[c] += left[k] * right[k * stride + c] for k = begin .. end-1 in that order, by fused
/// multiplications: each number of `out` is one chain, whatever its neighbours are. Calls `fetch`
/// for each k, so that memory that is needed later is fetched between products.
template <int kRows, class Fetch>
void multiply_add(const Operands<kRows>& operands, std::size_t begin, std::size_t end,
                  const float* right, std::size_t stride, Columns columns, Fetch& fetch) {
  std::size_t c = columns.begin;
  for (; c + kTileVectors * kLanes <= columns.end; c += kTileVectors * kLanes) {
    multiply_add_tile<kRows, kTileVectors>(operands, begin, end, right, stride, c, fetch);
  }
  for (; c + 2 * kLanes <= columns.end; c += 2 * kLanes) {
    multiply_add_tile<kRows, 2>(operands, begin, end, right, stride, c, fetch);
  }
  for (; c < columns.end; c += kLanes) {
    multiply_add_tile<kRows, 1>(operands, begin, end, right, stride, c, fetch);
  }
}

/// cap * tanh(score / cap); NaN stays NaN.
HWY_INLINE FloatVec capped(FloatVec score, float cap) {
  const FloatTag d;
  const FloatVec limit = hn::Set(d, cap);
  const FloatVec result = hn::Mul(limit, hn::Tanh(d, hn::Div(score, limit)));
  return hn::IfThenElse(hn::Eq(score, score), result, score);
}

#if HWY_TARGET != HWY_SCALAR

/// Stores the blocks of four lanes `step` numbers apart.
template <class D, class V>
HWY_INLINE void store_fours(D d, V value, float* to, std::size_t step) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    hn::Store(value, d, to);
  } else {
    const hn::Half<D> half;
    store_fours(half, hn::LowerHalf(half, value), to, step);
    store_fours(half, hn::UpperHalf(half, value), to + hn::MaxLanes(D()) / 8 * step, step);
  }
}

/// Writes four keys' numbers [at, at + lanes of D) to four columns of the transposed keys.
template <class D, class Row>
HWY_INLINE void turn_fours(D d, const std::array<Row, 4>& keys, std::size_t at, float* to) {
  const hn::Repartition<std::uint64_t, D> pairs;
  const auto k0 = keys[0].load(d, at);
  const auto k1 = keys[1].load(d, at);
  const auto k2 = keys[2].load(d, at);
  const auto k3 = keys[3].load(d, at);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, k0, k1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, k2, k3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, k0, k1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, k2, k3));
  const auto put = [&](std::size_t row, auto value) HWY_ATTR {
    store_fours(d, hn::BitCast(d, value), to + (at + row) * kKeyBlock, 4 * kKeyBlock);
  };
  put(0, hn::InterleaveLower(pairs, low01, low23));
  put(1, hn::InterleaveUpper(pairs, low01, low23));
  put(2, hn::InterleaveLower(pairs, high01, high23));
  put(3, hn::InterleaveUpper(pairs, high01, high23));
}

#endif  // HWY_TARGET != HWY_SCALAR

/// Writes columns `to` .. `to` + 3 of the transposed keys [size, kKeyBlock].
template <class Row>
void turn_keys(const std::array<Row, 4>& keys, std::size_t size, float* to) {
  std::size_t at = 0;
#if HWY_TARGET != HWY_SCALAR
  const FloatTag d;
  const hn::CappedTag<float, 4> four;
  for (; at + kLanes <= size; at += kLanes) turn_fours(d, keys, at, to);
  for (; at + 4 <= size; at += 4) turn_fours(four, keys, at, to);
#endif
  for (; at < size; ++at) {
    for (std::size_t k = 0; k < 4; ++k) to[at * kKeyBlock + k] = keys[k].number(at);
  }
}

/// `to` is aligned and padded to whole vectors.
template <class Row>
void widen_row(const Row& from, std::size_t size, float* to) {
  const FloatTag d;
  std::size_t at = 0;
  for (; at + kLanes <= size; at += kLanes) hn::Store(from.load(d, at), d, to + at);
  if (at == size) return;
  hn::Store(hn::Zero(d), d, to + at);
  for (; at < size; ++at) to[at] = from.number(at);
}

/// Goes through the keys and values of one KV head of one sequence, block after block. A processor
/// cannot predict where pages lie, so the next block is prefetched while the current one is used.
/// The fetches are spread over all of the work, since a core holds few misses at a time.
class KvBlocks {
 public:
  /// Goes over the blocks that hold the positions `visible`, for `rows` queries.
  KvBlocks(const KvLayer& kv, const SequenceSpan& span, std::int32_t head, KeyRange visible,
           std::int32_t rows)
      : kv_(kv),
        span_(span),
        head_(head),
        size_(static_cast<std::size_t>(kv.head_size)),
        row_bytes_(static_cast<std::size_t>(kv_row_bytes(kv.dtype, kv.head_size))),
        visible_(visible),
        block_(visible.begin / kKeyBlock * kKeyBlock),
        skipped_(std::bit_floor(static_cast<std::size_t>(std::max(rows / kTileRows, 1))) - 1),
        values_per_fetch_(skipped_ == 0 ? 2 : 4) {
    locate(block_, next_);
    const KeyRange loaded = part_of(block_);
    fetched_ = loaded.begin;
    fetch_end_ = loaded.end;
    fetch_rest();
  }

  /// Returns whether all blocks are done. block() is the position where the current block begins.
  [[nodiscard]] bool is_done() const { return block_ >= visible_.end; }
  [[nodiscard]] std::int32_t block() const { return block_; }

  /// The block's visible positions, counted from its begin.
  [[nodiscard]] KeyRange loaded() const { return part_of(block_); }

  /// Writes the positions loaded() to the workspace and reads no others. The other key columns of
  /// their vectors become zeros.
  void load(const AttentionWorkspace& work) {
    current_ = next_;
    fetched_ = 0;
    fetch_end_ = std::min(visible_.end - block_ - kKeyBlock, kKeyBlock);
    if (fetch_end_ > 0) locate(block_ + kKeyBlock, next_);
    with_row_type(kv_.dtype, [&]<class Row>() HWY_ATTR { load_as<Row>(work); });
  }

  void advance() { block_ += kKeyBlock; }

  /// Fetches the rest of the next block.
  void fetch_rest() {
    while (fetched_ < fetch_end_) fetch_line();
  }

  /// Call this before each product of some rows. With one set of rows there are just enough
  /// products to fetch a cache of 16 bits; with more sets only some products fetch.
  HWY_INLINE void step(std::size_t k) {
    if ((k & skipped_) == 0 && fetched_ < fetch_end_) fetch_line();
  }

 private:
  /// Where the numbers of each position of a block begin, in bytes from the start of keys or
  /// values.
  using Starts = std::array<std::size_t, kKeyBlock>;

  [[nodiscard]] KeyRange part_of(std::int32_t block) const {
    return {std::max(visible_.begin - block, 0), std::min(visible_.end - block, kKeyBlock)};
  }

  void locate(std::int32_t block, Starts& starts) const {
    const std::int32_t tokens = kv_.page_tokens;
    const KeyRange part = part_of(block);
    for (std::int32_t i = part.begin; i < part.end;) {
      const std::int32_t position = block + i;
      const std::int64_t page = span_.pages[static_cast<std::size_t>(position / tokens)];
      require(page >= 0 && page < kv_.pages, "attention: a page outside the cache");
      const std::int32_t slot = position % tokens;
      const std::int64_t row = (page * kv_.kv_heads + head_) * tokens + slot;
      std::size_t start = static_cast<std::size_t>(row) * row_bytes_;
      const std::int32_t end = i + std::min(tokens - slot, part.end - i);
      for (; i < end; ++i, start += row_bytes_) starts[static_cast<std::size_t>(i)] = start;
    }
  }

  HWY_INLINE void fetch_line() {
    const std::size_t at = next_[static_cast<std::size_t>(fetched_)] + fetched_bytes_;
    hwy::Prefetch(kv_.keys + at);
    hwy::Prefetch(kv_.values + at);
    fetched_bytes_ += kFetchBytes;
    if (fetched_bytes_ < row_bytes_) return;
    fetched_bytes_ = 0;
    ++fetched_;
  }

  /// Fetches the remaining lines of position fetched_.
  HWY_INLINE void fetch_position() {
    for (const std::int32_t position = fetched_; position == fetched_ && position < fetch_end_;)
      fetch_line();
  }

  template <class Row>
  void load_as(const AttentionWorkspace& work) {
    const Row nothing(reinterpret_cast<const std::byte*>(work.zeros));
    const KeyRange part = loaded();
    const auto begin = static_cast<std::size_t>(part.begin);
    const auto end = static_cast<std::size_t>(part.end);
    const Columns columns = whole_vectors(part);
    for (std::size_t c = columns.begin; c < columns.end; c += 4) {
      std::array<Row, 4> four{nothing, nothing, nothing, nothing};
      for (std::size_t k = 0; k < 4; ++k) {
        if (c + k >= begin && c + k < end) four[k] = Row(kv_.keys + current_[c + k]);
      }
      turn_keys(four, size_, work.keys + c);
      fetch_position();
    }
    for (std::size_t c = begin; c < end; ++c) {
      widen_row(Row(kv_.values + current_[c]), size_, work.values + c * work.padded_size);
      if (c % values_per_fetch_ == 0) fetch_position();
    }
  }

  static constexpr std::size_t kFetchBytes = 64;

  const KvLayer& kv_;
  const SequenceSpan& span_;
  std::int32_t head_;
  std::size_t size_;
  std::size_t row_bytes_;
  KeyRange visible_;
  std::int32_t block_;
  Starts current_{};
  Starts next_{};
  // The next block's position to fetch next, the end of its positions, and the bytes fetched.
  std::int32_t fetched_ = 0;
  std::int32_t fetch_end_ = 0;
  std::size_t fetched_bytes_ = 0;
  std::size_t skipped_;  // mask of k: only products where it is 0 fetch
  std::size_t values_per_fetch_;
};

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_ATTENTION_BLOCK_INL_H
