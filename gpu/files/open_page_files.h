#pragma once

#include <memory>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/gpu/files/page_files.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/step_device.h"
#include "weft/model/open_model.h"

namespace weft {

/// What pages have in common that mean the same for the same tokens: the model's description and
/// program, its tensors by name, shape and samples of their bytes, the type of keys and values,
/// tokens of a page, and what computes them (`computer`: the host's instructions, or which GPU).
/// Reads some KiB of each tensor; errors of that.
[[nodiscard]] Result<PageKey> page_identity(const OpenedModel& model, DType kv_dtype,
                                            const DeviceLimits& limits, std::string_view computer);

/// Opens the folder of the wishes for the pages of a device, whose memory outlives the files' use
/// of it (PageFiles::close). kUnfit naming `cache.folder` and why it cannot be had; errors of
/// page_identity().
[[nodiscard]] Result<std::shared_ptr<PageFiles>> open_page_files(const OpenedModel& model,
                                                                 const CapacityWishes& wishes,
                                                                 const DeviceLimits& limits,
                                                                 std::unique_ptr<PageMemory> memory,
                                                                 std::string_view computer);

}  // namespace weft
