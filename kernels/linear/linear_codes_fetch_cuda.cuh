#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/linear/linear_codes_consume_cuda.cuh"
#include "weft/kernels/linear/linear_codes_kinds_cuda.cuh"

/// kCodesFetched and kFlatFetched: as kCodes for few tokens, for every GPU from sm_80 on. The lanes
/// of some warps fetch units 16 bytes at a time (`cp.async`), and an mbarrier counts the lanes
/// whose fetches are complete. The launch sets the number of units in the ring, since GPUs differ
/// in their shared memory.
namespace weft::cuda::codes {

constexpr int kPieceBytes = 16;        // bytes of a fetch
constexpr int kPieceColumns = 8;       // tokens' columns of a fetch
constexpr int kLeastFetchedDepth = 2;  // units in the ring: one is multiplied, one is in flight
/// The most units in the ring. More units than cover the memory's latency would only delay the end
/// of the first fetches.
constexpr int kMostFetchedDepth = 8;
/// The most of a multiprocessor's shared memory that all blocks take together, as for kFlat.
constexpr int kMostFetchedBytes = 200 << 10;
/// Shared memory of a multiprocessor that the system reserves for each block.
constexpr int kReservedBytes = 1 << 10;
/// The least shared memory that a block can have on a GPU of sm_80 or later: on sm_86, sm_89 and
/// sm_120.
constexpr int kLeastBlockBytes = 99 << 10;

/// An encoding whose tokens are not converted: GPUs before sm_89 cannot convert FP8 to f16.
template <class Encoding>
struct Fetched : Encoding {
  static constexpr TokenForm kFewTokens = TokenForm::kNumbers;
};

struct FetchedProduct {
  CodesProduct product;  ///< `boxes` has the matrix, in boxes or in rows
  int rows;              ///< rows of the matrix
  const std::byte* inputs;
  int input_columns;
  int input_stride;  ///< bytes
  int depth;         ///< units in the ring
};

/// Threads that fetch. One warp alone on a multiprocessor was slower than the memory
/// (docs/log/2026-11.md).
template <class Sizes>
constexpr int kFetchers = Sizes::kBlocks == 1 ? 128 : 64;

/// A lane that fetches its share of each unit.
template <class Sizes>
class Fetcher {
 public:
  __device__ Fetcher(const Shared<Sizes>& shared, const FetchedProduct& of)
      : shared_(shared), of_(of), lane_(static_cast<int>(threadIdx.x) - kProducer) {}

  /// Fills the ring. Weights are constant, so fetching the first weights begins before the
  /// predecessor ends.
  __device__ void run() const {
    const Cut& cut = of_.product.cut;
    const unsigned begin = first_of(cut, blockIdx.x);
    const unsigned count = first_of(cut, blockIdx.x + 1) - begin;
    unsigned slot = 0;
    unsigned parity = 1;  // parity of a phase that has ended: slots are empty at first
    for (unsigned i = 0; i < count; ++i) {
      const unsigned tile = (begin + i) / cut.tile_units;
      const unsigned column = (begin + i) % cut.tile_units;
      wait(&shared_.empty[slot], parity);
      fetch_weights(shared_address(shared_.weights(slot)), tile, column);
      if (i == 0) wait_for_predecessor();
      fetch_tokens(shared_address(shared_.inputs(slot)), static_cast<int>(column) * kColumns);
      arrive_after_fetches(&shared_.full[slot]);
      if (++slot == shared_.depth) {
        slot = 0;
        parity ^= 1U;
      }
    }
  }

 private:
  using Encoding = typename Sizes::Encoding;
  static constexpr int kColumns = Encoding::kColumns;
  static constexpr int kRowBytes = Encoding::kRowBytes;
  static constexpr int kLanes = kFetchers<Sizes>;

  __device__ void fetch_weights(std::uint32_t to, unsigned tile, unsigned column) const {
    if constexpr (Encoding::kBoxed) {
      fetch_boxes(to, tile, column);
    } else {
      fetch_rows(to, static_cast<int>(tile), column);
    }
  }

  __device__ void fetch_boxes(std::uint32_t to, unsigned tile, unsigned column) const {
    constexpr int kBytes = kBoxRows * kRowBytes;
    static_assert(kBytes % kPieceBytes == 0);
    const CodesProduct& product = of_.product;
    const auto boxes = static_cast<unsigned>(product.outputs) / kBoxRows;
    const unsigned first = product.gated ? tile : 2 * tile;
    const unsigned second = product.gated ? boxes + tile : 2 * tile + 1;
    const auto fetch = [&](std::uint32_t place, unsigned box) {
      const std::byte* from =
          product.boxes + (std::size_t{box} * product.cut.tile_units + column) * kBytes;
#pragma unroll 8
      for (int at = lane_ * kPieceBytes; at < kBytes; at += kLanes * kPieceBytes) {
        fetch_bytes(place + at, from + at, kPieceBytes);
      }
    };
    fetch(to, first);
    if (product.gated || second < boxes) fetch(to + kBytes, second);
  }

