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
  std::string files{};          ///< a folder for pages that no sequence uses; empty: none
  std::int64_t file_bytes = 0;  ///< of the files in it
  bool slabs = false;           ///< each row has pages of its own for all of its context
};

/// The memory that a kind of device takes.
struct DeviceNeeds {
  std::function<std::int64_t(const DeviceLimits& limits)> bytes;  ///< all of it
  std::int64_t weight_bytes = 0;                                  ///< of that, the weights
  std::int64_t page_bytes = 0;                                    ///< of that, a page of KV
  /// What it takes of host memory beside its own, where its KV cache lies there; else null and 0.
  std::function<std::int64_t(const DeviceLimits& limits)> host_bytes{};
  std::int64_t host_page_bytes = 0;
};

/// How many rows and pages fit into `free_bytes` of a device's memory beside the weights, the
/// step's buffers and the logits. Where the KV cache lies in host memory, pages take that instead
/// (DeviceNeeds::host_bytes). There are at most as many pages as all rows can use. A context that
/// was not asked for is shortened to what the pages hold, unless their number was asked for. With
/// slabs there are only as many rows as have a whole slab; if rows were asked for and the context
/// was not, slabs are shorter. kOutOfMemory with the numbers when not even one sequence fits;
/// kUnfit for a context longer than the model's.
[[nodiscard]] Result<DeviceLimits> device_capacity(const Program& program,
                                                   const CapacityWishes& wishes,
                                                   std::int64_t free_bytes,
                                                   const DeviceNeeds& needs);

/// The wishes of one of so many GPUs that share the host's memory: an equal part of it.
[[nodiscard]] CapacityWishes with_host_share(CapacityWishes wishes, std::size_t gpus);

/// What fits on both of two devices that have these limits; `slabs` as in the wishes of both.
[[nodiscard]] DeviceLimits least_of(DeviceLimits one, const DeviceLimits& other, bool slabs);

}  // namespace weft
