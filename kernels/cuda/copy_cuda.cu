#include <algorithm>

#include "weft/kernels/cuda/copy_cuda.h"
#include "weft/kernels/cuda/launch_cuda.cuh"

namespace weft::cuda {
namespace {

constexpr int kThreads = 256;
// Loads in flight for each thread.
constexpr int kUnroll = 4;
// Enough thread blocks to fill today's devices; with fewer pages than this a page is split.
constexpr int kManyBlocks = 1024;
constexpr int kMostParts = 8;
constexpr int kMostCopiesAtOnce = 65535;  // the limit of a grid's second dimension

__global__ void __launch_bounds__(kThreads) write_tables_kernel(CudaTableParams params) {
  let_successor_start();
  wait_for_predecessor();
  const TableWrite write = params.writes[blockIdx.x];
  std::int32_t* to = params.tables + write.table + write.first;
  const std::int32_t* from = params.pages + write.first_page;
  for (int i = threadIdx.x; i < write.count; i += kThreads) to[i] = from[i];
}

/// This block's part of `count` words.
template <class Word>
__device__ void copy_words(const std::byte* from, std::byte* to, std::int64_t count) {
  const auto* source = reinterpret_cast<const Word*>(from);
  auto* target = reinterpret_cast<Word*>(to);
  const std::int64_t step = std::int64_t{gridDim.z} * kThreads;
  std::int64_t at = std::int64_t{blockIdx.z} * kThreads + threadIdx.x;
  for (; at + (kUnroll - 1) * step < count; at += kUnroll * step) {
    Word words[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) words[i] = source[at + i * step];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) target[at + i * step] = words[i];
  }
  for (; at < count; at += step) target[at] = source[at];
}

__device__ std::byte* page_of(const PageBlocks& blocks, std::int32_t page, std::int32_t pages) {
  return page < pages ? blocks.data + page * blocks.bytes
                      : blocks.host + (page - pages) * blocks.bytes;
}

__global__ void __launch_bounds__(kThreads) copy_pages_kernel(CudaPageCopyParams params) {
  let_successor_start();
  wait_for_predecessor();
  const PageBlocks blocks = params.blocks[blockIdx.x];
  for (int c = static_cast<int>(blockIdx.y); c < params.copy_count;
       c += static_cast<int>(gridDim.y)) {
    const PageCopy copy = params.copies[c];
    const std::byte* from = page_of(blocks, copy.from, params.pages);
    std::byte* to = page_of(blocks, copy.to, params.pages);
    if (blocks.bytes % 16 == 0) {
      copy_words<uint4>(from, to, blocks.bytes / 16);
    } else if (blocks.bytes % 4 == 0) {
      copy_words<unsigned>(from, to, blocks.bytes / 4);
    } else {
      copy_words<std::byte>(from, to, blocks.bytes);
    }
  }
}

}  // namespace

Status write_tables(const CudaTableParams& params, Stream stream) {
  if (params.write_count == 0) return Status::kSuccess;
  return launch(write_tables_kernel, dim3(static_cast<unsigned>(params.write_count)),
                dim3(kThreads), 0, stream, params);
}

Status copy_pages(const CudaPageCopyParams& params, Stream stream) {
  if (params.block_count == 0 || params.copy_count == 0) return Status::kSuccess;
  const int copies = std::min(params.copy_count, kMostCopiesAtOnce);
  const std::int64_t pages = std::int64_t{params.block_count} * copies;
  const auto parts = std::clamp<std::int64_t>(kManyBlocks / pages, 1, kMostParts);
  const dim3 grid(static_cast<unsigned>(params.block_count), static_cast<unsigned>(copies),
                  static_cast<unsigned>(parts));
  return launch(copy_pages_kernel, grid, dim3(kThreads), 0, stream, params);
}

}  // namespace weft::cuda
