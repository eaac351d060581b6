#include <algorithm>
#include <cstdint>

#include "weft/kernels/cuda/hopper_cuda.cuh"
#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/linear/linear_adapters_cuda.cuh"
#include "weft/kernels/linear/linear_cut_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"
#include "weft/kernels/linear/linear_outputs_cuda.cuh"
#include "weft/kernels/linear/linear_ways_cuda.cuh"

/// The flat product of FlashDecoding++ (arXiv 2311.01282, section 4) with Hopper's instructions.
/// Tokens are padded to 8 only, because they are the n side of the tensor cores' products. The
/// weights stream through a ring in shared memory that is deep enough to hide the memory's latency.
///
/// linear_cut_cuda.cuh cuts units among the multiprocessors.
namespace weft::cuda {
namespace {

constexpr int kBoxes = 2;        // boxes of a unit; one box for each wait cost 2% of the whole
constexpr int kBoxColumns = 64;  // 128 bytes, the widest swizzle
constexpr int kUnitColumns = kBoxes * kBoxColumns;
constexpr int kGroups = 2;      // warpgroups that multiply
constexpr int kGroupRows = 64;  // the m of a warpgroup's product
constexpr int kTileRows = kGroups * kGroupRows;
constexpr int kGroupThreads = 128;
constexpr int kProducer = kGroups * kGroupThreads;  // first thread of the warp that loads
constexpr int kThreads = kProducer + 32;
constexpr int kAdapterWarps = 4;  // warps after these, if the product has adapters

/// Shared memory that a block takes of a multiprocessor's 227 KiB. Small kernels run beside this
/// one in the rest.
constexpr int kSharedBytes = 200 << 10;
constexpr int kSwizzleBytes = 1024;  // alignment of swizzled memory

template <int kTokens>
struct Layout {
  static constexpr int kWeightBytes = kTileRows * kUnitColumns * 2;
  static constexpr int kInputBytes = kTokens * kUnitColumns * 2;
  static constexpr int kStageBytes = kWeightBytes + kInputBytes;
  static constexpr int kStagedTokens = std::min(kTokens, 32);
  static constexpr int kStagedStride = kGroupRows + 4;  // no two lanes write to one bank
  static constexpr int kStagedBytes = kGroups * kStagedTokens * kStagedStride * 4;
  static constexpr int kRootsBytes = kGroups * kTokens * 4;
  static constexpr int kRest = kSwizzleBytes + kStagedBytes + kRootsBytes + 512;  // with barriers
  static constexpr int kDepth = (kSharedBytes - kRest) / kStageBytes;
  static constexpr int kBytes = kDepth * kStageBytes + kRest;
  static constexpr bool kAdapts = kTokens <= kMaxAdaptedTokens;
  using Room = AdapterRoom<kTokens, kGroupRows>;
  static constexpr int kMostThreads = kThreads + (kAdapts ? kAdapterWarps * 32 : 0);
  static constexpr int kMostBytes = kBytes + (kAdapts ? static_cast<int>(sizeof(Room)) : 0);
};

struct FlatProduct {
  Cut cut;
  int tokens;
  bool gated;
  CutSums meeting;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <int kTokens>
struct Shared {
  using Sizes = Layout<kTokens>;
  __device__ explicit Shared(std::byte* memory)
      : stages(memory + (kSwizzleBytes - shared_address(memory) % kSwizzleBytes) % kSwizzleBytes),
        staged(reinterpret_cast<float*>(stages + Sizes::kDepth * Sizes::kStageBytes)),
        roots(staged + Sizes::kStagedBytes / 4),
        full(reinterpret_cast<Barrier*>(roots + kGroups * kTokens)),
        empty(full + Sizes::kDepth) {}

  __device__ std::byte* weights(unsigned slot) const { return stages + slot * Sizes::kStageBytes; }
  __device__ std::byte* inputs(unsigned slot) const { return weights(slot) + Sizes::kWeightBytes; }

