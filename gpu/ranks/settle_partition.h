#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/ranks/partition_choice.h"
#include "weft/model/open_model.h"

namespace weft {

/// Whether this text leaves the choice of devices to Weft: "auto".
[[nodiscard]] bool is_auto_partition(std::string_view text) noexcept;

/// Returns the partition for a model that is to run on `text`: `text` itself, without reasons,
/// unless it is "auto". For "auto" it is choose_partition()'s choice among this machine's devices.
/// If there are several devices, each is measured first, which takes some seconds and up to 1 GiB
/// of its memory. GPUs that do not answer are left out, and the reasons say so. Thread-safe.
[[nodiscard]] Result<PartitionChoice> settle_partition(const OpenedModel& model,
                                                       const std::string& text,
                                                       const CapacityWishes& capacity,
                                                       std::optional<DType> kv_dtype = {},
                                                       bool has_tuning = false);

}  // namespace weft