  /// In a gated matrix the gates precede all ups, or they alternate if the tile has each gate
  /// beside its up.
  __device__ void fetch_rows(std::uint32_t to, int tile, unsigned column) const {
    const CodesProduct& product = of_.product;
    const bool apart = product.gated && Encoding::kGateDistance == kBoxRows;
    const int first = tile * (apart ? kBoxRows : kTileRows);
    const int second = apart ? first + product.outputs : first + kBoxRows;
    fetch_half(to, 0, first, column);
    fetch_half(to, kBoxRows, second, column);
  }

  /// Fetches half of a tile's rows: the matrix's rows from `first` on. Rows past the end become
  /// zeros.
  __device__ void fetch_half(std::uint32_t to, int row_in_tile, int first, unsigned column) const {
    constexpr int kPieces = kRowBytes / kPieceBytes;
    static_assert(kRowBytes % kPieceBytes == 0);
    const unsigned stride = of_.product.cut.tile_units * kRowBytes;
    const std::byte* from =
        of_.product.boxes + first * std::size_t{stride} + column * std::size_t{kRowBytes};
    const int rows = of_.rows - first;
#pragma unroll 6
    for (int i = lane_; i < kBoxRows * kPieces; i += kLanes) {
      const int row = i / kPieces;
      const int piece = i % kPieces;
      fetch_bytes(
          to + (row_in_tile + row) * kRowBytes + Encoding::place_of(row, piece) * kPieceBytes,
          from + row * stride + piece * kPieceBytes, row < rows ? kPieceBytes : 0);
    }
  }

  /// Fetches tokens; columns past the end become zeros.
  __device__ void fetch_tokens(std::uint32_t to, int first) const {
    constexpr int kPieces = kColumns / kPieceColumns;
    constexpr int kBoxPieces = Sizes::kBoxColumns / kPieceColumns;
#pragma unroll 2
    for (int i = lane_; i < of_.product.tokens * kPieces; i += kLanes) {
      const int token = i / kPieces;
      const int piece = i % kPieces;
      const int column = first + piece * kPieceColumns;
      const int bytes = min(max((of_.input_columns - column) * 2, 0), kPieceBytes);
      const int in_box = piece % kBoxPieces;
      const int place = Sizes::kSwizzled ? in_box ^ (token % kBoxPieces) : in_box;
      const std::byte* at = of_.inputs + std::size_t(token) * of_.input_stride;
      fetch_bytes(to + (piece / kBoxPieces * Sizes::kTokens + token) * Sizes::kBoxBytes +
                      place * kPieceBytes,
                  bytes > 0 ? at + column * 2 : at, bytes);
    }
  }

  const Shared<Sizes>& shared_;
  const FetchedProduct& of_;
  int lane_;
};

template <class Sizes>
constexpr int kFetchedThreads = kProducer + kFetchers<Sizes>;

/// Zeroes the ring's tokens if a box has more than the product. Missing tokens stay zero, because
/// no fetch writes there.
template <class Sizes>
__device__ void clear_tokens(const Shared<Sizes>& shared, int tokens) {
  if (tokens == Sizes::kTokens) return;
  for (unsigned slot = 0; slot < shared.depth; ++slot) {
    auto* to = reinterpret_cast<uint4*>(shared.inputs(slot));
    for (int i = static_cast<int>(threadIdx.x); i < Sizes::kInputBytes / kPieceBytes;
         i += kFetchedThreads<Sizes>) {
      to[i] = uint4{};
    }
  }
}

template <class Encoding, int kTokens>
__global__ void __launch_bounds__(kFetchedThreads<Layout<Encoding, kTokens>>,
                                  Layout<Encoding, kTokens>::kBlocks)
    fetched_kernel(const __grid_constant__ FetchedProduct of, const LinearEpilogue epilogue) {
  using Sizes = Layout<Encoding, kTokens>;
  WEFT_DYNAMIC_SHARED(std::byte, memory);
  const Shared<Sizes> shared(memory, static_cast<unsigned>(of.depth));
  if (threadIdx.x == kProducer) {
    for (unsigned slot = 0; slot < shared.depth; ++slot) {
      init_barrier(&shared.full[slot], kFetchers<Sizes>);
      init_barrier(&shared.empty[slot], kHalves * kRowWarps);
    }
    publish_barriers();
  }
  clear_tokens(shared, of.product.tokens);
  __syncthreads();
  let_successor_start();
  if (threadIdx.x >= kProducer) {
    Fetcher<Sizes>(shared, of).run();
  } else {
    consume<Sizes>(shared, of.product, epilogue);
  }
}

/// The number of a kernel's blocks that share a multiprocessor, and the depth of each block's ring.
template <class Sizes>
struct FetchedRing {
  constexpr explicit FetchedRing(const SharedLimits& limits) {
    while (blocks > 1 && depth_with(limits, blocks) < kLeastDepth) --blocks;
    depth = std::min(depth_with(limits, blocks), kMostFetchedDepth);
  }

