#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

/// Instructions of sm_80 and later as functions; hopper_cuda.cuh has those of sm_90a. Names as in
/// the PTX manual, chapter 9.7. But for peer_sum_cuda.cu no other file has asm statements, so that
/// these two are all that is different where kernels run on the host (tests/cuda_host).
namespace weft::cuda {

/// Waits until all that the kernels before it in the stream have written can be seen. Every kernel
/// calls it before it touches what is not constant (weights are), and every thread that reads or
/// writes such memory.
__device__ inline void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The next kernel's blocks may be started wherever there is room; they wait for this one's end
/// before they read what it writes.
__device__ inline void let_successor_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Waits for all threads of the blocks of a cluster. Only sm_90 and later have clusters.
__device__ inline void meet_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
#endif
}

/// The same variable in the shared memory of block `rank` of the cluster.
template <class T>
__device__ inline T& in_block_of_cluster(int rank, T& variable) {
#if __CUDA_ARCH__ >= 900
  unsigned long long address;
  asm("mapa.u64 %0, %1, %2;"
      : "=l"(address)
      : "l"(reinterpret_cast<unsigned long long>(&variable)), "r"(rank));
  return *reinterpret_cast<T*>(address);
#else
  return variable;
#endif
}

/// Declares `name`, numbers of `type`: the shared memory whose size the launch names. A macro,
/// since functions for several types would declare one variable of several types.
#define WEFT_DYNAMIC_SHARED(type, name) extern __shared__ type name[]

/// The address of shared memory within it.
__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline void store_shared(std::uint32_t to, std::uint32_t first, std::uint32_t second) {
  asm volatile("st.shared.v2.b32 [%0], {%1,%2};" ::"r"(to), "r"(first), "r"(second) : "memory");
}

/// Sees all that was written before what is read here was.
__device__ inline unsigned read_acquiring(const unsigned* from) {
  unsigned value = 0;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

/// Reads what other blocks write meanwhile, by write_relaxed(). Orders nothing else.
__device__ inline uint4 read_relaxed(const uint4* from) {
  uint4 value;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from)
               : "memory");
  return value;
}
__device__ inline void write_relaxed(uint4* to, uint4 value) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

/// Keeps the compiler from computing with a number before the asm statements above, such as the
/// wait for products that make it.
__device__ inline float settled(float number) {
  asm volatile("" : "+f"(number));
  return number;
}

/// Asks for the line of the second-level cache that this is in.
__device__ inline void prefetch_line(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

/// 16 bytes to shared memory without waiting for them; zeros if not `present`.
__device__ inline void fetch_16_bytes(std::uint32_t to, const std::byte* from, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(to), "l"(from), "r"(present ? 16 : 0)
               : "memory");
}

__device__ inline void end_fetch_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until no more than kLeft of this thread's groups are under way.
template <int kLeft>
__device__ void wait_for_fetches() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

/// The first `bytes` of 16 bytes to shared memory without waiting for them, and zeros behind them.
__device__ inline void fetch_bytes(std::uint32_t to, const std::byte* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(to), "l"(from), "r"(bytes)
               : "memory");
}

using Barrier = std::uint64_t;  ///< in shared memory

__device__ inline void init_barrier(Barrier* barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

/// Call it after init_barrier and before other threads or copies use the barriers.
__device__ inline void publish_barriers() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ inline void arrive(Barrier* barrier) {
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(
                   shared_address(barrier))
               : "memory");
}

/// Arrives once all that this thread has fetched so far is there.
__device__ inline void arrive_after_fetches(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

/// Waits until the phase of this parity has ended.
__device__ inline void wait(Barrier* barrier, std::uint32_t parity) {
#if __CUDA_ARCH__ >= 900
#define WEFT_ASK_BARRIER "mbarrier.try_wait.parity.shared::cta.b64"  // sleeps for a while
#else
#define WEFT_ASK_BARRIER "mbarrier.test_wait.parity.shared.b64"
#endif
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile("{\n.reg .pred p;\n" WEFT_ASK_BARRIER
                 " p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}\n"
                 : "=r"(done)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
  }
#undef WEFT_ASK_BARRIER
}

/// A barrier of `threads` threads, in whole warps; `id` is 1 .. 15.
__device__ inline void meet(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Four 8 x 8 matrices; each lane gives the address of one of their 32 rows.
__device__ inline void load_matrices(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

__device__ inline void load_matrices_turned(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// sums [16, 8] += A [16, 16] B [8, 16]^T. Lane l holds columns 2 * (l % 4) and the next of rows
/// l / 4 and l / 4 + 8 of the sums, and the same rows of A.
template <class Number>
__device__ void multiply_add(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                             std::uint32_t b1);

template <>
__device__ inline void multiply_add<__half>(float (&sums)[4], const std::uint32_t (&a)[4],
                                            std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void multiply_add<__nv_bfloat16>(float (&sums)[4], const std::uint32_t (&a)[4],
                                                   std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// 2^x, which is what the hardware has.
__device__ inline float exp2_fast(float x) {
  float result = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// Four numbers of FP8 (e4m3) as f16, in their order. For sm_90 and later.
__device__ inline void halves_of_e4m3(std::uint32_t four, std::uint32_t& first,
                                      std::uint32_t& second) {
#if __CUDA_ARCH__ >= 900
  asm("{\n"
      ".reg .b16 lower, upper;\n"
      "mov.b32 {lower, upper}, %2;\n"
      "cvt.rn.f16x2.e4m3x2 %0, lower;\n"
      "cvt.rn.f16x2.e4m3x2 %1, upper;\n"
      "}\n"
      : "=r"(first), "=r"(second)
      : "r"(four));
#endif
}

/// Four numbers rounded to FP8 (e4m3), the first in the lowest byte; those beyond 448 become 448.
/// For sm_90 and later.
__device__ inline std::uint32_t e4m3_of(float first, float second, float third, float fourth) {
  std::uint32_t four = 0;
#if __CUDA_ARCH__ >= 900
  asm("{\n"
      ".reg .b16 lower, upper;\n"
      "cvt.rn.satfinite.e4m3x2.f32 lower, %2, %1;\n"
      "cvt.rn.satfinite.e4m3x2.f32 upper, %4, %3;\n"
      "mov.b32 %0, {lower, upper};\n"
      "}\n"
      : "=r"(four)
      : "f"(first), "f"(second), "f"(third), "f"(fourth));
#endif
  return four;
}

}  // namespace weft::cuda
