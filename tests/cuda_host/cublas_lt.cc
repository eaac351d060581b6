#include <cublasLt.h>

#include <cstring>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/kernels/linear/cublas_lt_cuda.cuh"
#include "weft/tests/kernels/cuda/rows_reference_cuda.h"

namespace {

weft::DType dtype_of(cudaDataType_t type) {
  if (type == CUDA_R_32F) return weft::DType::kF32;
  return type == CUDA_R_16F ? weft::DType::kF16 : weft::DType::kBF16;
}

/// Column `column` of a matrix.
std::vector<float> column_of(const void* data, const cublasLtMatrixLayoutOpaque_t& of,
                             std::uint64_t column) {
  std::vector<float> numbers;
  numbers.reserve(of.rows);
  for (std::uint64_t row = 0; row < of.rows; ++row) {
    const std::int64_t at = static_cast<std::int64_t>(column) * of.stride;
    numbers.push_back(
        weft::cuda::reference::load(dtype_of(of.type), data, at + static_cast<std::int64_t>(row)));
  }
  return numbers;
}

float dot(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int one;
  *handle = &one;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t /*handle*/) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDescOpaque_t* matmul,
                                               std::size_t /*bytes*/,
                                               cublasComputeType_t /*compute*/,
                                               cudaDataType_t /*scale*/) {
  *matmul = {};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDescOpaque_t* matmul,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void* value, std::size_t bytes) {
  if (which == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
    std::memcpy(static_cast<void*>(&matmul->bias), value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayoutOpaque_t* layout,
                                                 std::size_t /*bytes*/, cudaDataType_t type,
                                                 std::uint64_t rows, std::uint64_t columns,
                                                 std::int64_t stride) {
  *layout = {type, rows, columns, stride};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(
    cublasLtMatmulPreferenceOpaque_t* /*preference*/, std::size_t /*bytes*/) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreferenceOpaque_t* /*preference*/,
    cublasLtMatmulPreferenceAttributes_t /*which*/, const void* /*value*/, std::size_t /*bytes*/) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t /*handle*/, cublasLtMatmulDescOpaque_t* /*matmul*/,
    cublasLtMatrixLayoutOpaque_t* /*a*/, cublasLtMatrixLayoutOpaque_t* /*b*/,
    cublasLtMatrixLayoutOpaque_t* /*c*/, cublasLtMatrixLayoutOpaque_t* /*d*/,
    cublasLtMatmulPreferenceOpaque_t* /*preference*/, int /*most*/,
    cublasLtMatmulHeuristicResult_t* /*results*/, int* found) {
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

/// d = alpha a^T b + beta c + bias, of matrices whose columns lie together.
cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDescOpaque_t* matmul,
                              const void* alpha, const void* a, cublasLtMatrixLayoutOpaque_t* a_of,
                              const void* b, cublasLtMatrixLayoutOpaque_t* b_of, const void* beta,
                              const void* c, cublasLtMatrixLayoutOpaque_t* c_of, void* d,
                              cublasLtMatrixLayoutOpaque_t* d_of,
                              const cublasLtMatmulAlgo_t* /*how*/, void* /*workspace*/,
                              std::size_t /*workspace_bytes*/, cudaStream_t stream) {
  if (stream != nullptr && stream->capture != nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  std::vector<std::vector<float>> right;
  for (std::uint64_t n = 0; n < d_of->columns; ++n) right.push_back(column_of(b, *b_of, n));
  for (std::uint64_t m = 0; m < d_of->rows; ++m) {
    const std::vector<float> left = column_of(a, *a_of, m);
    for (std::uint64_t n = 0; n < d_of->columns; ++n) {
      const auto at = [&](const cublasLtMatrixLayoutOpaque_t& of) {
        return static_cast<std::int64_t>(n) * of.stride + static_cast<std::int64_t>(m);
      };
      float value = *static_cast<const float*>(alpha) * dot(left, right[n]);
      if (*static_cast<const float*>(beta) != 0) {
        value += *static_cast<const float*>(beta) *
                 weft::cuda::reference::load(dtype_of(c_of->type), c, at(*c_of));
      }
      if (matmul->bias != nullptr) value += matmul->bias[m];
      weft::cuda::reference::store(dtype_of(d_of->type), d, at(*d_of), static_cast<double>(value));
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

namespace weft::cuda {

Result<CublasLt> CublasLt::load() {
  return CublasLt{.create = cublasLtCreate,
                  .destroy = cublasLtDestroy,
                  .init_matmul = cublasLtMatmulDescInit_internal,
                  .set_matmul = cublasLtMatmulDescSetAttribute,
                  .init_layout = cublasLtMatrixLayoutInit_internal,
                  .init_preference = cublasLtMatmulPreferenceInit_internal,
                  .set_preference = cublasLtMatmulPreferenceSetAttribute,
                  .find_algorithm = cublasLtMatmulAlgoGetHeuristic,
                  .multiply = cublasLtMatmul};
}

}  // namespace weft::cuda
