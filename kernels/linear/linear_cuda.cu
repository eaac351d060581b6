#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/encoding/code_boxes.h"
#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/linear/linear_ways_cuda.cuh"

namespace weft::cuda {
namespace {

constexpr std::size_t kGatheredBytes = std::size_t{32} << 20U;
static_assert(kGatheredBytes + LinearLibrary::kBytes == kLinearEngineBytes);
static_assert(std::size_t{kRoundedRowsBytes} <= LinearLibrary::kBytes);
constexpr std::size_t kNarrowBytes = 2;   // bytes of a number of 16 bits
constexpr std::int64_t kStep = 64;        // strides are a multiple of this number of elements
constexpr std::int64_t kScaleBlock = 32;  // inputs under one scale of q8_0

bool is_narrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

bool holds(const DeviceRows& rows, std::int64_t count, std::int64_t width) {
  return rows.data != nullptr && rows.width == width && rows.stride >= width &&
         rows.stride % kStep == 0 && rows.capacity >= count;
}

bool are_sound(const DeviceMatrix& weight) {
  std::int64_t next = 0;
  for (int i = 0; i < weight.run_count; ++i) {
    const EncodedRun& run = weight.runs[i];
    if (run.data == nullptr || run.block_elements < 1 || run.block_bytes < 1) return false;
    if (weight.inputs % run.block_elements != 0) return false;
    const std::int64_t all = weight.gated ? 2 * weight.outputs : weight.outputs;
    const std::int64_t end = i + 1 < weight.run_count ? weight.runs[i + 1].first : all;
    if (run.boxed && !fill_boxes(run.dtype, end - run.first, weight.inputs)) return false;
    if (run.boxed && weight.gated && weight.outputs % CodeBox::kRows != 0) return false;
    if (i == 0 ? run.first != 0 : run.first <= next) return false;
    next = run.first;
  }
  return weight.run_count <= DeviceMatrix::kMaxRuns;
}

bool is_sound(const DeviceMatrix& weight) {
  if (weight.keeps_blocks()) return weight.outputs > 0 && weight.inputs > 0 && are_sound(weight);
  const bool quantized = weight.dtype == DType::kQ8_0;
  if (weight.data == nullptr || weight.outputs <= 0 || weight.inputs <= 0) return false;
  if (weight.stride < weight.inputs || weight.stride % kStep != 0) return false;
  if (quantized) return weight.scales != nullptr && weight.inputs % kScaleBlock == 0;
  return weight.dtype == DType::kF32 || is_narrow(weight.dtype);
}

/// Returns whether a norm beside the product has its memory.
bool norms_are_sound(const CudaLinearParams& params) {
  if (steps_of(params).has_norm() && params.input_rows != nullptr) return false;
  const NormAfter& after = params.norm_after;
  return after.out.data == nullptr ||
         (after.squares != nullptr && after.out.dtype == DType::kBF16 &&
          holds(after.out, params.rows, params.weight.outputs));
}

/// Returns whether adapters have their memory.
bool adapters_are_sound(const CudaLinearParams& params) {
  const ProductAdapters& of = params.adapters;
  if (of.tasks.tasks == nullptr) return true;
  return params.input_rows == nullptr && of.sums != nullptr && of.meeting != nullptr &&
         of.rank % kAdapterTile == 0 && begin_evenly(of.runs, of.run_count);
}

bool is_sound(const CudaLinearParams& params) {
  const DeviceMatrix& weight = params.weight;
  if (!norms_are_sound(params) || !adapters_are_sound(params)) return false;
  const std::int64_t least = params.input_rows == nullptr ? params.rows : 1;
  if (!is_sound(weight) || params.in.dtype != input_type(params.way, weight)) return false;
  if (!holds(params.in, least, weight.inputs)) return false;
  if (!holds(params.out, params.rows, weight.outputs)) return false;
  if (params.out.dtype != DType::kF32 && !is_narrow(params.out.dtype)) return false;
  if (params.residual.data == nullptr) return true;
  return params.residual.dtype == DType::kF32 &&
         holds(params.residual, params.rows, weight.outputs);
}

int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

/// Returns the rows of each part but the last, if rows are cut evenly into as few parts of at most
/// `most` rows as possible.
constexpr std::int64_t even_part(std::int64_t rows, std::int64_t most) {
  const std::int64_t parts = (rows + most - 1) / most;
  return (rows + parts - 1) / parts;
}
static_assert(even_part(4096, 4096) == 4096 && even_part(2049, 2048) == 1025);

int processors() { return attribute(cudaDevAttrMultiProcessorCount); }

/// kFlat and kCodes are written for sm_90a only: code for plain sm_90 lacks their
/// instructions.
bool has_hopper() {
#ifdef WEFT_HAS_SM90A
  return attribute(cudaDevAttrComputeCapabilityMajor) == 9;
#else
  return false;
#endif
}

TensorMapEncoder find_encoder() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                                             12000, cudaEnableDefault, &result);
  if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<TensorMapEncoder>(found);
}

