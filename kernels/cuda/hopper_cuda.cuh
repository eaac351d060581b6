#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "weft/kernels/cuda/instructions_cuda.cuh"

/// Instructions of sm_90a as functions: the bulk tensor copy engine (TMA) with its barriers, and a
/// warpgroup's matrix products. Names as in the PTX manual, chapter 9.7.
namespace weft::cuda {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Arrives at the barrier. The phase ends only after this many bytes have been copied.
__device__ inline void arrive_expecting(Barrier* barrier, std::uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

/// How the second-level cache treats a copy's lines: results of createpolicy, which are the same
/// on every sm_90.
enum class CacheHint : std::uint64_t {
  kEvictFirst = 0x12f0000000000000,
  kEvictLast = 0x14f0000000000000,
};

/// Copies a box of a tensor map to shared memory; `barrier` counts its bytes. Elements outside the
/// tensor become zeros.
__device__ inline void copy_box(void* to, const CUtensorMap* map, std::int32_t column,
                                std::int32_t row, Barrier* barrier, CacheHint hint) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)),
      "l"(static_cast<std::uint64_t>(hint))
      : "memory");
}

/// As copy_box(), but to the same address in both blocks of a cluster; each block's own barrier
/// counts the bytes.
__device__ inline void copy_box_to_both(void* to, const CUtensorMap* map, std::int32_t column,
                                        std::int32_t row, Barrier* barrier, CacheHint hint) {
  constexpr std::uint16_t kBoth = 3;
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(
          shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)), "h"(kBoth),
      "l"(static_cast<std::uint64_t>(hint))
      : "memory");
}

/// Arrives at the barrier of the same name in block `rank` of the cluster.
__device__ inline void arrive_in_block(int rank, Barrier* barrier) {
  asm volatile(
      "{\n"
      ".reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}

/// As copy_box(), for a tensor of five dimensions: copies the box at `last` of the fifth dimension
/// and at the beginning of the other four.
__device__ inline void copy_deep_box(void* to, const CUtensorMap* map, std::int32_t last,
                                     Barrier* barrier, CacheHint hint) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%2, %2, %2, %2, %3}], [%4], %5;" ::"r"(shared_address(to)),
      "l"(map), "r"(0), "r"(last), "r"(shared_address(barrier)),
      "l"(static_cast<std::uint64_t>(hint))
      : "memory");
}

/// Copies contiguous bytes to shared memory. `barrier` counts them. Both addresses and the number
/// of bytes are multiples of 16.
__device__ inline void copy_bytes(void* to, const void* from, std::uint32_t bytes, Barrier* barrier,
                                  CacheHint hint) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(static_cast<std::uint64_t>(hint))
      : "memory");
}

__device__ inline void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// All threads of a warpgroup call these, to release registers to other warpgroups of the block or
/// to take released ones. Each thread has `kCount` registers afterwards, a multiple of 8.
template <int kCount>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

/// Describes a matrix in shared memory, K fastest: 16-bit numbers in rows of 64 with the 128-byte
/// swizzle, or 8-bit numbers in rows of 128. Groups of 8 rows are 1024 bytes apart.
__device__ inline std::uint64_t matrix_descriptor(const void* at) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62U;
  constexpr std::uint64_t kGroupStride = std::uint64_t{1024 >> 4} << 32U;
  constexpr std::uint64_t kUnusedStride = std::uint64_t{1} << 16U;
  return kSwizzle128 | kGroupStride | kUnusedStride | (shared_address(at) & 0x3ffffU) >> 4U;
}

/// Orders the calling thread's writes to shared memory before products that read them. The thread
/// calls it before it signals other threads that the data is ready.
__device__ inline void publish_to_products() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Orders earlier accesses to registers and shared memory before the products that follow.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most `kPending` committed groups are unfinished.
template <int kPending>
__device__ inline void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// clang-format off
#define WEFT_REGISTERS_4 "%0, %1, %2, %3"
#define WEFT_REGISTERS_8 WEFT_REGISTERS_4 ", %4, %5, %6, %7"
#define WEFT_REGISTERS_16 WEFT_REGISTERS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define WEFT_REGISTERS_32 WEFT_REGISTERS_16 \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WEFT_REGISTERS_64 WEFT_REGISTERS_32 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WEFT_REGISTERS_128 WEFT_REGISTERS_64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109" \
  ", %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122" \
  ", %123, %124, %125, %126, %127"
#define WEFT_SUMS_4(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define WEFT_SUMS_8(i) WEFT_SUMS_4(i), WEFT_SUMS_4(i + 4)
#define WEFT_SUMS_16(i) WEFT_SUMS_8(i), WEFT_SUMS_8(i + 8)
#define WEFT_SUMS_32(i) WEFT_SUMS_16(i), WEFT_SUMS_16(i + 16)
#define WEFT_SUMS_64(i) WEFT_SUMS_32(i), WEFT_SUMS_32(i + 32)
#define WEFT_SUMS_128(i) WEFT_SUMS_64(i), WEFT_SUMS_64(i + 64)
// clang-format on

