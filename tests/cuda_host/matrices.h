#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

/// Instructions over matrices and asynchronous copies, for the stand-ins.
namespace weft::cuda_host {

using FromBits = float (*)(std::uint16_t bits);
using FromByte = float (*)(std::uint8_t bits);

/// mma.m16n8k16, by the lanes of a warp together.
void multiply_warp(FromBits from_bits, float (&sums)[4], const std::uint32_t (&a)[4],
                   std::uint32_t b0, std::uint32_t b1);

/// ldmatrix.x4, and with `turned` .trans.
void load_four_matrices(std::uint32_t (&to)[4], std::uint32_t address, bool turned);

/// cp.async of 16 bytes.
void fetch_later(std::uint32_t to, const std::byte* from, int bytes);

/// The thread's part of wgmma.m64nNk16, N = 2 * count; the operands are addresses of shared memory
/// in units of 16 bytes, of matrices in rows of 64 with the 128-byte swizzle.
void multiply_warpgroup_later(FromBits from_bits, float* sums, int count, std::uint64_t left,
                              std::uint64_t right, bool add);

/// As the first, of wgmma.m64nNk32 with numbers of 8 bits in rows of 128.
void multiply_warpgroup_later(FromByte from_byte, float* sums, int count, std::uint64_t left,
                              std::uint64_t right, bool add);

/// With the left operand in the registers of the lanes, which all call it.
void multiply_warpgroup_later(FromBits from_bits, float* sums, int count,
                              const std::uint32_t (&left)[4], std::uint64_t right, bool add);

/// Barriers of shared memory (mbarrier). Their bits are not CUDA's.
void init_barrier(std::uint64_t* barrier, std::uint32_t arrivals);
void arrive(std::uint64_t* barrier, std::uint32_t expected_bytes);
/// Arrives after the running thread's fetches.
void arrive_after_fetches(std::uint64_t* barrier);
void wait(std::uint64_t* barrier, std::uint32_t parity);

/// Where a box begins in a tensor.
using BoxPlace = std::array<std::int32_t, CUtensorMap::kMostRank>;

/// Bulk copies to shared memory, which happen some time later. `rank` is that of the instruction.
void copy_box_later(void* to, const CUtensorMap& map, std::uint32_t rank, const BoxPlace& place,
                    std::uint64_t* barrier);
/// To both blocks of a cluster.
void copy_box_to_both_later(void* to, const CUtensorMap& map, const BoxPlace& place,
                            std::uint64_t* barrier);
void copy_bytes_later(void* to, const void* from, std::uint32_t bytes, std::uint64_t* barrier);

}  // namespace weft::cuda_host