  std::byte* stages;
  float* staged;   ///< by group, [kStagedTokens, kStagedStride]
  float* roots;    ///< by group, [kTokens], of NormBefore
  Barrier* full;   ///< by slot: the unit is loaded
  Barrier* empty;  ///< by slot: all warps have read the unit
};

/// Fills the ring. Weights are constant, so loading the first stages' weights begins before the
/// predecessor ends.
template <int kTokens>
__device__ void produce(const Shared<kTokens>& shared, const Cut& cut, const CUtensorMap* weights,
                        const CUtensorMap* inputs) {
  using Sizes = Layout<kTokens>;
  const unsigned first = first_of(cut, blockIdx.x);
  const unsigned count = first_of(cut, blockIdx.x + 1) - first;
  const unsigned ahead = min(count, static_cast<unsigned>(Sizes::kDepth));
  unsigned tile = first / cut.tile_units;
  unsigned column = first % cut.tile_units;
  const auto load_weights = [&](unsigned slot) {
    arrive_expecting(&shared.full[slot], Sizes::kStageBytes);
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
      copy_box(shared.weights(slot) + box * (Sizes::kWeightBytes / kBoxes), weights,
               column * kUnitColumns + box * kBoxColumns, tile * kTileRows, &shared.full[slot],
               CacheHint::kEvictFirst);
    }
  };
  const auto load_inputs = [&](unsigned slot, unsigned at) {
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
      copy_box(shared.inputs(slot) + box * (Sizes::kInputBytes / kBoxes), inputs,
               at * kUnitColumns + box * kBoxColumns, 0, &shared.full[slot], CacheHint::kEvictLast);
    }
  };
  const auto advance = [&] {
    if (++column == cut.tile_units) {
      column = 0;
      ++tile;
    }
  };

  unsigned input_column = column;
  for (unsigned i = 0; i < ahead; ++i) {
    load_weights(i);
    advance();
  }
  wait_for_predecessor();
  for (unsigned i = 0; i < ahead; ++i) {
    load_inputs(i, input_column);
    if (++input_column == cut.tile_units) input_column = 0;
  }
  unsigned slot = 0;
  unsigned parity = 0;
  for (unsigned i = ahead; i < count; ++i) {
    wait(&shared.empty[slot], parity);
    load_weights(slot);
    load_inputs(slot, column);
    advance();
    if (++slot == Sizes::kDepth) {
      slot = 0;
      parity ^= 1U;
    }
  }
}

/// A warpgroup's position in the ring.
struct Position {
  unsigned slot = 0;
  unsigned parity = 0;
};

/// Computes the sums of `count` units, from zero.
template <class Number, int kTokens>
__device__ void multiply(const Shared<kTokens>& shared, unsigned count, int group,
                         Position& position, float (&sums)[kTokens / 2]) {
  using Sizes = Layout<kTokens>;
  constexpr int kStep = 16;  // the k of a product: 32 bytes of a row
  const bool signals = threadIdx.x % 32 == 0;
  unsigned before = 0;
  for (unsigned i = 0; i < count; ++i) {
    wait(&shared.full[position.slot], position.parity);
    const std::byte* weights = shared.weights(position.slot) + group * (kGroupRows * 128);
    const std::byte* inputs = shared.inputs(position.slot);
    begin_products();
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
      const std::uint64_t left = matrix_descriptor(weights + box * (Sizes::kWeightBytes / kBoxes));
      const std::uint64_t right = matrix_descriptor(inputs + box * (Sizes::kInputBytes / kBoxes));
#pragma unroll
      for (int k = 0; k < kBoxColumns / kStep; ++k) {
        const int add = box + k > 0 || i > 0;
        WarpgroupProduct<Number, kTokens>::add(sums, left + k * (kStep * 2 / 16),
                                               right + k * (kStep * 2 / 16), add);
      }
    }
    commit_products();
    wait_products<1>();
    if (i > 0 && signals) arrive(&shared.empty[before]);
    before = position.slot;
    if (++position.slot == Sizes::kDepth) {
      position.slot = 0;
      position.parity ^= 1U;
    }
  }
  wait_products<0>();
  if (signals) arrive(&shared.empty[before]);
}

