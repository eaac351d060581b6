#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "weft/kernels/attention/attention_cuda.h"
#include "weft/kernels/attention/relative_bias.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/kernels/attention/kv_row_reference.h"

/// Attention over device parameters whose pointers are the host's: loops in float64 that a reader
/// can check. Each token that an item covers is computed whole, once.
namespace weft::cuda {

class AttentionReference {
 public:
  explicit AttentionReference(const CudaAttentionParams& params) : params_(params) {
    if (params.relative_bias != nullptr) {
      buckets_ = RelativeBuckets(params.spec.relative_buckets, params.spec.relative_max_distance,
                                 params.spec.relative_bidirectional);
    }
  }

  void run() const {
    for (std::int32_t i = 0; i < *params_.item_count; ++i) {
      const CudaAttentionItem& item = params_.items[i];
      if (item.part != 0) continue;
      const DeviceSequence& sequence = params_.spans.sequences[item.sequence];
      for (std::int32_t token = item.token; token < item.token + item.tokens; ++token) {
        for (std::int32_t head = 0; head < params_.heads; ++head) attend(sequence, token, head);
      }
    }
  }

 private:
  void write(std::int64_t index, double value) const {
    const auto at = static_cast<std::size_t>(index);
    auto* bytes = static_cast<std::byte*>(params_.out.data);
    const auto number = static_cast<float>(value);
    if (params_.out.dtype == DType::kF32) {
      std::memcpy(bytes + at * sizeof number, &number, sizeof number);
      return;
    }
    const std::uint16_t bits = params_.out.dtype == DType::kF16 ? to_f16(number) : to_bf16(number);
    std::memcpy(bytes + at * sizeof bits, &bits, sizeof bits);
  }

  [[nodiscard]] bool sees(const DeviceSequence& sequence, std::int32_t query,
                          std::int32_t key) const {
    if (key > query && params_.spec.causal) return false;
    if (key >= sequence.context && !params_.spec.causal) return false;
    if (params_.spec.window > 0 && std::abs(query - key) >= params_.spec.window) return false;
    return params_.spec.chunk == 0 || query / params_.spec.chunk == key / params_.spec.chunk;
  }

  /// The row of a key, or value, which `cache` has.
  [[nodiscard]] std::span<const std::byte> row(const std::byte* cache,
                                               const DeviceSequence& sequence, std::int32_t key,
                                               std::int32_t head) const {
    const DeviceKvLayer& kv = params_.kv;
    const std::int64_t page = params_.spans.pages[sequence.first_page + key / kv.page_tokens];
    const std::int32_t kv_head = head / (params_.heads / kv.kv_heads);
    const std::int64_t row = (page * kv.kv_heads + kv_head) * kv.page_tokens + key % kv.page_tokens;
    const std::int64_t bytes = kv_row_bytes(kv.dtype, kv.head_size);
    return {cache + row * bytes, static_cast<std::size_t>(bytes)};
  }

  [[nodiscard]] double score(const DeviceSequence& sequence, std::int32_t token, std::int32_t head,
                             std::int32_t key) const {
    const std::int64_t size = params_.kv.head_size;
    const float* query = static_cast<const float*>(params_.queries.data) +
                         (sequence.first + token) * params_.queries.stride + head * size;
    const auto numbers = row(params_.kv.keys, sequence, key, head);
    double dot = 0;
    for (std::int32_t d = 0; d < size; ++d) {
      dot += double{query[d]} * kv_number(params_.kv.dtype, numbers, d);
    }
    double result = dot * double{params_.spec.scale};
    const double cap = params_.spec.soft_cap;
    if (cap > 0) result = cap * std::tanh(result / cap);
    const std::int32_t distance = key - (sequence.start + token);
    if (params_.alibi_slopes != nullptr) result += double{params_.alibi_slopes[head]} * distance;
    if (params_.relative_bias != nullptr) {
      result += double{params_.relative_bias[head * params_.spec.relative_buckets +
                                             buckets_.bucket_of(distance)]};
    }
    return result;
  }

  void attend(const DeviceSequence& sequence, std::int32_t token, std::int32_t head) const {
    const std::int64_t size = params_.kv.head_size;
    const std::int32_t position = sequence.start + token;
    const std::int32_t end = params_.spec.causal ? position + 1 : sequence.context;
    std::vector<std::int32_t> keys;
    std::vector<double> scores;
    double greatest = -HUGE_VAL;
    for (std::int32_t key = 0; key < end; ++key) {
      if (!sees(sequence, position, key)) continue;
      keys.push_back(key);
      scores.push_back(score(sequence, token, head, key));
      greatest = std::fmax(greatest, scores.back());
    }
    std::vector<double> sums(static_cast<std::size_t>(size));
    double total = 0;
    if (params_.sinks != nullptr && !keys.empty()) {
      greatest = std::fmax(greatest, double{params_.sinks[head]});
      total = std::exp(double{params_.sinks[head]} - greatest);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const double weight = std::exp(scores[i] - greatest);
      const auto numbers = row(params_.kv.values, sequence, keys[i], head);
      total += weight;
      for (std::int32_t d = 0; d < size; ++d) {
        sums[static_cast<std::size_t>(d)] += weight * kv_number(params_.kv.dtype, numbers, d);
      }
    }
    const std::int64_t out = (sequence.first + token) * params_.out.stride + head * size;
    for (std::int64_t d = 0; d < size; ++d) {
      write(out + d, keys.empty() ? 0.0 : sums[static_cast<std::size_t>(d)] / total);
    }
  }

  const CudaAttentionParams& params_;
  RelativeBuckets buckets_;
};

inline void attention_reference(const CudaAttentionParams& params) {
  AttentionReference(params).run();
}

}  // namespace weft::cuda
