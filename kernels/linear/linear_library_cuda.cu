#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/linear/cublas_lt_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"
#include "weft/kernels/linear/linear_library_cuda.h"
#include "weft/kernels/linear/linear_ways_cuda.cuh"

/// Many tokens: cuBLASLt multiplies. Row-major [T, N] is column-major [N, T], so it computes out^T
/// = W in^T. A kernel does the steps of the epilogue that cuBLASLt lacks, from sums in float32.
namespace weft::cuda {
namespace {

constexpr std::size_t kLibraryBytes = std::size_t{32} << 20U;  // NVIDIA's advice for sm_90
constexpr std::size_t kStagedBytes = LinearLibrary::kBytes - kLibraryBytes;
constexpr int kThreads = 256;
constexpr int kTokensOfBlock = 4;

__global__ void epilogue_kernel(const float* staged, std::int64_t stride, std::int64_t tokens,
                                bool gated, const LinearEpilogue epilogue) {
  let_successor_start();
  wait_for_predecessor();
  const std::int64_t output = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (output >= epilogue.outputs) return;
  const float* column = staged + (gated ? gate_row(output) : output);
  const float bias = epilogue.bias_of(output);
  const float up_bias = gated ? epilogue.bias_of(epilogue.outputs + output) : 0.0F;
  const std::int64_t first = std::int64_t{blockIdx.y} * kTokensOfBlock;
  for (std::int64_t token = first; token < min(first + kTokensOfBlock, tokens); ++token) {
    const float* at = column + token * stride;
    const float value = gated ? gated_output(epilogue.spec, at[0] + bias, at[kGateBlock] + up_bias)
                              : plain_output(epilogue.spec, at[0] + bias);
    epilogue.store(token, output, value, epilogue.residual_of(token, output));
  }
}

std::int64_t padded(std::int64_t rows) { return (rows + 63) / 64 * 64; }

/// Returns whether the library writes `out` itself.
bool is_direct(const CudaLinearParams& params) {
  const bool wide = params.out.dtype == DType::kF32;
  if (params.weight.gated || params.spec.activation != Activation::kNone ||
      params.spec.soft_cap > 0) {
    return false;
  }
  if (params.bias != nullptr && (!wide || params.spec.scale != 1)) return false;
  return wide || (params.residual.data == nullptr && params.out.dtype == params.weight.dtype);
}

cudaDataType_t type_of(DType dtype) {
  if (dtype == DType::kF32) return CUDA_R_32F;
  return dtype == DType::kF16 ? CUDA_R_16F : CUDA_R_16BF;
}

/// A product as the library computes it: d [tokens, rows] = alpha W in^T + bias + c.
struct Product {
  const CudaLinearParams* params;
  std::int64_t tokens;
  const float* bias;
  float alpha;
  const void* c;  ///< may be null
  std::int64_t c_stride;
  void* d;
  DType d_dtype;
  std::int64_t d_stride;
};

using Key = std::array<std::int64_t, 9>;

Key key_of(const Product& product) {
  const CudaLinearParams& params = *product.params;
  const DeviceMatrix& weight = params.weight;
  return {
      weight.rows(),
      weight.inputs,
      product.tokens,
      weight.stride,
      params.in.stride,
      product.d_stride,
      product.c_stride,
      std::int64_t{product.bias != nullptr},
      static_cast<std::int64_t>(weight.dtype) * 256 + static_cast<std::int64_t>(product.d_dtype)};
}

/// The library's descriptors of a product; plain memory, nothing to free.
struct Descriptors {
  Descriptors(const CublasLt& library, const Product& product) {
    const CudaLinearParams& params = *product.params;
    const DeviceMatrix& weight = params.weight;
    const auto inputs = static_cast<std::uint64_t>(weight.inputs);
    const auto rows = static_cast<std::uint64_t>(weight.rows());
    const auto tokens = static_cast<std::uint64_t>(product.tokens);
    const cudaDataType_t narrow = type_of(weight.dtype);
    const cudaDataType_t wide = type_of(product.d_dtype);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    library.init_matmul(&matmul, sizeof(matmul), CUBLAS_COMPUTE_32F, CUDA_R_32F);
    library.set_matmul(&matmul, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed));
    if (product.bias != nullptr) {
      const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
      const cudaDataType_t bias = CUDA_R_32F;
      library.set_matmul(&matmul, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
      library.set_matmul(&matmul, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &product.bias,
                         sizeof(product.bias));
      library.set_matmul(&matmul, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias, sizeof(bias));
    }
    library.init_layout(&a, sizeof(a), narrow, inputs, rows, weight.stride);
    library.init_layout(&b, sizeof(b), narrow, inputs, tokens, params.in.stride);
    library.init_layout(&c, sizeof(c), wide, rows, tokens, product.c_stride);
    library.init_layout(&d, sizeof(d), wide, rows, tokens, product.d_stride);
  }

