#pragma once

// Stands in for the kernels' header of this name: the same functions, on the host.

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "weft/kernels/cuda/instructions_cuda.cuh"

namespace weft::cuda {

inline void arrive_expecting(Barrier* barrier, std::uint32_t bytes) {
  cuda_host::arrive(barrier, bytes);
}

enum class CacheHint : std::uint64_t { kEvictFirst, kEvictLast };

inline void copy_box(void* to, const CUtensorMap* map, std::int32_t column, std::int32_t row,
                     Barrier* barrier, CacheHint /*hint*/) {
  cuda_host::copy_box_later(to, *map, 2, {column, row}, barrier);
}
inline void copy_box_to_both(void* to, const CUtensorMap* map, std::int32_t column,
                             std::int32_t row, Barrier* barrier, CacheHint /*hint*/) {
  cuda_host::copy_box_to_both_later(to, *map, {column, row}, barrier);
}
inline void arrive_in_block(int rank, Barrier* barrier) {
  cuda_host::do_later_in(rank, [barrier] { cuda_host::arrive(barrier, 0); });
}
inline void copy_deep_box(void* to, const CUtensorMap* map, std::int32_t last, Barrier* barrier,
                          CacheHint /*hint*/) {
  cuda_host::copy_box_later(to, *map, 5, {0, 0, 0, 0, last}, barrier);
}
inline void copy_bytes(void* to, const void* from, std::uint32_t bytes, Barrier* barrier,
                       CacheHint /*hint*/) {
  cuda_host::copy_bytes_later(to, from, bytes, barrier);
}
inline void prefetch_map(const CUtensorMap* /*map*/) {}

template <int kCount>
void give_registers() {}
template <int kCount>
void take_registers() {}

/// Where a matrix begins in shared memory, in units of 16 bytes.
inline std::uint64_t matrix_descriptor(const void* at) { return shared_address(at) / 16; }

inline void publish_to_products() {}
inline void begin_products() {}
inline void commit_products() { cuda_host::pending_products().end_group(); }
template <int kPending>
void wait_products() {
  cuda_host::pending_products().wait(kPending);
  // A warp goes on together: what one lane then tells others to overwrite, all lanes have read.
  cuda_host::meet_lanes("wgmma.wait_group", 0xffffffffU, nullptr,
                        [](void* const(&)[32], std::uint32_t) {});
}

template <class Number, int kColumns>
struct WarpgroupProduct {
  static void add(float (&sums)[kColumns / 2], std::uint64_t left, std::uint64_t right, int add) {
    constexpr auto kFromBits = std::is_same_v<Number, __half> ? from_f16 : from_bf16;
    cuda_host::multiply_warpgroup_later(kFromBits, sums, kColumns / 2, left, right, add != 0);
  }
  static void add(float (&sums)[kColumns / 2], const std::uint32_t (&left)[4], std::uint64_t right,
                  int add) {
    constexpr auto kFromBits = std::is_same_v<Number, __half> ? from_f16 : from_bf16;
    cuda_host::multiply_warpgroup_later(kFromBits, sums, kColumns / 2, left, right, add != 0);
  }
};

struct E4m3;

template <int kColumns>
struct WarpgroupProduct<E4m3, kColumns> {
  static void add(float (&sums)[kColumns / 2], std::uint64_t left, std::uint64_t right, int add) {
    constexpr cuda_host::FromByte kFromByte = from_e4m3;
    cuda_host::multiply_warpgroup_later(kFromByte, sums, kColumns / 2, left, right, add != 0);
  }
};

}  // namespace weft::cuda