  static constexpr int depth_with(const SharedLimits& limits, int blocks) {
    const int all = std::min(limits.of_processor, kMostFetchedBytes);
    return Sizes::depth_in(std::min(limits.of_block, all / blocks - kReservedBytes));
  }
  [[nodiscard]] constexpr bool fits() const { return depth >= kLeastFetchedDepth; }
  [[nodiscard]] constexpr int bytes() const { return depth * Sizes::kStageBytes + Sizes::kRest; }

  int blocks = Sizes::kBlocks;
  int depth = 0;
};

template <class Encoding, int kTokens>
Status prepare_fetched_kernel(const SharedLimits& limits) {
  return status_of(cudaFuncSetAttribute(fetched_kernel<Encoding, kTokens>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        limits.of_block));
}

template <class Encoding, int kTokens>
Status start_fetched(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  using Sizes = Layout<Encoding, kTokens>;
  const DeviceMatrix& weight = params.weight;
  const bool is_plain = !weight.keeps_blocks();
  const FetchedRing<Sizes> ring(device.shared);
  const std::int64_t columns = is_plain ? weight.stride : weight.inputs;
  const std::int64_t all = is_plain ? weight.rows() : (weight.gated ? 2 : 1) * weight.outputs;
  const Cut cut{.units = static_cast<unsigned>(tiles_of(weight) * (columns / Encoding::kColumns)),
                .tile_units = static_cast<unsigned>(columns / Encoding::kColumns)};
  const FetchedProduct product{
      .product = {.cut = cut,
                  .tokens = static_cast<int>(params.rows),
                  .outputs = static_cast<int>(weight.outputs),
                  .gated = weight.gated,
                  .boxes = is_plain ? weight.data : weight.runs[0].data,
                  .meeting = {reinterpret_cast<unsigned*>(params.workspace),
                              reinterpret_cast<float4*>(params.workspace + kLinearCounterBytes)},
                  .token_tiles = 1,
                  .whole = false},
      .rows = static_cast<int>(all),
      .inputs = static_cast<const std::byte*>(params.in.data),
      .input_columns = static_cast<int>(weight.inputs),
      .input_stride = static_cast<int>(params.in.stride * 2),
      .depth = ring.depth};
  const auto most = static_cast<unsigned>(device.processors * ring.blocks);
  return launch(fetched_kernel<Encoding, kTokens>, dim3(std::min(cut.units, most)),
                dim3(kFetchedThreads<Sizes>), static_cast<std::size_t>(ring.bytes()), stream,
                product, LinearEpilogue(params));
}

/// Multiplies kTokens rows at a time, always with the same kernel, so that a row's bits do not
/// depend on the part that it falls into. Norms are supported for at most kTokens rows.
template <class Encoding, int kTokens>
Status start_all_fetched(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  Status status = Status::kSuccess;
  for (std::int64_t row = 0; row < params.rows && status == Status::kSuccess; row += kTokens) {
    CudaLinearParams part = params;
    part.rows = std::min<std::int64_t>(params.rows - row, kTokens);
    part.in = from_row(params.in, row);
    part.residual = from_row(params.residual, row);
    part.out = from_row(params.out, row);
    status = start_fetched<Encoding, kTokens>(part, device, stream);
  }
  return status;
}

template <class Plain>
Status prepare_fetched(const SharedLimits& limits) {
  using Encoding = Fetched<Plain>;
  static_assert(
      FetchedRing<Layout<Encoding, 16>>({kLeastBlockBytes, kLeastBlockBytes + kReservedBytes})
          .fits(),
      "up to 16 rows fit the shared memory of every GPU");
  static_assert(kMaxNormedFetchedTokens <= 16, "products with norms are one launch");
  using Prepare = Status (*)(const SharedLimits& limits);
  Status status = Status::kSuccess;
  for (const Prepare prepare :
       {prepare_fetched_kernel<Encoding, 8>, prepare_fetched_kernel<Encoding, 16>,
        prepare_fetched_kernel<Encoding, 32>}) {
    if (status == Status::kSuccess) status = prepare(limits);
  }
  return status;
}

template <class Plain>
Status run_fetched(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  using Encoding = Fetched<Plain>;
  const auto run = params.rows <= 8 ? start_fetched<Encoding, 8>
                   : params.rows <= 16 || !FetchedRing<Layout<Encoding, 32>>(device.shared).fits()
                       ? start_all_fetched<Encoding, 16>
                       : start_all_fetched<Encoding, 32>;
  return run(params, device, stream);
}

}  // namespace weft::cuda::codes
