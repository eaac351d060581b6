#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/gpu/step_device.h"
#include "weft/model/program/program.h"

namespace weft {

/// An operator's wishes; 0 = as much as is useful and fits.
struct CapacityWishes {
  double memory_fraction = 0.8;   ///< of `free_bytes`
  std::int64_t memory_bytes = 0;  ///< instead of a fraction; at most `free_bytes` is taken
  std::int32_t rows = 0;
  std::int32_t pages = 0;
  std::int32_t page_tokens = 16;
  std::int64_t context = 0;
  std::int32_t step_tokens = 512;
  DType kv_dtype = DType::kF32;
  std::int64_t host_bytes = 0;  ///< of host memory, for pages that leave the device
  /// Page-locked host memory for a GPU's KV cache, which then takes none of the GPU's memory; for
  /// several GPUs, of all together. 0: the KV cache is in the GPU's memory.
  std::int64_t kv_host_bytes = 0;
  std::int32_t guesses = 0;     ///< tokens that a drafter guesses of a row at once; not of ranks
  bool must_guess = true;       ///< false: ranks may do without `guesses`
  std::string files{};          ///< a folder for pages that nobody has; empty: none
  std::int64_t file_bytes = 0;  ///< of the files in it
  bool slabs = false;           ///< each row has pages of its own for all of its context
  bool rounds_rows = false;     ///< DeviceLimits::rounds_rows
  /// DeviceLimits::adapter_places and adapter_rank, where the device computes adapters.
  std::int32_t adapter_places = 0;
  std::int32_t adapter_rank = 0;
};

/// The memory that a kind of device takes.
struct DeviceNeeds {
  /// All of it, but for rows' states.
  std::function<std::int64_t(const DeviceLimits& limits)> bytes;
  std::int64_t weight_bytes = 0;  ///< of that, the weights
  std::int64_t page_bytes = 0;    ///< of that, a page of KV
  std::int64_t state_bytes = 0;   ///< beside it, each row's state
  /// What it takes of host memory beside its own, where its KV cache lies there; else null and 0.
  std::function<std::int64_t(const DeviceLimits& limits)> host_bytes{};
  std::int64_t host_page_bytes = 0;
  bool chooses_at_once = false;    ///< DeviceLimits::chooses_at_once
  bool computes_adapters = false;  ///< unmerged, in places
};

/// How many rows and pages fit into `free_bytes` of a device's memory beside the weights, the
/// step's buffers, the rows' states and the logits, and into what the wishes have of host memory
/// where the KV cache lies there (DeviceNeeds::host_bytes). Pages are no more than all rows can use
/// at once. A context that was not asked for is shortened to what the pages hold, unless those were
/// asked for. With slabs there are as many rows as have whole ones; rows that were asked for have
/// shorter ones where the context was not asked for too. kOutOfMemory with the numbers when not
/// even one sequence fits; kUnfit for a context that is longer than the model's.
[[nodiscard]] Result<DeviceLimits> device_capacity(const Program& program,
                                                   const CapacityWishes& wishes,
                                                   std::int64_t free_bytes,
                                                   const DeviceNeeds& needs);

/// The wishes of one of so many GPUs that share the host's memory: an equal part of it.
[[nodiscard]] CapacityWishes with_host_share(CapacityWishes wishes, std::size_t gpus);

/// What fits on both of two devices that have these limits; `slabs` as in the wishes of both.
[[nodiscard]] DeviceLimits least_of(DeviceLimits one, const DeviceLimits& other, bool slabs);

}  // namespace weft
