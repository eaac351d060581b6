#pragma once

#include <cublasLt.h>

#include "weft/core/error/error.h"

namespace weft::cuda {

/// The functions of cuBLASLt that products call. The program is not linked with it, because loading
/// it takes a tenth of a second and 200 MB even in a program that uses no GPU.
struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmulDescInit_internal) init_matmul = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_matmul = nullptr;
  decltype(&cublasLtMatrixLayoutInit_internal) init_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceInit_internal) init_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) find_algorithm = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;

  /// Loads the version that Weft was compiled with, as the system finds it or from NVIDIA's
  /// folders. Once loaded, it stays loaded, and a later call is quick. Errors of SharedLibrary.
  /// Thread-safe.
  [[nodiscard]] static Result<CublasLt> load();
};

}  // namespace weft::cuda
