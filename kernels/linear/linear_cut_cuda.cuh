#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/instructions_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"

/// Stream-K (arXiv 2301.03598) for products whose weights stream through shared memory. A unit is a
/// block of columns of a tile of rows. Units are cut evenly among the blocks of a launch; the parts
/// of a tile that was cut meet in the workspace, and the first of its blocks adds them up in the
/// order of their columns. The cut does not depend on the number of tokens, so neither do a row's
/// bits.
namespace weft::cuda {

/// The units of a product. Units times blocks fits 32 bits.
struct Cut {
  unsigned units;       ///< numbered tile by tile
  unsigned tile_units;  ///< units of one tile, along K
};

/// The most sums of a thread that are exchanged as words, without a counter.
constexpr int kFewSums = 8;

/// Where the parts of a tile meet: CudaLinearParams::workspace.
struct CutSums {
  /// The memory for few sums of a thread, each as word_of(), laid out as `partials`. It is zero
  /// between launches.
  [[nodiscard]] __device__ uint4* words() const {
    return reinterpret_cast<uint4*>(reinterpret_cast<std::byte*>(counters) + kTileCounterBytes);
  }

  unsigned* counters;  ///< by group of rows of a tile
  float4* partials;    ///< [blocks, groups of a tile, sums / 4, threads of a group]
};

__device__ inline unsigned first_of(const Cut& cut, unsigned block) {
  return block * cut.units / gridDim.x;
}
__device__ inline unsigned owner_of(const Cut& cut, unsigned unit) {
  return ((unit + 1) * gridDim.x - 1) / cut.units;
}

/// Returns whether this block finishes a tile. It then adds the other blocks' parts to its own.
__device__ inline bool finishes(const Cut& cut, unsigned tile) {
  return blockIdx.x == owner_of(cut, tile * cut.tile_units);
}

/// Returns a sum as a word that is never 0, so a nonzero word means that the sum has been written.
/// The NaN whose word would be 0 becomes another NaN.
__device__ inline std::uint32_t word_of(float sum) {
  constexpr std::uint32_t kNan = 0x7fffffff;
  const std::uint32_t word = ~__float_as_uint(settled(sum));
  return word == 0 ? ~kNan : word;
}
__device__ inline float sum_of(std::uint32_t word) { return __uint_as_float(~word); }

/// Writes a thread's sums of a tile that another block finishes.
template <int kThreads, int kSums>
__device__ void leave_part(uint4* part, const float (&sums)[kSums]) {
#pragma unroll
  for (int i = 0; i < kSums / 4; ++i) {
    write_relaxed(part + i * kThreads,
                  make_uint4(word_of(sums[4 * i]), word_of(sums[4 * i + 1]),
                             word_of(sums[4 * i + 2]), word_of(sums[4 * i + 3])));
  }
}

/// Waits for the sums of `count` parts, at most kTogether, which lie `stride` apart. Adds them in
/// their order and leaves zeros in their place.
template <int kThreads, int kTogether, int kSums>
__device__ void take_parts(uint4* parts, std::size_t stride, unsigned count, float (&sums)[kSums]) {
  constexpr int kQuads = kSums / 4;
  uint4 found[kTogether][kQuads];
  for (bool complete = false; !complete;) {
    complete = true;
#pragma unroll
    for (int p = 0; p < kTogether; ++p) {
      const uint4* part = parts + min(static_cast<unsigned>(p), count - 1) * stride;
#pragma unroll
      for (int i = 0; i < kQuads; ++i) found[p][i] = read_relaxed(part + i * kThreads);
    }
#pragma unroll
    for (int p = 0; p < kTogether; ++p) {
#pragma unroll
      for (int i = 0; i < kQuads; ++i) {
        const uint4& four = found[p][i];
        complete = complete && four.x != 0 && four.y != 0 && four.z != 0 && four.w != 0;
      }
    }
  }
#pragma unroll
  for (int p = 0; p < kTogether; ++p) {
    if (static_cast<unsigned>(p) >= count) continue;
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      write_relaxed(parts + p * stride + i * kThreads, make_uint4(0, 0, 0, 0));
      sums[4 * i] += sum_of(found[p][i].x);
      sums[4 * i + 1] += sum_of(found[p][i].y);
      sums[4 * i + 2] += sum_of(found[p][i].z);
      sums[4 * i + 3] += sum_of(found[p][i].w);
    }
  }
}