/// WayKernels at run time; null for ways that LinearEngine does not run.
struct KernelsOfWay {
  Status (*prepare)(LinearMeans& means) = nullptr;
  bool (*fits)(const DeviceMatrix& weight) = nullptr;
  Status (*launch)(const CudaLinearParams& params, LinearMeans& means, Stream stream) = nullptr;
};

template <std::size_t kRow>
constexpr KernelsOfWay kernels_of_row() {
  if constexpr (kLinearWays[kRow].product != ProductKind::kMatrix) {
    return {};
  } else {
    using Own = WayKernels<kLinearWays[kRow].way>;
    return {Own::prepare, Own::fits, Own::launch};
  }
}

template <std::size_t... kRow>
constexpr std::array<KernelsOfWay, sizeof...(kRow)> kernels_of_all(
    std::index_sequence<kRow...> /*rows*/) {
  return {kernels_of_row<kRow>()...};
}
constexpr auto kKernels = kernels_of_all(std::make_index_sequence<kLinearWays.size()>());

const KernelsOfWay& kernels_of(LinearWay way) { return kKernels[static_cast<std::size_t>(way)]; }

}  // namespace

bool multiplies_codes(std::int32_t architecture) {
  constexpr std::int32_t kLeast = 80;  // has cp.async and mbarriers
  return architecture >= kLeast;
}

bool can(LinearWay way, const DeviceMatrix& weight, std::int64_t tokens,
         const EpilogueSteps& steps) {
  const KernelsOfWay& kernels = kernels_of(way);
  return kernels.fits != nullptr && tokens >= 0 && is_sound(weight) &&
         takes(way, weight, tokens, has_hopper(), steps) && kernels.fits(weight);
}

struct LinearEngine::Impl {
  LinearMeans means;
  void* gathered = nullptr;  ///< kGatheredBytes for rows of `in`
  Status status = Status::kSuccess;

  Status prepare() {
    means.device = {
        .encoder = find_encoder(),
        .processors = processors(),
        .shared = {.of_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                   .of_processor = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor)}};
    Status prepared = status_of(cudaMalloc(&gathered, kGatheredBytes));
    for (const LinearWayRow& row : kLinearWays) {
      const KernelsOfWay& kernels = kernels_of(row.way);
      const bool is_here = kernels.prepare != nullptr && (!row.needs_sm90a || has_hopper());
      if (is_here && prepared == Status::kSuccess) prepared = kernels.prepare(means);
    }
    return prepared;
  }

  Status multiply(const CudaLinearParams& params, Stream stream) {
    return kernels_of(params.way).launch(params, means, stream);
  }

  /// Multiplies the rows that input_rows names: gathers as many as fit, one after the other. Parts
  /// are even, so that all parts fall into the same range of rows as the whole (LinearWay).
  Status multiply_gathered(const CudaLinearParams& params, Stream stream) {
    const std::int64_t most =
        static_cast<std::int64_t>(kGatheredBytes / kNarrowBytes) / params.in.stride;
    if (most == 0) return status_of(cudaErrorInvalidValue);
    const std::int64_t each = even_part(params.rows, most);
    Status status = Status::kSuccess;
    for (std::int64_t first = 0; first < params.rows && status == Status::kSuccess; first += each) {
      CudaLinearParams part = params;
      part.rows = std::min(each, params.rows - first);
      part.in.data = gathered;
      part.input_rows = nullptr;
      part.residual = from_row(params.residual, first);
      part.out = from_row(params.out, first);
      status = gather_rows(params.in, params.input_rows + first, part.rows, gathered, stream);
      if (status == Status::kSuccess) status = multiply(part, stream);
    }
    return status;
  }
};

LinearEngine::LinearEngine() : impl_(new Impl) { impl_->status = impl_->prepare(); }

LinearEngine::~LinearEngine() {
  cudaFree(impl_->gathered);
  delete impl_;
}

Status LinearEngine::run(const CudaLinearParams& params, Stream stream) {
  if (params.rows == 0) return Status::kSuccess;
  if (params.rows < 0 || !is_sound(params) ||
      !can(params.way, params.weight, params.rows, steps_of(params))) {
    return status_of(cudaErrorInvalidValue);
  }
  if (impl_->status != Status::kSuccess) return impl_->status;
  const LinearWayRow& way = row_of_way(params.way);
  if (way.needs_workspace && params.workspace == nullptr) return status_of(cudaErrorInvalidValue);
  if (way.needs_decoded && params.decoded == nullptr) return status_of(cudaErrorInvalidValue);
  return params.input_rows == nullptr || way.reads_input_rows
             ? impl_->multiply(params, stream)
             : impl_->multiply_gathered(params, stream);
}

}  // namespace weft::cuda
