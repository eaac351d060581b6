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
  double memory_fraction = 0.8;   ///< part of `free_bytes`
  std::int64_t memory_bytes = 0;  ///< instead of a fraction; at most `free_bytes` are taken
  std::int32_t rows = 0;
  std::int32_t pages = 0;
  std::int32_t page_tokens = 16;
  std::int64_t context = 0;
  std::int32_t step_tokens = 512;
  DType kv_dtype = DType::kF32;
  std::int64_t host_bytes = 0;  ///< host memory for pages that leave the device
  /// Page-locked host memory for a GPU's KV cache, which then takes none of the GPU's memory. For
  /// several GPUs it is the total. 0: the KV cache is in the GPU's memory.
  std::int64_t kv_host_bytes = 0;
  std::int32_t guesses = 0;     ///< tokens of a row that a drafter guesses at once; not for ranks
  bool must_guess = true;       ///< false: ranks may do without `guesses`
  std::string files{};          ///< a folder for pages that no sequence holds; empty: none
  std::int64_t file_bytes = 0;  ///< bytes of the files in the folder
  bool slabs = false;           ///< each row has its own pages for its whole context
  bool rounds_rows = false;     ///< DeviceLimits::rounds_rows
  /// DeviceLimits::adapter_places and adapter_rank, if the device computes adapters.
  std::int32_t adapter_places = 0;
  std::int32_t adapter_rank = 0;
};

/// The memory that a kind of device takes.
struct DeviceNeeds {
  /// Returns the bytes of the device, without the rows' states.
  std::function<std::int64_t(const DeviceLimits& limits)> bytes;
  std::int64_t weight_bytes = 0;  ///< included in bytes(): the weights
  std::int64_t page_bytes = 0;    ///< included in bytes(): a page of KV
  std::int64_t state_bytes = 0;   ///< in addition: each row's state
  /// Returns the bytes of host memory in addition to the device's own, if the KV cache is there;
  /// else null, and host_page_bytes is 0.
  std::function<std::int64_t(const DeviceLimits& limits)> host_bytes{};
  std::int64_t host_page_bytes = 0;
  bool chooses_at_once = false;    ///< DeviceLimits::chooses_at_once
  bool computes_adapters = false;  ///< without merging, in places
};

/// Returns how many rows and pages fit into `free_bytes` of a device's memory beside the weights,
/// the step's buffers, the rows' states and the logits. If the KV cache is in host memory
/// (DeviceNeeds::host_bytes), pages must fit into the wishes' host memory.
///
/// Pages are at most as many as all rows can use at once. A context that the wishes do not state is
/// shortened to what the pages hold, unless the wishes state the pages. With slabs there are as
/// many rows as have whole slabs; if the wishes state the rows and not the context, the slabs are
/// shorter. kOutOfMemory with the numbers if not even one sequence fits; kUnfit for a context
/// longer than the model's.
[[nodiscard]] Result<DeviceLimits> device_capacity(const Program& program,
                                                   const CapacityWishes& wishes,
                                                   std::int64_t free_bytes,
                                                   const DeviceNeeds& needs);

/// Returns the wishes of one of `gpus` GPUs that share the host's memory: an equal part of it.
[[nodiscard]] CapacityWishes with_host_share(CapacityWishes wishes, std::size_t gpus);

/// Returns the limits that fit on both devices; `slabs` is as in both devices' wishes.
[[nodiscard]] DeviceLimits least_of(DeviceLimits one, const DeviceLimits& other, bool slabs);

}  // namespace weft
