#pragma once

// Stands in for CUDA's header of this name, as far as the kernels use it.

#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): CUDA's names

using cuuint32_t = std::uint32_t;
using cuuint64_t = std::uint64_t;

enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 };
enum CUtensorMapDataType {
  CU_TENSOR_MAP_DATA_TYPE_UINT8,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
};
enum CUtensorMapInterleave { CU_TENSOR_MAP_INTERLEAVE_NONE };
enum CUtensorMapSwizzle { CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_128B };
enum CUtensorMapL2promotion { CU_TENSOR_MAP_L2_PROMOTION_L2_128B };
enum CUtensorMapFloatOOBfill { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE };

/// A tensor, and the boxes that are copied of it. CUDA's own tells nothing of what is inside.
struct alignas(64) CUtensorMap {
  static constexpr unsigned kMostRank = 5;

  const unsigned char* data;
  std::uint32_t rank;
  std::uint64_t sizes[kMostRank];
  std::uint64_t strides[kMostRank];  ///< bytes, the first a number's
  std::uint32_t box[kMostRank];
  bool swizzled;
};

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* data, const cuuint64_t* sizes, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

// NOLINTEND(readability-identifier-naming)
