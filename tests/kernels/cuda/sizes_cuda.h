#pragma once

#include <initializer_list>
#include <vector>

/// Sizes of tests that run on a GPU and, a thousand times as slowly, on the host (tests/cuda_host).
namespace weft::cuda {

#ifdef WEFT_CUDA_HOST
inline constexpr bool kOnHost = true;
#else
inline constexpr bool kOnHost = false;
#endif

template <class T>
[[nodiscard]] constexpr T test_size(T on_gpu, T on_host) {
  return kOnHost ? on_host : on_gpu;
}

/// Returns what a test goes through.
template <class T>
[[nodiscard]] std::vector<T> test_sizes(std::initializer_list<T> on_gpu,
                                        std::initializer_list<T> on_host) {
  return kOnHost ? on_host : on_gpu;
}

}  // namespace weft::cuda
