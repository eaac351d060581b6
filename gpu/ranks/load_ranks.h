#pragma once

#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/load_progress.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/model/open_model.h"

namespace weft {

/// Measures the devices of the replicas' partitions, takes their memory and loads each rank's part
/// of the model, all at once. `replicas` come from the wishes, read by parse_replicas(). Errors as
/// load_step_devices().
[[nodiscard]] Result<StepDevices> load_ranks(const OpenedModel& model,
                                             const std::vector<Partition>& replicas,
                                             const DeviceWishes& wishes,
                                             const std::vector<TokenId>& end_tokens,
                                             const LoadProgress& progress);

}  // namespace weft