/// sums [64, kColumns] (+)= A [64, 16] B [kColumns, 16]^T, asynchronously, by a warpgroup. In each
/// 8 columns, thread t holds {row, row, row + 8, row + 8} with row = t / 32 * 16 + t % 32 / 4, in
/// columns t % 4 * 2 and the next. If `add` is 0, the old sums do not count. A is in shared memory
/// or in registers. In registers, thread t has the same rows: columns t % 4 * 2 and the next, then
/// the two columns 8 further. These registers must not change before the product has ended.
template <class Number, int kColumns>
struct WarpgroupProduct;

#define WEFT_WARPGROUP_PRODUCT(number, type, columns, count, a, b, c, d, e, f)                 \
  template <>                                                                                  \
  struct WarpgroupProduct<number, columns> {                                                   \
    static __device__ void add(float (&sums)[count], std::uint64_t left, std::uint64_t right,  \
                               int add) {                                                      \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #c                                     \
                   ", 0;\n"                                                                    \
                   "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type       \
                   " {" WEFT_REGISTERS_##count "}, %" #a ", %" #b ", p, 1, 1, 0, 0;\n}\n"      \
                   : WEFT_SUMS_##count(0)                                                      \
                   : "l"(left), "l"(right), "r"(add));                                         \
    }                                                                                          \
    static __device__ void add(float (&sums)[count], const std::uint32_t (&left)[4],           \
                               std::uint64_t right, int add) {                                 \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #f                                     \
                   ", 0;\n"                                                                    \
                   "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type       \
                   " {" WEFT_REGISTERS_##count "}, {%" #a ", %" #b ", %" #c ", %" #d "}, %" #e \
                                               ", p, 1, 1, 0;\n}\n"                            \
                   : WEFT_SUMS_##count(0)                                                      \
                   : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right),       \
                     "r"(add));                                                                \
    }                                                                                          \
  };

WEFT_WARPGROUP_PRODUCT(__nv_bfloat16, "bf16", 8, 4, 4, 5, 6, 7, 8, 9)
WEFT_WARPGROUP_PRODUCT(__nv_bfloat16, "bf16", 16, 8, 8, 9, 10, 11, 12, 13)
WEFT_WARPGROUP_PRODUCT(__nv_bfloat16, "bf16", 32, 16, 16, 17, 18, 19, 20, 21)
WEFT_WARPGROUP_PRODUCT(__nv_bfloat16, "bf16", 64, 32, 32, 33, 34, 35, 36, 37)
WEFT_WARPGROUP_PRODUCT(__nv_bfloat16, "bf16", 128, 64, 64, 65, 66, 67, 68, 69)
WEFT_WARPGROUP_PRODUCT(__nv_bfloat16, "bf16", 256, 128, 128, 129, 130, 131, 132, 133)
WEFT_WARPGROUP_PRODUCT(__half, "f16", 8, 4, 4, 5, 6, 7, 8, 9)
WEFT_WARPGROUP_PRODUCT(__half, "f16", 16, 8, 8, 9, 10, 11, 12, 13)
WEFT_WARPGROUP_PRODUCT(__half, "f16", 32, 16, 16, 17, 18, 19, 20, 21)
WEFT_WARPGROUP_PRODUCT(__half, "f16", 64, 32, 32, 33, 34, 35, 36, 37)
WEFT_WARPGROUP_PRODUCT(__half, "f16", 128, 64, 64, 65, 66, 67, 68, 69)

/// The Number of WarpgroupProduct for FP8 (e4m3). Both operands are in shared memory, and a product
/// has 32 columns of K. Its sums have fewer digits than f32.
struct E4m3;

#define WEFT_E4M3_PRODUCT(columns, count, a, b, c)                                            \
  template <>                                                                                 \
  struct WarpgroupProduct<E4m3, columns> {                                                    \
    static __device__ void add(float (&sums)[count], std::uint64_t left, std::uint64_t right, \
                               int add) {                                                     \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #c                                    \
                   ", 0;\n"                                                                   \
                   "wgmma.mma_async.sync.aligned.m64n" #columns                               \
                   "k32.f32.e4m3.e4m3"                                                        \
                   " {" WEFT_REGISTERS_##count "}, %" #a ", %" #b ", p, 1, 1;\n}\n"           \
                   : WEFT_SUMS_##count(0)                                                     \
                   : "l"(left), "l"(right), "r"(add));                                        \
    }                                                                                         \
  };

WEFT_E4M3_PRODUCT(32, 16, 16, 17, 18)
WEFT_E4M3_PRODUCT(64, 32, 32, 33, 34)
WEFT_E4M3_PRODUCT(128, 64, 64, 65, 66)

#undef WEFT_E4M3_PRODUCT
#undef WEFT_WARPGROUP_PRODUCT
#undef WEFT_SUMS_128
#undef WEFT_SUMS_64
#undef WEFT_SUMS_32
#undef WEFT_SUMS_16
#undef WEFT_SUMS_8
#undef WEFT_SUMS_4
#undef WEFT_REGISTERS_128
#undef WEFT_REGISTERS_64
#undef WEFT_REGISTERS_32
#undef WEFT_REGISTERS_16
#undef WEFT_REGISTERS_8
#undef WEFT_REGISTERS_4

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda
