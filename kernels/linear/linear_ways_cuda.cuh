#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/linear/linear_ways_cuda.h"

/// The functions behind LinearEngine, one for each way to multiply. Parameters have been checked,
/// and rows > 0.
namespace weft::cuda {

/// Returns the rows from `first` on; no rows if `rows` has no data.
inline DeviceRows from_row(DeviceRows rows, std::int64_t first) {
  if (rows.data == nullptr) return rows;
  const std::int64_t bytes = rows.dtype == DType::kF32 ? 4 : 2;
  rows.data = static_cast<std::byte*>(rows.data) + first * rows.stride * bytes;
  return rows;
}

/// kVector: any dtype; a row's bits are the same for every number of rows.
[[nodiscard]] Status linear_vector(const CudaLinearParams& params, Stream stream);

/// cuTensorMapEncodeTiled, which the runtime finds in the driver.
using TensorMapEncoder = decltype(&cuTensorMapEncodeTiled);

/// The most shared memory that kernels can have, in bytes.
struct SharedLimits {
  int of_block = 0;
  int of_processor = 0;  ///< for all blocks of a multiprocessor together
};

struct FlatDevice {
  TensorMapEncoder encoder = nullptr;
  int processors = 0;
  SharedLimits shared;
};

/// Called once for each device, before its first linear_flat().
[[nodiscard]] Status prepare_flat();

/// Returns whether the matrix's tiles have counters.
[[nodiscard]] bool fits_flat(const DeviceMatrix& weight);

/// kFlat, for sm_90: weights of 16 bits, at most kMaxFlatTokens rows, without input_rows.
[[nodiscard]] Status linear_flat(const CudaLinearParams& params, const FlatDevice& device,
                                 Stream stream);

/// Called once for each device, before its first linear_codes().
[[nodiscard]] Status prepare_codes();

/// Returns whether the encoding has a kernel, and the tiles have counters.
[[nodiscard]] bool fits_codes(const DeviceMatrix& weight);

/// kCodes, for sm_90: at most kMaxCodesTokens rows, without input_rows.
[[nodiscard]] Status linear_codes(const CudaLinearParams& params, const FlatDevice& device,
                                  Stream stream);

/// Bytes of memory for rounded rows: 4096 rows of 15,000 columns at once.
inline constexpr std::int64_t kRoundedRowsBytes = std::int64_t{64} << 20;

/// Called once for each device, before its first linear_rounded().
[[nodiscard]] Status prepare_rounded();

/// Returns whether the matrix's tiles have counters, and a row fits the memory for rounded rows.
[[nodiscard]] bool fits_rounded(const DeviceMatrix& weight);

/// kRounded, for sm_90: at most kMaxRoundedTokens rows. `memory` has kRoundedRowsBytes.
[[nodiscard]] Status linear_rounded(const CudaLinearParams& params, std::byte* memory,
                                    const FlatDevice& device, Stream stream);

/// Called once for each device, before its first linear_codes_fetched().
[[nodiscard]] Status prepare_codes_fetched(const FlatDevice& device);

/// kCodesFetched: matrices for which fits_codes() holds, at most kMaxFetchedTokens rows, without
/// input_rows.
[[nodiscard]] Status linear_codes_fetched(const CudaLinearParams& params, const FlatDevice& device,
                                          Stream stream);

/// Called once for each device, before its first linear_flat_fetched().
[[nodiscard]] Status prepare_flat_fetched(const FlatDevice& device);

/// kFlatFetched: matrices for which fits_flat() holds, at most kMaxFlatFetchedTokens rows, without
/// input_rows.
[[nodiscard]] Status linear_flat_fetched(const CudaLinearParams& params, const FlatDevice& device,
                                         Stream stream);

/// kLibrary: weights of 16 bits, without input_rows. Holds the library's handle and memory, and the
/// algorithm for each size of product. A product of a known size allocates nothing.
class LinearLibrary {
 public:
  static constexpr std::size_t kBytes = std::size_t{96} << 20U;  ///< in the device's memory

  LinearLibrary();
  ~LinearLibrary();
  LinearLibrary(const LinearLibrary&) = delete;
  LinearLibrary& operator=(const LinearLibrary&) = delete;

  /// Called once, before run().
  [[nodiscard]] Status prepare();

  /// Returns whether the sums of a token fit its memory.
  [[nodiscard]] static bool fits(const DeviceMatrix& weight);

  [[nodiscard]] Status run(const CudaLinearParams& params, Stream stream);

  /// kBytes of the device's memory; other ways may write to it between this way's products.
  [[nodiscard]] std::byte* memory() const;

 private:
  struct Impl;
  Impl* impl_;
};

/// Resources that LinearEngine keeps for the kernels of its ways.
struct LinearMeans {
  FlatDevice device;
  LinearLibrary library;
};

/// kDecoded: encoded weights, without input_rows.
[[nodiscard]] Status linear_decoded(const CudaLinearParams& params, LinearLibrary& library,
                                    Stream stream);

/// The kernels of a way of LinearEngine: prepare() is called once for each device before the first
/// launch, fits() says whether a matrix is not too large, launch() multiplies. Each row of
/// kLinearWays for LinearEngine has them; a row without them does not compile.
template <LinearWay kWay>
struct WayKernels;

template <>
struct WayKernels<LinearWay::kVector> {
  static Status prepare(LinearMeans& /*means*/) { return Status::kSuccess; }
  static bool fits(const DeviceMatrix& /*weight*/) { return true; }
  static Status launch(const CudaLinearParams& params, LinearMeans& /*means*/, Stream stream) {
    return linear_vector(params, stream);
  }
};

template <>
struct WayKernels<LinearWay::kFlat> {
  static Status prepare(LinearMeans& /*means*/) { return prepare_flat(); }
  static bool fits(const DeviceMatrix& weight) { return fits_flat(weight); }
  static Status launch(const CudaLinearParams& params, LinearMeans& means, Stream stream) {
    return linear_flat(params, means.device, stream);
  }
};

template <>
struct WayKernels<LinearWay::kLibrary> {
  static Status prepare(LinearMeans& means) { return means.library.prepare(); }
  static bool fits(const DeviceMatrix& weight) { return LinearLibrary::fits(weight); }
  static Status launch(const CudaLinearParams& params, LinearMeans& means, Stream stream) {
    return means.library.run(params, stream);
  }
};

template <>
struct WayKernels<LinearWay::kCodes> {
  static Status prepare(LinearMeans& /*means*/) { return prepare_codes(); }
  static bool fits(const DeviceMatrix& weight) { return fits_codes(weight); }
  static Status launch(const CudaLinearParams& params, LinearMeans& means, Stream stream) {
    return linear_codes(params, means.device, stream);
  }
};

template <>
struct WayKernels<LinearWay::kRounded> {
  static Status prepare(LinearMeans& /*means*/) { return prepare_rounded(); }
  static bool fits(const DeviceMatrix& weight) { return fits_rounded(weight); }
  static Status launch(const CudaLinearParams& params, LinearMeans& means, Stream stream) {
    return linear_rounded(params, means.library.memory(), means.device, stream);
  }
};

template <>
struct WayKernels<LinearWay::kFlatFetched> {
  static Status prepare(LinearMeans& means) { return prepare_flat_fetched(means.device); }
  static bool fits(const DeviceMatrix& weight) { return fits_flat(weight); }
  static Status launch(const CudaLinearParams& params, LinearMeans& means, Stream stream) {
    return linear_flat_fetched(params, means.device, stream);
  }
};

template <>
struct WayKernels<LinearWay::kCodesFetched> {
  static Status prepare(LinearMeans& means) { return prepare_codes_fetched(means.device); }
  static bool fits(const DeviceMatrix& weight) { return fits_codes(weight); }
  static Status launch(const CudaLinearParams& params, LinearMeans& means, Stream stream) {
    return linear_codes_fetched(params, means.device, stream);
  }
};

template <>
struct WayKernels<LinearWay::kDecoded> {
  /// kLibrary prepares the library.
  static Status prepare(LinearMeans& /*means*/) { return Status::kSuccess; }
  static bool fits(const DeviceMatrix& weight) {
    return LinearLibrary::fits(decoded_piece(weight));
  }
  static Status launch(const CudaLinearParams& params, LinearMeans& means, Stream stream) {
    return linear_decoded(params, means.library, stream);
  }
};

/// Copies row rows[i] of `from` to row i of `to`, which has the stride of `from`. The numbers have
/// 16 bits.
[[nodiscard]] Status gather_rows(const DeviceRows& from, const std::int32_t* rows,
                                 std::int64_t count, void* to, Stream stream);

}  // namespace weft::cuda
