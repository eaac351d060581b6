#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

/// Instructions of sm_80 and later as functions; hopper_cuda.cuh has the instructions of sm_90a.
/// Names are as in the PTX manual, chapter 9.7. Besides these two files only peer_sum_cuda.cu has
/// asm statements, so only these two differ where kernels run on the host (tests/cuda_host).
namespace weft::cuda {

/// Waits until this kernel can see everything that the preceding kernels in the stream have
/// written. Every kernel calls it before it touches memory that is not constant (weights are
/// constant). Every thread that reads or writes such memory calls it.
__device__ inline void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel's blocks start wherever there is room. They wait for this kernel's end
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

/// Returns the instance of a shared variable in block `rank` of the cluster.
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

/// Declares `name`, an array of `type` in the shared memory whose size the launch sets. It is a
/// macro because functions for several types would declare one variable with several types.
#define WEFT_DYNAMIC_SHARED(type, name) extern __shared__ type name[]

/// Returns the address of a pointer within shared memory.
__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline void store_shared(std::uint32_t to, std::uint32_t first, std::uint32_t second) {
  asm volatile("st.shared.v2.b32 [%0], {%1,%2};" ::"r"(to), "r"(first), "r"(second) : "memory");
}

/// Reads a value and makes visible what its writer wrote before it.
__device__ inline unsigned read_acquiring(const unsigned* from) {
  unsigned value = 0;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

/// Reads memory that other blocks write concurrently by write_relaxed(). It orders no other
/// accesses.
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

/// Keeps the compiler from using a number before the preceding asm statements, such as the wait for
/// the products that compute it.
__device__ inline float settled(float number) {
  asm volatile("" : "+f"(number));
  return number;
}

/// Prefetches the line at an address to the second-level cache.
__device__ inline void prefetch_line(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

/// Copies 16 bytes to shared memory asynchronously; writes zeros if not `present`.
__device__ inline void fetch_16_bytes(std::uint32_t to, const std::byte* from, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(to), "l"(from), "r"(present ? 16 : 0)
               : "memory");
}

__device__ inline void end_fetch_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until at most kLeft of this thread's groups are unfinished.
template <int kLeft>
__device__ void wait_for_fetches() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

/// Copies the first `bytes` of 16 bytes to shared memory asynchronously, and fills the rest with
/// zeros.
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

/// Makes initialized barriers visible. Call it after init_barrier() and before other threads or
/// copies use the barriers.
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

/// Arrives as soon as all fetches that this thread has issued are complete.
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

/// Waits at a named barrier for `threads` threads, in whole warps; `id` is 1 .. 15.
__device__ inline void meet(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Loads four 8 x 8 matrices; each lane passes the address of one of their 32 rows.
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

/// sums [16, 8] += A [16, 16] B [8, 16]^T. Lane l holds rows l / 4 and l / 4 + 8 of the sums and of
/// A, and columns 2 * (l % 4) and the next of the sums.
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

/// Returns 2^x with the hardware's instruction.
__device__ inline float exp2_fast(float x) {
  float result = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// Converts four numbers of FP8 (e4m3) to f16, in their order. For sm_90 and later.
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

/// Rounds four numbers to FP8 (e4m3), the first into the lowest byte. Numbers beyond 448 become
/// 448. For sm_90 and later.
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
