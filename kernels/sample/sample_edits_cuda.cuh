#pragma once

#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/sample/sample_cuda.h"

/// The steps that change logits: biases, masks, penalties.
namespace weft::cuda {

__device__ inline bool masks_stops(const SampleSettings& settings, const SampleItem& item) {
  return item.output_tokens < settings.min_tokens && settings.stops > 0;
}

__device__ inline bool edits_logits(const SampleSettings& settings, const SampleItem& item) {
  return item.mask >= 0 || settings.biases > 0 || settings.bad > 0 || settings.allowed > 0 ||
         settings.counts || masks_stops(settings, item);
}

/// Edits a block's part of a row, tokens [begin, end), which no other block reads or writes.
class LogitEditor {
 public:
  __device__ LogitEditor(float* logits, int begin, int end)
      : logits_(logits), begin_(begin), end_(end) {}

  /// Copies the logits. Tokens whose bit in `mask` is not set become -inf; null: no mask.
  __device__ void copy(const float* from, const std::uint32_t* mask) {
    for (int i = first(); i < end_; i += kAtOnce * step()) {
      float logits[kAtOnce];
      std::uint32_t words[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        const int at = i + j * step();
        logits[j] = is_in(at) ? from[at] : 0;
        words[j] = mask != nullptr && is_in(at) ? mask[at / kBits] : ~0U;
      }
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        const int at = i + j * step();
        const bool is_allowed = (words[j] >> (at % kBits) & 1U) != 0;
        if (is_in(at)) logits_[at] = is_allowed ? logits[j] : -INFINITY;
      }
    }
    __syncthreads();
  }

  /// If a token has several entries, its first entry adds all of their biases, in order.
  __device__ void add_biases(const TokenId* tokens, const float* biases, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      const TokenId token = tokens[i];
      if (!is_own(token)) continue;
      bool is_first = true;
      for (int other = 0; other < i && is_first; ++other) is_first = tokens[other] != token;
      if (!is_first) continue;
      float logit = logits_[token] + biases[i];
      for (int other = i + 1; other < count; ++other) {
        if (tokens[other] == token) logit += biases[other];
      }
      logits_[token] = logit;
    }
    __syncthreads();
  }

  __device__ void mask(const TokenId* tokens, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      if (is_own(tokens[i])) logits_[tokens[i]] = -INFINITY;
    }
    __syncthreads();
  }

  __device__ void mask_all_but(const TokenId* tokens, int count) {
    constexpr int kOwn = kMaxTokenList / 512;  // entries of a thread, in the smallest block
    float kept[kOwn];
    const auto each = [&](const auto& body) {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int at = static_cast<int>(threadIdx.x + i * blockDim.x);
        if (at < count && is_own(tokens[at])) body(kept[i], logits_[tokens[at]]);
      }
      __syncthreads();
    };
    each([](float& own, float& logit) { own = logit; });
    for (int i = first(); i < end_; i += blockDim.x) logits_[i] = -INFINITY;
    __syncthreads();
    each([](float& own, float& logit) { logit = own; });
  }

  __device__ void penalize(const SampleSettings& settings, const std::uint32_t* counts) {
    for (int i = first(); i < end_; i += kAtOnce * step()) {
      std::uint32_t count[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j)
        count[j] = is_in(i + j * step()) ? counts[i + j * step()] : 0;
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        if (count[j] != 0) penalize(settings, count[j], logits_[i + j * step()]);
      }
    }
    __syncthreads();
  }

 private:
  static constexpr int kAtOnce = 8;  // reads that a thread has in flight
  static constexpr int kBits = 32;   // bits of a mask's word

  static __device__ void penalize(const SampleSettings& settings, std::uint32_t count,
                                  float& place) {
    float logit = place;
    logit = logit > 0 ? logit / settings.repetition : logit * settings.repetition;
    const std::uint32_t output = count & 0x7fffffffU;
    if (output > 0) logit -= settings.frequency * static_cast<float>(output) + settings.presence;
    place = logit;
  }

  [[nodiscard]] __device__ int first() const { return begin_ + static_cast<int>(threadIdx.x); }
  [[nodiscard]] static __device__ int step() { return static_cast<int>(blockDim.x); }
  [[nodiscard]] __device__ bool is_in(int at) const { return at < end_; }
  [[nodiscard]] __device__ bool is_own(TokenId token) const {
    return token >= begin_ && token < end_;
  }

  float* logits_;
  int begin_;
  int end_;
};

}  // namespace weft::cuda
