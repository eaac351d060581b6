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

/// How ranks sum up: the fastest way for the number of values, or a fixed way, to compare the ways.
enum class SumWay : std::uint8_t { kFastest, kNccl, kOneShot, kTwoShots };

/// values = the sum over the stage's ranks, with the same bits on each rank.
struct CudaAllReduceParams {
  std::int64_t rows = 0;
  DeviceRows values{};  ///< f32
  SumWay way = SumWay::kFastest;
};

/// A sum over ranks, then the norm of the sum. `norm.in` and its rows are the summed values. If the
/// ranks sum up through each other's memory, it is one launch.
struct CudaSumNormParams {
  CudaAllReduceParams sum{};
  CudaNormParams norm{};
};

/// The stage's first rank receives the other ranks' columns.
struct CudaGatherParams {
  std::int64_t rows = 0;
  DeviceRows in{};                    ///< f32; this rank's columns
  std::span<const Extent> columns{};  ///< the columns of all ranks, by rank
  /// [ranks] on the stage's first rank: where each other rank's columns go, with that rank's width.
  /// Null on the other ranks.
  const DeviceRows* parts = nullptr;
};

/// Sends the stream to the ranks of the next stage that take it from this rank. Does nothing if the
/// next stage is on the host (HostStream) instead.
struct CudaSendParams {
  std::int64_t rows = 0;
  DeviceRows values{};  ///< f32
};

/// Receives the stream from a rank of the previous stage. Does nothing if that stage is on the
/// host.
struct CudaReceiveParams {
  std::int64_t rows = 0;
  DeviceRows values{};  ///< f32
};

/// Sends the last tokens of all slots from the rank that chooses to the ranks of the first stage.
struct CudaTokensParams {
  TokenId* tokens = nullptr;  ///< [count] in the device's memory, written by receiving ranks
  std::int32_t count = 0;
};

}  // namespace weft::cuda