/// Whether a block reads biases and residuals of the first outputs before it adds up the parts'
/// sums. With more tokens the sums need the registers.
template <int kTokens>
constexpr bool kReadsAhead = kTokens / 2 <= kFewSums;

template <int kTokens>
using Outputs = FourOutputs<kGroupRows, Layout<kTokens>::kStagedTokens,
                            Layout<kTokens>::kStagedStride, kGroupThreads, kGateBlock, true>;

/// Computes the epilogue and writes outputs through shared memory, so that neighbouring threads
/// write neighbouring outputs. `addends` belong to the first tokens, if they are read ahead.
template <int kTokens, class Added>
__device__ void finish(const Shared<kTokens>& shared, const FlatProduct& product, int group,
                       const float (&sums)[kTokens / 2], Added& added,
                       const Outputs<kTokens>& outputs,
                       const typename Outputs<kTokens>::Addends& addends) {
  using Sizes = Layout<kTokens>;
  const int thread = threadIdx.x % kGroupThreads;
  const int row = thread / 32 * 16 + thread % 32 / 4;
  const int pair = thread % 4 * 2;
  float* staged = shared.staged + group * (Sizes::kStagedTokens * Sizes::kStagedStride);
  const float* roots = shared.roots + group * kTokens;
  const int tile_row = group * kGroupRows + row;
  added.wait();
#pragma unroll 1
  for (int first = 0; first < kTokens && first < product.tokens; first += Sizes::kStagedTokens) {
    meet(1 + group, kGroupThreads);
#pragma unroll
    for (int i = 0; i < kTokens / 8; ++i) {
      if (i * 8 / Sizes::kStagedTokens * Sizes::kStagedTokens != first) continue;
      float* at = staged + (i * 8 % Sizes::kStagedTokens + pair) * Sizes::kStagedStride + row;
      const float root = roots[i * 8 + pair];
      const float next_root = roots[i * 8 + pair + 1];
      const int token = i * 8 + pair;
      at[0] = (sums[4 * i] + added.of(token, tile_row)) * root;
      at[Sizes::kStagedStride] = (sums[4 * i + 1] + added.of(token + 1, tile_row)) * next_root;
      at[8] = (sums[4 * i + 2] + added.of(token, tile_row + 8)) * root;
      at[Sizes::kStagedStride + 8] =
          (sums[4 * i + 3] + added.of(token + 1, tile_row + 8)) * next_root;
    }
    meet(1 + group, kGroupThreads);
    const int count = min(Sizes::kStagedTokens, product.tokens - first);
    if constexpr (kReadsAhead<kTokens>) {
      outputs.write(first, count, addends);
    } else {
      outputs.write(first, count);
    }
  }
  added.release();
}