/// put_together() for few sums. A nonzero word means that a sum is written, so a block waits
/// neither for its own writes nor for a counter. Waiting threads take time from threads that
/// multiply, so this is slower for more sums.
template <int kGroups, int kThreads, int kSums>
__device__ bool put_words_together(const Cut& cut, const CutSums& meeting, unsigned tile, int group,
                                   int thread, float (&sums)[kSums]) {
  constexpr int kQuads = kSums / 4;
  constexpr unsigned kTogether = kQuads == 1 ? 4 : 2;  // parts in flight
  constexpr std::size_t kPart = std::size_t{kQuads} * kThreads;
  const auto part_of = [&](unsigned block) {
    return meeting.words() + std::size_t{block * kGroups + group} * kPart + thread;
  };
  const unsigned begin = owner_of(cut, tile * cut.tile_units);
  const unsigned end = owner_of(cut, (tile + 1) * cut.tile_units - 1);
  if (blockIdx.x != begin) {
    leave_part<kThreads>(part_of(blockIdx.x), sums);
    return false;
  }
  for (unsigned block = begin + 1; block <= end; block += kTogether) {
    take_parts<kThreads, kTogether>(part_of(block), kGroups * kPart,
                                    min(end + 1 - block, kTogether), sums);
  }
  meet(1 + group, kThreads);
  return true;
}

/// put_together() for more sums: a counter counts the parts that are written.
template <int kGroups, int kThreads, int kSums>
__device__ bool put_counted_together(const Cut& cut, const CutSums& meeting, unsigned tile,
                                     int group, int thread, float (&sums)[kSums]) {
  constexpr int kQuads = kSums / 4;
  constexpr unsigned kTogether = kQuads >= 4 ? 1 : kQuads >= 2 ? 2 : 4;  // parts in flight
  const auto part_of = [&](unsigned block) {
    return meeting.partials + std::size_t{block * kGroups + group} * (kQuads * kThreads) + thread;
  };
  const unsigned begin = owner_of(cut, tile * cut.tile_units);
  const unsigned end = owner_of(cut, (tile + 1) * cut.tile_units - 1);
  unsigned* counter = meeting.counters + tile * kGroups + group;
  if (blockIdx.x != begin) {
    float4* part = part_of(blockIdx.x);
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      __stcg(part + i * kThreads,
             make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]));
    }
    meet(1 + group, kThreads);
    if (thread == 0) {
      __threadfence();
      atomicAdd(counter, 1U);
    }
    return false;
  }

  if (thread == 0) {
    while (read_acquiring(counter) != end - begin) {
    }
    *counter = 0;
  }
  meet(1 + group, kThreads);
  for (unsigned block = begin + 1; block <= end; block += kTogether) {
    float4 found[kTogether][kQuads];
#pragma unroll
    for (unsigned p = 0; p < kTogether; ++p) {
      const float4* part = part_of(min(block + p, end));
#pragma unroll
      for (int i = 0; i < kQuads; ++i) found[p][i] = __ldcg(part + i * kThreads);
    }
#pragma unroll
    for (unsigned p = 0; p < kTogether; ++p) {
      if (block + p > end) continue;
#pragma unroll
      for (int i = 0; i < kQuads; ++i) {
        sums[4 * i] += found[p][i].x;
        sums[4 * i + 1] += found[p][i].y;
        sums[4 * i + 2] += found[p][i].z;
        sums[4 * i + 3] += found[p][i].w;
      }
    }
  }
  return true;
}

/// Adds up the rows of a tile that blocks share. kThreads threads hold them; `thread` is the
/// caller's index among these. `group` is one of the tile's kGroups groups and uses barrier 1 +
/// group. The tile is the last tile of the first block. This block waits for the others' sums, adds
/// them to its own in the order of their columns and returns true. The other blocks leave their
/// sums in the workspace and go on. Waiting for later blocks is safe, because a launch has only as
/// many blocks as run at once.
template <int kGroups, int kThreads, int kSums>
__device__ bool put_together(const Cut& cut, const CutSums& meeting, unsigned tile, int group,
                             int thread, float (&sums)[kSums]) {
  if constexpr (kSums <= kFewSums) {
    return put_words_together<kGroups, kThreads>(cut, meeting, tile, group, thread, sums);
  } else {
    return put_counted_together<kGroups, kThreads>(cut, meeting, tile, group, thread, sums);
  }
}

}  // namespace weft::cuda
