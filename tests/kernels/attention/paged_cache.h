#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "weft/core/mailbox/cache_line.h"
#include "weft/kernels/attention/kv_layer.h"
#include "weft/kernels/simd/narrow_float.h"

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
    // All bits set are a NaN in each of the types.
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
    for (std::int32_t head = 0; head < layer_.kv_heads; ++head) {
      for (std::int32_t d = 0; d < layer_.head_size; ++d) {
        const auto from = static_cast<std::size_t>(
            (std::int64_t{position} * layer_.kv_heads + head) * layer_.head_size + d);
        write(keys_.span(), index(pages, position, head, d), keys[from]);
        write(values_.span(), index(pages, position, head, d), values[from]);
      }
    }
  }

  [[nodiscard]] float key(std::span<const std::int32_t> pages, std::int32_t position,
                          std::int32_t head, std::int32_t d) const {
    return read(keys_.span(), index(pages, position, head, d));
  }
  [[nodiscard]] float value(std::span<const std::int32_t> pages, std::int32_t position,
                            std::int32_t head, std::int32_t d) const {
    return read(values_.span(), index(pages, position, head, d));
  }

  /// Keys and values that are numbers.
  [[nodiscard]] std::int64_t filled() const {
    std::int64_t count = 0;
    const std::size_t all = keys_.span().size() / width();
    for (std::size_t i = 0; i < all; ++i) {
      count += (read(keys_.span(), i) == read(keys_.span(), i)) ? 1 : 0;
      count += (read(values_.span(), i) == read(values_.span(), i)) ? 1 : 0;
    }
    return count;
  }

  /// What is left of a number in the cache.
  static float as_stored(DType dtype, float number) {
    if (dtype == DType::kF16) return from_f16(to_f16(number));
    if (dtype == DType::kBF16) return from_bf16(to_bf16(number));
    return number;
  }

 private:
  static std::size_t bytes(const KvLayer& layer) {
    const std::int64_t numbers =
        std::int64_t{layer.pages} * layer.kv_heads * layer.page_tokens * layer.head_size;
    return static_cast<std::size_t>(*bytes_of(layer.dtype, numbers));
  }

  static std::vector<std::int32_t> numbered(std::int32_t count) {
    std::vector<std::int32_t> pages(static_cast<std::size_t>(count));
    std::iota(pages.begin(), pages.end(), 0);
    std::ranges::shuffle(pages, std::mt19937(99));
    return pages;
  }

  [[nodiscard]] std::size_t width() const {
    return static_cast<std::size_t>(block_of(layer_.dtype).bytes);
  }

  [[nodiscard]] std::size_t index(std::span<const std::int32_t> pages, std::int32_t position,
                                  std::int32_t head, std::int32_t d) const {
    const std::int64_t page = pages[static_cast<std::size_t>(position / layer_.page_tokens)];
    const std::int64_t slot =
        (page * layer_.kv_heads + head) * layer_.page_tokens + position % layer_.page_tokens;
    return static_cast<std::size_t>(slot * layer_.head_size + d);
  }

  void write(std::span<std::byte> memory, std::size_t at, float number) const {
    const std::uint16_t half = layer_.dtype == DType::kF16 ? to_f16(number) : to_bf16(number);
    const void* from = layer_.dtype == DType::kF32 ? static_cast<const void*>(&number) : &half;
    std::memcpy(memory.data() + at * width(), from, width());
  }

  [[nodiscard]] float read(std::span<const std::byte> memory, std::size_t at) const {
    float number = 0;
    std::uint16_t half = 0;
    void* to = layer_.dtype == DType::kF32 ? static_cast<void*>(&number) : &half;
    std::memcpy(to, memory.data() + at * width(), width());
    if (layer_.dtype == DType::kF16) return from_f16(half);
    return layer_.dtype == DType::kBF16 ? from_bf16(half) : number;
  }

  KvLayer layer_;
  AlignedBytes keys_;
  AlignedBytes values_;
  std::vector<std::int32_t> free_;
};

}  // namespace weft