  cublasLtMatmulDescOpaque_t matmul;
  cublasLtMatrixLayoutOpaque_t a;
  cublasLtMatrixLayoutOpaque_t b;
  cublasLtMatrixLayoutOpaque_t c;
  cublasLtMatrixLayoutOpaque_t d;
};

struct LibraryPlan {
  cublasLtMatmulAlgo_t algorithm;
};

Status status_of_library(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return Status::kSuccess;
  return status_of(status == CUBLAS_STATUS_NOT_SUPPORTED ? cudaErrorNotSupported
                                                         : cudaErrorUnknown);
}

}  // namespace

struct LinearLibrary::Impl {
  CublasLt library;
  cublasLtHandle_t handle = nullptr;
  std::byte* memory = nullptr;       ///< the library's workspace, then staged sums
  std::map<Key, LibraryPlan> plans;  ///< by size of product

  /// Finds the heuristics' first choice, asking once for each size.
  Status find(const Product& product, Descriptors& with, const LibraryPlan*& plan) {
    const auto [at, added] = plans.try_emplace(key_of(product));
    plan = &at->second;
    if (!added) return Status::kSuccess;
    cublasLtMatmulPreferenceOpaque_t preference;
    library.init_preference(&preference, sizeof(preference));
    library.set_preference(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kLibraryBytes,
                           sizeof(kLibraryBytes));
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    cublasStatus_t status = library.find_algorithm(handle, &with.matmul, &with.a, &with.b, &with.c,
                                                   &with.d, &preference, 1, &result, &found);
    if (status == CUBLAS_STATUS_SUCCESS && found == 0) status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (status != CUBLAS_STATUS_SUCCESS)
      plans.erase(at);
    else
      at->second.algorithm = result.algo;
    return status_of_library(status);
  }

  Status multiply(const Product& product, Stream stream) {
    Descriptors with(library, product);
    const LibraryPlan* plan = nullptr;
    const Status status = find(product, with, plan);
    if (status != Status::kSuccess) return status;
    const float beta = product.c != nullptr ? 1.0F : 0.0F;
    return status_of_library(library.multiply(
        handle, &with.matmul, &product.alpha, product.params->weight.data, &with.a,
        product.params->in.data, &with.b, &beta, product.c != nullptr ? product.c : product.d,
        &with.c, product.d, &with.d, &plan->algorithm, memory, kLibraryBytes, stream));
  }

  Status run_direct(const CudaLinearParams& params, Stream stream) {
    const bool adds = params.residual.data != nullptr;
    return multiply({.params = &params,
                     .tokens = params.rows,
                     .bias = params.bias,
                     .alpha = params.spec.scale,
                     .c = params.residual.data,
                     .c_stride = adds ? params.residual.stride : params.out.stride,
                     .d = params.out.data,
                     .d_dtype = params.out.dtype,
                     .d_stride = params.out.stride},
                    stream);
  }

  /// Multiplies a number of rows whose sums fit the staging memory.
  Status run_staged(const CudaLinearParams& params, Stream stream) {
    auto* staged = reinterpret_cast<float*>(memory + kLibraryBytes);
    const std::int64_t stride = padded(params.weight.rows());
    const Status status = multiply({.params = &params,
                                    .tokens = params.rows,
                                    .bias = nullptr,
                                    .alpha = 1,
                                    .c = nullptr,
                                    .c_stride = stride,
                                    .d = staged,
                                    .d_dtype = DType::kF32,
                                    .d_stride = stride},
                                   stream);
    if (status != Status::kSuccess) return status;
    const dim3 grid(static_cast<unsigned>((params.weight.outputs + kThreads - 1) / kThreads),
                    static_cast<unsigned>((params.rows + kTokensOfBlock - 1) / kTokensOfBlock));
    return launch(epilogue_kernel, grid, dim3(kThreads), 0, stream, staged, stride, params.rows,
                  params.weight.gated, LinearEpilogue(params));
  }
};

LinearLibrary::LinearLibrary() : impl_(new Impl) {}

LinearLibrary::~LinearLibrary() {
  if (impl_->handle != nullptr) impl_->library.destroy(impl_->handle);
  cudaFree(impl_->memory);
  delete impl_;
}

Status LinearLibrary::prepare() {
  const auto library = CublasLt::load();
  if (!library) return status_of(cudaErrorSharedObjectInitFailed);
  impl_->library = *library;
  const Status status = status_of(cudaMalloc(&impl_->memory, kBytes));
  if (status != Status::kSuccess) return status;
  return status_of_library(impl_->library.create(&impl_->handle));
}

std::byte* LinearLibrary::memory() const { return impl_->memory; }

Result<void> load_linear_library() {
  const auto library = CublasLt::load();
  if (!library) return library.error();
  return {};
}

bool LinearLibrary::fits(const DeviceMatrix& weight) {
  return padded(weight.rows()) <= static_cast<std::int64_t>(kStagedBytes / sizeof(float));
}

Status LinearLibrary::run(const CudaLinearParams& params, Stream stream) {
  if (is_direct(params)) return impl_->run_direct(params, stream);
  const std::int64_t most =
      static_cast<std::int64_t>(kStagedBytes / sizeof(float)) / padded(params.weight.rows());
  Status status = Status::kSuccess;
  for (std::int64_t first = 0; first < params.rows && status == Status::kSuccess; first += most) {
    CudaLinearParams part = params;
    part.rows = std::min(most, params.rows - first);
    part.in = from_row(params.in, first);
    part.residual = from_row(params.residual, first);
    part.out = from_row(params.out, first);
    status = impl_->run_staged(part, stream);
  }
  return status;
}

}  // namespace weft::cuda