template <class Number, int kTokens, class Added>
__device__ void consume(const Shared<kTokens>& shared, const FlatProduct& product,
                        const LinearEpilogue& epilogue, Added added) {
  const Cut& cut = product.cut;
  const int group = threadIdx.x / kGroupThreads;
  const unsigned end = first_of(cut, blockIdx.x + 1);
  const int thread = threadIdx.x % kGroupThreads;
  Position position;
  epilogue.fetch_norm_weights(first_of(cut, blockIdx.x) / cut.tile_units * kTileRows, 2 * kTileRows,
                              static_cast<int>(threadIdx.x));
  wait_for_predecessor();
  for (unsigned unit = first_of(cut, blockIdx.x); unit < end;) {
    const unsigned tile = unit / cut.tile_units;
    const unsigned tile_end = (tile + 1) * cut.tile_units;
    const unsigned part_end = min(end, tile_end);
    float sums[kTokens / 2];
    multiply<Number, kTokens>(shared, part_end - unit, group, position, sums);
    const bool whole = unit == tile_end - cut.tile_units && part_end == tile_end;
    // While the other blocks' parts are in flight.
    const Outputs<kTokens> outputs(
        shared.staged + group * (Layout<kTokens>::kStagedTokens * Layout<kTokens>::kStagedStride),
        product.gated, epilogue, tile * kGroups + group, thread);
    typename Outputs<kTokens>::Addends addends{};
    if (finishes(cut, tile)) {
      if (kReadsAhead<kTokens> && !product.gated) addends = outputs.addends_of(0, product.tokens);
      epilogue.load_roots<kGroupThreads, kTokens>(thread, product.tokens,
                                                  shared.roots + group * kTokens);
    }
    if (whole ||
        put_together<kGroups, kGroupThreads>(cut, product.meeting, tile, group, thread, sums)) {
      finish<kTokens>(shared, product, group, sums, added, outputs, addends);
    }
    unit = part_end;
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <class Number, int kTokens>
__global__ void __launch_bounds__(Layout<kTokens>::kMostThreads, 1)
    flat_kernel(const __grid_constant__ CUtensorMap weights,
                const __grid_constant__ CUtensorMap inputs, const FlatProduct product,
                const LinearEpilogue epilogue, const __grid_constant__ AdapterWork adapters) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Sizes = Layout<kTokens>;
  WEFT_DYNAMIC_SHARED(std::byte, memory);
  const Shared<kTokens> shared(memory);
  auto* const room = reinterpret_cast<typename Sizes::Room*>(memory + Sizes::kBytes);
  if (threadIdx.x == kProducer) {
    prefetch_map(&weights);
    prefetch_map(&inputs);
    for (int slot = 0; slot < Sizes::kDepth; ++slot) {
      init_barrier(&shared.full[slot], 1);
      init_barrier(&shared.empty[slot], kProducer / 32);
    }
    if (Sizes::kAdapts && adapters.is_there()) room->init(kAdapterWarps, kProducer / 32);
    publish_barriers();
  }
  __syncthreads();
  let_successor_start();
  if (threadIdx.x >= kThreads) {
    if constexpr (Sizes::kAdapts) {
      add_adapters<kAdapterWarps, kGateBlock>(adapters, product.cut, *room,
                                              static_cast<int>(threadIdx.x - kThreads) / 32);
    }
  } else if (threadIdx.x >= kProducer) {
    if (threadIdx.x == kProducer) produce<kTokens>(shared, product.cut, &weights, &inputs);
  } else if constexpr (Sizes::kAdapts) {
    consume<Number, kTokens>(shared, product, epilogue,
                             AddedSums(adapters.is_there() ? room : nullptr));
  } else {
    consume<Number, kTokens>(shared, product, epilogue, NothingAdded{});
  }
#endif
}

/// Copies row rows[i] of `from` to row i of `to`; a row has `words` words of 16 bytes.
__global__ void gather_kernel(const uint4* from, const std::int32_t* rows, uint4* to, int words) {
  let_successor_start();
  wait_for_predecessor();
  const uint4* source = from + std::int64_t{rows[blockIdx.x]} * words;
  uint4* target = to + std::int64_t{blockIdx.x} * words;
  for (int i = threadIdx.x; i < words; i += blockDim.x) target[i] = source[i];
}

Status encode(TensorMapEncoder encoder, CUtensorMap& map, DType dtype, const void* data,
              std::int64_t columns, std::int64_t rows, std::int64_t stride, int box_rows) {
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(stride) * 2};
  const cuuint32_t box[] = {kBoxColumns, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[] = {1, 1};
  const CUresult result = encoder(
      &map,
      dtype == DType::kF16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
      const_cast<void*>(data), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? Status::kSuccess : status_of(cudaErrorInvalidValue);
}

Cut cut_of(const DeviceMatrix& weight) {
  const std::int64_t tiles = (weight.rows() + kTileRows - 1) / kTileRows;
  const std::int64_t columns = (weight.inputs + kUnitColumns - 1) / kUnitColumns;
  return {.units = static_cast<unsigned>(tiles * columns),
          .tile_units = static_cast<unsigned>(columns)};
}

template <class Number, int kTokens>
Status start(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  const DeviceMatrix& weight = params.weight;
  CUtensorMap weights;
  CUtensorMap inputs;
  Status status = encode(device.encoder, weights, weight.dtype, weight.data, weight.stride,
                         weight.rows(), weight.stride, kTileRows);
  if (status != Status::kSuccess) return status;
  status = encode(device.encoder, inputs, weight.dtype, params.in.data, weight.inputs, params.rows,
                  params.in.stride, kTokens);
  if (status != Status::kSuccess) return status;
  const FlatProduct product{
      .cut = cut_of(weight),
      .tokens = static_cast<int>(params.rows),
      .gated = weight.gated,
      .meeting = {reinterpret_cast<unsigned*>(params.workspace),
                  reinterpret_cast<float4*>(params.workspace + kLinearCounterBytes)}};
  const auto blocks = std::min(product.cut.units, static_cast<unsigned>(device.processors));
  using Sizes = Layout<kTokens>;
  const AdapterWork adapters(params);
  return launch(flat_kernel<Number, kTokens>, dim3(blocks),
                dim3(adapters.is_there() ? Sizes::kMostThreads : kThreads),
                adapters.is_there() ? Sizes::kMostBytes : Sizes::kBytes, stream, weights, inputs,
                product, LinearEpilogue(params), adapters);
}

template <class Number>
Status start(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  if (params.rows <= 8) return start<Number, 8>(params, device, stream);
  if (params.rows <= 16) return start<Number, 16>(params, device, stream);
  if (params.rows <= 32) return start<Number, 32>(params, device, stream);
  if (params.rows <= 64) return start<Number, 64>(params, device, stream);
  return start<Number, 128>(params, device, stream);
}

template <class Number, int kTokens>
Status allow_shared() {
  return status_of(cudaFuncSetAttribute(flat_kernel<Number, kTokens>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        Layout<kTokens>::kMostBytes));
}

template <class Number, int... kTokens>
Status allow_all_shared() {
  Status status = Status::kSuccess;
  ((status = status == Status::kSuccess ? allow_shared<Number, kTokens>() : status), ...);
  return status;
}

}  // namespace

Status prepare_flat() {
  const Status status = allow_all_shared<__nv_bfloat16, 8, 16, 32, 64, 128>();
  return status == Status::kSuccess ? allow_all_shared<__half, 8, 16, 32, 64, 128>() : status;
}

bool fits_flat(const DeviceMatrix& weight) {
  constexpr std::int64_t kMaxUnits = std::int64_t{1} << 24U;  // times processors this fits 32 bits
  const std::int64_t tiles = (weight.rows() + kTileRows - 1) / kTileRows;
  const std::int64_t columns = (weight.inputs + kUnitColumns - 1) / kUnitColumns;
  return tiles * kGroups * static_cast<std::int64_t>(sizeof(unsigned)) <=
             static_cast<std::int64_t>(kTileCounterBytes) &&
         columns <= kMaxUnits / tiles;
}

Status linear_flat(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  return params.weight.dtype == DType::kF16 ? start<__half>(params, device, stream)
                                            : start<__nv_bfloat16>(params, device, stream);
}

Status gather_rows(const DeviceRows& from, const std::int32_t* rows, std::int64_t count, void* to,
                   Stream stream) {
  constexpr int kGatherThreads = 128;
  const auto words = static_cast<int>(from.stride * 2 / static_cast<int>(sizeof(uint4)));
  return launch(gather_kernel, dim3(static_cast<unsigned>(count)), dim3(kGatherThreads), 0, stream,
                static_cast<const uint4*>(from.data), rows, static_cast<uint4*>(to), words);
}

}  // namespace weft::cuda
