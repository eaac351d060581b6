#include <algorithm>
#include <cstdint>

#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/linear/linear_rounded_output_cuda.cuh"
#include "weft/kernels/linear/linear_rounded_rows_cuda.cuh"
#include "weft/kernels/linear/linear_rounded_tile_cuda.cuh"
#include "weft/kernels/linear/linear_ways_cuda.cuh"

/// Products in which rows and weights are codes of FP8. Two warpgroups multiply 64 outputs each by
/// all tokens of a tile. `wgmma` adds up products of e4m3 with fewer digits than f32 has, so that
/// the sums of each 128 columns are added to sums in f32 under their scales, as DeepSeek-V3 does
/// (arXiv 2412.19437, section 3.3.2). Up to kMaxCutTokens tokens, units are cut among the
/// multiprocessors by linear_cut_cuda.cuh; with more, clusters of two blocks take tiles in turn.
namespace weft::cuda {
namespace rounded {
namespace {

/// The most tokens of a tile that is cut. With more tokens, adding up the parts of the sums takes
/// longer than computing them.
constexpr std::int64_t kMaxCutTokens = kMaxFlatTokens;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Adds to `sums` the products of a slot's tokens first .. first + kPass - 1, where `first` is
/// kPass * pass.
template <class Sizes>
__device__ void add_pass(const Shared<Sizes>& shared, unsigned slot, int pass,
                         float (&sums)[Sizes::kTokens / 2]) {
  constexpr int kSteps = kUnitColumns / 32;
  constexpr int kStepBytes = 32;
  constexpr int kPass = Sizes::kPass;
  const std::uint64_t left =
      matrix_descriptor(shared.codes(slot) + SumRows::warpgroup() * kBoxCodes);
  const std::uint64_t right = matrix_descriptor(shared.tokens(slot) + pass * kPass * kUnitColumns);
  float part[kPass / 2];
  begin_products();
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    WarpgroupProduct<E4m3, kPass>::add(part, left + k * (kStepBytes / 16),
                                       right + k * (kStepBytes / 16), k > 0);
  }
  commit_products();
  const float* of_rows =
      shared.weight_scales(slot) + SumRows::warpgroup() * kBoxRows + SumRows::row();
  const float* of_tokens = shared.token_scales(slot) + pass * kPass + SumRows::token();
  const float first = of_rows[0];
  const float second = of_rows[8];
  wait_products<0>();
#pragma unroll
  for (int i = 0; i < kPass / 8; ++i) {
    const float2 two = *reinterpret_cast<const float2*>(of_tokens + 8 * i);
    float* four = sums + pass * (kPass / 2) + 4 * i;
    four[0] = fmaf(first * two.x, part[4 * i], four[0]);
    four[1] = fmaf(first * two.y, part[4 * i + 1], four[1]);
    four[2] = fmaf(second * two.x, part[4 * i + 2], four[2]);
    four[3] = fmaf(second * two.y, part[4 * i + 3], four[3]);
  }
}

/// Signals that the calling warp has read a slot, to all blocks that write to the slot.
template <class Sizes>
__device__ void release(const Shared<Sizes>& shared, unsigned slot) {
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (Sizes::kBlocks == 1) {
    if (lane == 0) arrive(&shared.empty[slot]);
  } else {
    if (lane < Sizes::kBlocks) arrive_in_block(lane, &shared.empty[slot]);
  }
}

template <class Sizes>
__device__ void multiply_tiles(const Shared<Sizes>& shared, const Product& product,
                               const LinearEpilogue& epilogue) {
  const int thread = static_cast<int>(threadIdx.x);
  Parts<Sizes> parts(product);
  RingPlace<Sizes> place;
  wait_for_predecessor();
  for (Part part; parts.next(part);) {
    float sums[Sizes::kTokens / 2] = {};
    for (unsigned unit = part.begin; unit < part.end; ++unit) {
      wait(&shared.full[place.slot], place.parity);
#pragma unroll
      for (int pass = 0; pass < Sizes::kTokens / Sizes::kPass; ++pass) {
        add_pass<Sizes>(shared, place.slot, pass, sums);
      }
      release<Sizes>(shared, place.slot);
      place.advance();
    }
    const bool is_whole = part.begin == 0 && part.end == product.cut.tile_units;
    if (is_whole ||
        put_together<1, kMultipliers>(product.cut, product.meeting, part.tile, 0, thread, sums)) {
      if (product.gated) {
        write_tile<Sizes, true>(shared, product, epilogue, part.tile, sums);
      } else {
        write_tile<Sizes, false>(shared, product, epilogue, part.tile, sums);
      }
    }
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <int kTokens, int kBlocks>
__global__ void __launch_bounds__(kThreads, 1)
    rounded_kernel(const __grid_constant__ CUtensorMap weights,
                   const __grid_constant__ CUtensorMap tokens, const Product product,
                   const LinearEpilogue epilogue) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Sizes = Layout<kTokens, kBlocks>;
  // Sums take most of a thread's registers.
  constexpr int kOfMultiplier = 232;
  constexpr int kOfLoader = 40;
  WEFT_DYNAMIC_SHARED(std::byte, memory);
  const Shared<Sizes> shared(memory);
  if (threadIdx.x == 0) {
    prefetch_map(&weights);
    prefetch_map(&tokens);
    shared.init_barriers();
  }
  if constexpr (kBlocks == 1) {
    __syncthreads();
  } else {
    meet_cluster();
  }
  let_successor_start();
  if (threadIdx.x < kMultipliers) {
    take_registers<kOfMultiplier>();
    multiply_tiles<Sizes>(shared, product, epilogue);
  } else {
    give_registers<kOfLoader>();
    if (threadIdx.x == kWeightThread) load_weights<Sizes>(shared, product, &weights);
    if (threadIdx.x == kTokenThread) {
      wait_for_predecessor();
      load_tokens<Sizes>(shared, product, &tokens);
    }
  }
  if constexpr (kBlocks > 1) meet_cluster();  // the other block writes here until it has ended
#endif
}

Status status_of_map(CUresult result) {
  return result == CUDA_SUCCESS ? Status::kSuccess : status_of(cudaErrorInvalidValue);
}

/// Encodes all boxes' codes as a tensor whose last dimension counts boxes. A box permutes a row's
/// pieces of 16 bytes by the row's index r in eight, and the swizzle of `wgmma` permutes them by
/// the row's place in eight. Both agree if row r is at place 2 * (r % 4) + r / 4. So the dimensions
/// are bytes, r / 4, r % 4, groups of eight rows, and boxes.
Status encode_boxes(TensorMapEncoder encoder, CUtensorMap& map, const DeviceMatrix& weight) {
  constexpr cuuint64_t kEight = 8 * kUnitColumns;
  const std::int64_t rows = weight.gated ? 2 * weight.outputs : weight.outputs;
  const std::int64_t boxes = rows / kBoxRows * (weight.inputs / kUnitColumns);
  const cuuint64_t sizes[] = {kUnitColumns, 2, 4, kBoxRows / 8, static_cast<cuuint64_t>(boxes)};
  const cuuint64_t strides[] = {kEight / 2, kUnitColumns, kEight, kBoxBytes};
  const cuuint32_t box[] = {kUnitColumns, 2, 4, kBoxRows / 8, 1};
  const cuuint32_t steps[] = {1, 1, 1, 1, 1};
  static_assert(CodeBox::code_place(1, 0) == 32 && CodeBox::code_place(2, 0) == 64 &&
                CodeBox::code_place(4, 0) == 16);
  return status_of_map(
      encoder(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 5, const_cast<std::byte*>(weight.runs[0].data),
              sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
              CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

Status encode_tokens(TensorMapEncoder encoder, CUtensorMap& map, const RoundedRows& rows,
                     std::int64_t inputs, int tokens) {
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(inputs), static_cast<cuuint64_t>(rows.rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(inputs)};
  const cuuint32_t box[] = {kUnitColumns, static_cast<cuuint32_t>(tokens)};
  const cuuint32_t steps[] = {1, 1};
  return status_of_map(encoder(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, rows.codes, sizes, strides,
                               box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

std::int64_t row_tiles_of(const DeviceMatrix& weight) {
  const std::int64_t outputs = weight.gated ? kBoxRows : kTileRows;
  return (weight.outputs + outputs - 1) / outputs;
}

/// A product with rows that have been rounded.
struct Work {
  const CudaLinearParams& params;
  const RoundedRows& rows;
  const FlatDevice& device;
  Stream stream;

  template <int kTokens, int kBlocks>
  [[nodiscard]] Status start() const {
    using Sizes = Layout<kTokens, kBlocks>;
    const DeviceMatrix& weight = params.weight;
    CUtensorMap weights{};
    CUtensorMap tokens{};
    Status status = encode_boxes(device.encoder, weights, weight);
    if (status != Status::kSuccess) return status;
    status = encode_tokens(device.encoder, tokens, rows, weight.inputs, Sizes::kLoaded);
    if (status != Status::kSuccess) return status;
    const auto units = static_cast<unsigned>(weight.inputs / kUnitColumns);
    const auto row_tiles = static_cast<unsigned>(row_tiles_of(weight));
    const auto token_tiles = static_cast<unsigned>((params.rows + kTokens - 1) / kTokens);
    const Product product{
        .cut = {.units = row_tiles * token_tiles * units, .tile_units = units},
        .meeting = {reinterpret_cast<unsigned*>(params.workspace),
                    reinterpret_cast<float4*>(params.workspace + kLinearCounterBytes)},
        .boxes = weight.runs[0].data,
        .token_scales = rows.scales,
        .padded = static_cast<unsigned>(rows.padded),
        .tokens = static_cast<int>(params.rows),
        .outputs = static_cast<int>(weight.outputs),
        .gated = weight.gated,
        .token_tiles = token_tiles,
        .whole = params.rows > kMaxCutTokens};
    const unsigned all = product.whole ? (row_tiles + kBlocks - 1) / kBlocks * token_tiles * kBlocks
                                       : product.cut.units;
    const auto most = static_cast<unsigned>(device.processors) / kBlocks * kBlocks;
    return launch_clusters(kBlocks, rounded_kernel<kTokens, kBlocks>, dim3(std::min(all, most)),
                           dim3(kThreads), Sizes::kBytes, stream, weights, tokens, product,
                           LinearEpilogue(params));
  }

  /// Starts clusters that take tiles in turn. Chooses the size of a tile by the total time, since a
  /// last round with few tiles takes as long as the others.
  [[nodiscard]] Status start_whole() const {
    // The KB of a unit that a block loads, with tiles of 128 and of 256 tokens.
    constexpr std::int64_t kTime128 = 24;
    constexpr std::int64_t kTime256 = 32;
    const std::int64_t pairs = (row_tiles_of(params.weight) + 1) / 2;
    const std::int64_t clusters = std::max(device.processors / 2, 1);
    const auto rounds = [&](std::int64_t tokens) {
      const std::int64_t tiles = pairs * ((params.rows + tokens - 1) / tokens);
      return (tiles + clusters - 1) / clusters;
    };
    return rounds(128) * kTime128 < rounds(256) * kTime256 ? start<128, 2>() : start<256, 2>();
  }

  [[nodiscard]] Status start_any() const {
    if (params.rows <= 32) return start<32, 1>();
    if (params.rows <= 64) return start<64, 1>();
    return params.rows <= kMaxCutTokens ? start<128, 1>() : start_whole();
  }
};

template <int kTokens, int kBlocks>
Status allow_shared() {
  return status_of(cudaFuncSetAttribute(rounded_kernel<kTokens, kBlocks>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        Layout<kTokens, kBlocks>::kBytes));
}

}  // namespace
}  // namespace rounded

Status prepare_rounded() {
  for (const auto allow :
       {rounded::allow_shared<32, 1>, rounded::allow_shared<64, 1>, rounded::allow_shared<128, 1>,
        rounded::allow_shared<128, 2>, rounded::allow_shared<256, 2>}) {
    if (const Status status = allow(); status != Status::kSuccess) return status;
  }
  return Status::kSuccess;
}

bool fits_rounded(const DeviceMatrix& weight) {
  constexpr std::int64_t kMaxUnits = std::int64_t{1} << 24U;  // times processors fit 32 bits
  constexpr std::int64_t kTokenTiles = kMaxRoundedTokens / 128;
  const std::int64_t tiles = rounded::row_tiles_of(weight);
  const std::int64_t units = weight.inputs / rounded::kUnitColumns;
  return tiles * static_cast<std::int64_t>(sizeof(unsigned)) <=
             static_cast<std::int64_t>(kTileCounterBytes) &&
         units <= kMaxUnits / tiles && tiles * kTokenTiles < (1 << 30) / units &&
         weight.outputs < (1 << 30) && rounded_bytes(1, weight.inputs) <= kRoundedRowsBytes;
}

Status linear_rounded(const CudaLinearParams& params, std::byte* memory, const FlatDevice& device,
                      Stream stream) {
  const std::int64_t inputs = params.weight.inputs;
  std::int64_t most = std::min(params.rows, kMaxRoundedTokens);
  while (rounded_bytes(most, inputs) > kRoundedRowsBytes) most = (most + 1) / 2;
  Status status = Status::kSuccess;
  for (std::int64_t first = 0; first < params.rows && status == Status::kSuccess; first += most) {
    CudaLinearParams part = params;
    part.rows = std::min(most, params.rows - first);
    part.residual = from_row(params.residual, first);
    part.out = from_row(params.out, first);
    const RoundedRows rows = place_rounded_rows(memory, part.rows, inputs);
    const bool gathers = params.input_rows != nullptr;
    status = round_rows(gathers ? params.in : from_row(params.in, first),
                        gathers ? params.input_rows + first : nullptr, rows, stream);
    if (status == Status::kSuccess) {
      status = rounded::Work{part, rows, device, stream}.start_any();
    }
  }
  return status;
}

}  // namespace weft::cuda
