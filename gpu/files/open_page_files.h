#pragma once

#include <memory>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/gpu/files/page_files.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/step_device.h"
#include "weft/model/open_model.h"

namespace weft {

/// Returns a key for pages that mean the same for the same tokens. It depends on the model's
/// description and program, its tensors (name, shape, samples of their bytes), the type of keys and
/// values, the tokens of a page, and the computing device (`computer`: the host's instructions, or
/// which GPU). Reads some KiB of each tensor; returns the errors of reading.
[[nodiscard]] Result<PageKey> page_identity(const OpenedModel& model, DType kv_dtype,
                                            const DeviceLimits& limits, std::string_view computer);

/// Opens the wished folder for a device's pages. The device's memory must outlive the files' use of
/// it (PageFiles::close). kUnfit names `cache.folder` and the reason why it cannot be used; also
/// errors of page_identity().
[[nodiscard]] Result<std::shared_ptr<PageFiles>> open_page_files(const OpenedModel& model,
                                                                 const CapacityWishes& wishes,
                                                                 const DeviceLimits& limits,
                                                                 std::unique_ptr<PageMemory> memory,
                                                                 std::string_view computer);

}  // namespace weft
