#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "weft/core/kv_dtype.h"
#include "weft/core/mailbox/cache_line.h"
#include "weft/kernels/attention/kv_layer.h"
#include "weft/tests/kernels/attention/kv_row_reference.h"

namespace weft {

/// Memory that begins at a cache line.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t count)
      : count_(count),
        bytes_(static_cast<std::byte*>(::operator new(count, std::align_val_t(kCacheLineBytes)))) {}

  [[nodiscard]] std::span<std::byte> span() const { return {bytes_.get(), count_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete(memory, std::align_val_t(kCacheLineBytes));
    }
  };

  std::size_t count_;
  std::unique_ptr<std::byte, Free> bytes_;
};

/// One layer's cache, NaN wherever nothing was put. Pages are given out in no order.
class PagedCache {
 public:
  explicit PagedCache(KvLayer layer)
      : layer_(layer), keys_(bytes(layer)), values_(bytes(layer)), free_(numbered(layer.pages)) {
    // All bits set are a NaN in each of the types, and as a scale.
    std::ranges::fill(keys_.span(), std::byte{0xff});
    std::ranges::fill(values_.span(), std::byte{0xff});
    layer_.keys = keys_.span().data();
    layer_.values = values_.span().data();
  }

  [[nodiscard]] const KvLayer& layer() const { return layer_; }

  /// Pages for a context of so many tokens.
  std::vector<std::int32_t> take_pages(std::int32_t tokens) {
    const auto count = (tokens + layer_.page_tokens - 1) / layer_.page_tokens;
    std::vector<std::int32_t> pages(free_.end() - count, free_.end());
    free_.resize(free_.size() - static_cast<std::size_t>(count));
    return pages;
  }

  /// The token at `position` of [tokens, K, D] keys and values.
  void put(std::span<const std::int32_t> pages, std::int32_t position, std::span<const float> keys,
           std::span<const float> values) {
    const auto size = static_cast<std::size_t>(layer_.head_size);
    for (std::int32_t head = 0; head < layer_.kv_heads; ++head) {
      const auto from =
          static_cast<std::size_t>(std::int64_t{position} * layer_.kv_heads + head) * size;
      const std::size_t to = row(pages, position, head);
      write_kv_row(layer_.dtype, keys.subspan(from, size), keys_.span().subspan(to));
      write_kv_row(layer_.dtype, values.subspan(from, size), values_.span().subspan(to));
    }
  }

  [[nodiscard]] float key(std::span<const std::int32_t> pages, std::int32_t position,
                          std::int32_t head, std::int32_t d) const {
    return kv_number(layer_.dtype, keys_.span().subspan(row(pages, position, head)), d);
  }
  [[nodiscard]] float value(std::span<const std::int32_t> pages, std::int32_t position,
                            std::int32_t head, std::int32_t d) const {
    return kv_number(layer_.dtype, values_.span().subspan(row(pages, position, head)), d);
  }

  /// Keys and values that are numbers.
  [[nodiscard]] std::int64_t filled() const {
    std::int64_t count = 0;
    for (const AlignedBytes* memory : {&keys_, &values_}) {
      for (std::size_t at = 0; at < memory->span().size(); at += row_bytes()) {
        for (std::int32_t d = 0; d < layer_.head_size; ++d) {
          count += std::isnan(kv_number(layer_.dtype, memory->span().subspan(at), d)) ? 0 : 1;
        }
      }
    }
    return count;
  }

  /// Returns the numbers of one token and KV head as rounded by a cache.
  static std::vector<float> as_stored(DType dtype, std::span<const float> numbers) {
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(kv_row_bytes(dtype, std::ssize(numbers))));
    write_kv_row(dtype, numbers, bytes);
    std::vector<float> stored(numbers.size());
    for (std::size_t d = 0; d < stored.size(); ++d) {
      stored[d] = kv_number(dtype, bytes, static_cast<std::int32_t>(d));
    }
    return stored;
  }

 private:
  static std::size_t bytes(const KvLayer& layer) {
    return static_cast<std::size_t>(std::int64_t{layer.pages} * layer.kv_heads * layer.page_tokens *
                                    kv_row_bytes(layer.dtype, layer.head_size));
  }

  static std::vector<std::int32_t> numbered(std::int32_t count) {
    std::vector<std::int32_t> pages(static_cast<std::size_t>(count));
    std::iota(pages.begin(), pages.end(), 0);
    std::ranges::shuffle(pages, std::mt19937(99));
    return pages;
  }

  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(kv_row_bytes(layer_.dtype, layer_.head_size));
  }

  /// Where the row of a position and a head begins.
  [[nodiscard]] std::size_t row(std::span<const std::int32_t> pages, std::int32_t position,
                                std::int32_t head) const {
    const std::int64_t page = pages[static_cast<std::size_t>(position / layer_.page_tokens)];
    const std::int64_t slot =
        (page * layer_.kv_heads + head) * layer_.page_tokens + position % layer_.page_tokens;
    return static_cast<std::size_t>(slot) * row_bytes();
  }

  KvLayer layer_;
  AlignedBytes keys_;
  AlignedBytes values_;
  std::vector<std::int32_t> free_;
};

}  // namespace weft
