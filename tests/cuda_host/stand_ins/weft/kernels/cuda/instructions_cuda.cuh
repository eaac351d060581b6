#pragma once

// Stands in for the kernels' header of this name: the same functions, on the host.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/cuda_host/machine.h"
#include "weft/tests/cuda_host/matrices.h"
#include "weft/tests/cuda_host/shared_memory.h"

namespace weft::cuda {

// Launches run one after the other.
inline void wait_for_predecessor() {}
inline void let_successor_start() {}

inline void meet_cluster() { cuda_host::meet_blocks(); }

template <class T>
T& in_block_of_cluster(int rank, T& variable) {
  return *static_cast<T*>(cuda_host::in_block(rank, &variable));
}

#define __align__(bytes)
#define WEFT_DYNAMIC_SHARED(type, name) \
  type* const name = reinterpret_cast<type*>(::weft::cuda_host::SharedMemory::instance().dynamic())

inline std::uint32_t shared_address(const void* pointer) {
  return cuda_host::SharedMemory::instance().address_of(pointer);
}

inline void store_shared(std::uint32_t to, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t words[] = {first, second};
  if (to % sizeof(words) != 0) cuda_host::report("two words to an address of no multiple of 8");
  std::memcpy(cuda_host::SharedMemory::instance().at(to), words, sizeof(words));
}

/// Kernels call it until another block has written the number that they wait for. Another number
/// than the one before is returned at once: a thread that waited first might miss the last change.
inline unsigned read_acquiring(const unsigned* from) { return cuda_host::read_changed(from); }

/// Kernels call it until another block has written numbers that are not 0.
inline uint4 read_relaxed(const uint4* from) {
  const bool is_written = from->x != 0 && from->y != 0 && from->z != 0 && from->w != 0;
  if (!is_written) cuda_host::let_others_run("another block's numbers");
  return *from;
}
inline void write_relaxed(uint4* to, uint4 value) {
  cuda_host::note_change();
  *to = value;
}

inline float settled(float number) { return number; }

inline void prefetch_line(const void* /*at*/) {}

inline void fetch_16_bytes(std::uint32_t to, const std::byte* from, bool present) {
  cuda_host::fetch_later(to, from, present ? 16 : 0);
}
inline void fetch_bytes(std::uint32_t to, const std::byte* from, int bytes) {
  cuda_host::fetch_later(to, from, bytes);
}
inline void end_fetch_group() { cuda_host::pending_fetches().end_group(); }
template <int kLeft>
void wait_for_fetches() {
  cuda_host::pending_fetches().wait(kLeft);
}

using Barrier = std::uint64_t;

inline void init_barrier(Barrier* barrier, std::uint32_t arrivals) {
  cuda_host::init_barrier(barrier, arrivals);
}
inline void publish_barriers() {}
inline void arrive(Barrier* barrier) { cuda_host::arrive(barrier, 0); }
inline void arrive_after_fetches(Barrier* barrier) { cuda_host::arrive_after_fetches(barrier); }
inline void wait(Barrier* barrier, std::uint32_t parity) { cuda_host::wait(barrier, parity); }

inline void meet(int id, int threads) { cuda_host::meet_some(id, threads); }

inline void load_matrices(std::uint32_t (&to)[4], std::uint32_t address) {
  cuda_host::load_four_matrices(to, address, false);
}
inline void load_matrices_turned(std::uint32_t (&to)[4], std::uint32_t address) {
  cuda_host::load_four_matrices(to, address, true);
}

template <class Number>
void multiply_add(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                  std::uint32_t b1);
template <>
inline void multiply_add<__half>(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                 std::uint32_t b1) {
  cuda_host::multiply_warp(from_f16, sums, a, b0, b1);
}
template <>
inline void multiply_add<__nv_bfloat16>(float (&sums)[4], const std::uint32_t (&a)[4],
                                        std::uint32_t b0, std::uint32_t b1) {
  cuda_host::multiply_warp(from_bf16, sums, a, b0, b1);
}

inline float exp2_fast(float x) {
  const float result = std::exp2(x);
  return std::fpclassify(result) == FP_SUBNORMAL ? 0.0F : result;
}

inline void halves_of_e4m3(std::uint32_t four, std::uint32_t& first, std::uint32_t& second) {
  const auto half = [four](unsigned i) -> std::uint32_t {
    return to_f16(from_e4m3(static_cast<std::uint8_t>(four >> 8 * i)));
  };
  first = half(0) | half(1) << 16U;
  second = half(2) | half(3) << 16U;
}

inline std::uint32_t e4m3_of(float first, float second, float third, float fourth) {
  constexpr float kGreatest = 448;
  const auto code = [](float number) -> std::uint32_t {
    return to_e4m3(number > kGreatest ? kGreatest : number < -kGreatest ? -kGreatest : number);
  };
  return code(first) | code(second) << 8U | code(third) << 16U | code(fourth) << 24U;
}

}  // namespace weft::cuda
