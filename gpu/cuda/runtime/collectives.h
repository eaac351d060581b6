#pragma once

#include <cstdint>
#include <span>

#include "weft/core/token.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/norm/norm.h"
#include "weft/model/program/program_part.h"

/// The exchanges between ranks in a step. All ranks of a group launch the same exchanges in the
/// same order and with the same rows. May be recorded.
namespace weft::cuda {

/// How ranks sum up: the fastest way for so many numbers, or a fixed way, to compare the ways.
enum class SumWay : std::uint8_t { kFastest, kNccl, kOneShot, kTwoShots };

/// values = the sum over the ranks of the stage, the same bits on each.
struct CudaAllReduceParams {
  std::int64_t rows = 0;
  DeviceRows values{};  ///< f32
  SumWay way = SumWay::kFastest;
};

/// A sum over ranks, then the norm of the sum: `norm.in` and its rows are the summed values. It is
/// one launch where the ranks sum up through each other's memory.
struct CudaSumNormParams {
  CudaAllReduceParams sum{};
  CudaNormParams norm{};
};

/// The stage's first rank gets the others' columns.
struct CudaGatherParams {
  std::int64_t rows = 0;
  DeviceRows in{};                    ///< f32; this rank's
  std::span<const Extent> columns{};  ///< of all, by rank
  /// [ranks] on the stage's first rank: where the other ranks' columns go, each as wide as that
  /// rank's columns; null elsewhere.
  const DeviceRows* parts = nullptr;
};

/// The stream, to the ranks of the next stage that take this one's. Nothing where that stage is on
/// the host (HostStream), and likewise where the stage before is.
struct CudaSendParams {
  std::int64_t rows = 0;
  DeviceRows values{};  ///< f32
};

/// Receives the stream from a rank of the stage before.
struct CudaReceiveParams {
  std::int64_t rows = 0;
  DeviceRows values{};  ///< f32
};

/// The last tokens of all slots, from the rank that chooses to the ranks of the first stage.
struct CudaTokensParams {
  TokenId* tokens = nullptr;  ///< [count] in the device's memory, written by receiving ranks
  std::int32_t count = 0;
};

}  // namespace weft::cuda
