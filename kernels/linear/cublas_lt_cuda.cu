#include "weft/core/io/shared_library.h"
#include "weft/kernels/linear/cublas_lt_cuda.cuh"

namespace weft::cuda {
namespace {

#define WEFT_TEXT_OF(number) #number
#define WEFT_CUBLAS_LT(major) "libcublasLt.so." WEFT_TEXT_OF(major)

constexpr const char* kLibrary = WEFT_CUBLAS_LT(CUBLAS_VER_MAJOR);
constexpr const char* kLibraryOfToolkit = "/usr/local/cuda/lib64/" WEFT_CUBLAS_LT(CUBLAS_VER_MAJOR);

}  // namespace

Result<CublasLt> CublasLt::load() {
  const auto library = SharedLibrary::open({kLibrary, kLibraryOfToolkit});
  if (!library) return library.error();
  CublasLt all;
  Result<void> found;
  const auto find = [&](const char* name, auto& function) {
    if (found) found = library->find(name, function);
  };
  find("cublasLtCreate", all.create);
  find("cublasLtDestroy", all.destroy);
  find("cublasLtMatmulDescInit_internal", all.init_matmul);
  find("cublasLtMatmulDescSetAttribute", all.set_matmul);
  find("cublasLtMatrixLayoutInit_internal", all.init_layout);
  find("cublasLtMatmulPreferenceInit_internal", all.init_preference);
  find("cublasLtMatmulPreferenceSetAttribute", all.set_preference);
  find("cublasLtMatmulAlgoGetHeuristic", all.find_algorithm);
  find("cublasLtMatmul", all.multiply);
  if (!found) return found.error();
  return all;
}

}  // namespace weft::cuda
