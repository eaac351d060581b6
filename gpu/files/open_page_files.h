#pragma once

#include <memory>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/device_capacity.h"
#include "weft/gpu/files/page_files.h"
#include "weft/gpu/step_device.h"
#include "weft/model/open_model.h"

namespace weft {

/// What pages have in common that mean the same for the same tokens: the model's description and
/// program, its tensors by name, shape and samples of their bytes, the type of keys and values,
/// tokens of a page, and what the processor computes with. Reads some KiB of each tensor; errors of
/// that.
[[nodiscard]] Result<PageKey> page_identity(const OpenedModel& model, DType kv_dtype,
                                            const DeviceLimits& limits);

/// Opens the folder of the wishes for pages that lie in `blocks`. kUnfit naming `cache.folder` and
/// why it cannot be had; errors of page_identity().
[[nodiscard]] Result<std::shared_ptr<PageFiles>> open_page_files(const OpenedModel& model,
                                                                 const CapacityWishes& wishes,
                                                                 const DeviceLimits& limits,
                                                                 std::vector<PageBlock> blocks);

}  // namespace weft
