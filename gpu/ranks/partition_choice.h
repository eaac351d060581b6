#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/model/open_model.h"

namespace weft {

/// A device that a partition may use.
struct ChoosableDevice {
  std::string name;  ///< name from list_devices()
  std::int64_t free_bytes = 0;
  double bytes_per_second = 0;  ///< rate of reading its memory; ignored if it is the only device
  /// Returns the memory that the device takes for a program; needs no more of the program than
  /// host_needs() does.
  std::function<DeviceNeeds(const Program& program, const CapacityWishes& wishes)> needs;
};

/// The wishes that matter for choosing a partition.
struct ChoiceWishes {
  CapacityWishes capacity{};      ///< its kv_dtype is ignored
  std::optional<DType> kv_dtype;  ///< empty: kv_dtype_for() the chosen devices
  bool gpus_exchange = true;      ///< NCCL is available, so GPUs can share a model
  bool has_tuning = false;  ///< there is a file of `weft tune`, which the host alone cannot use
};

struct PartitionChoice {
  std::string partition;  ///< one device, or a text for parse_partition()
  /// For people, one a line: what each device has, and why other candidates were not chosen.
  std::vector<std::string> reasons;
};

/// Chooses the partition that runs a step of one row fastest, if it has room for the weights, the
/// buffers and a sequence of capacity.context tokens (0: 4,096, or the model's context). A step's
/// time is the time of reading its bytes, stage by stage, and of the sums that ranks wait for.
/// Among partitions within a tenth of the fastest the one with the fewest devices is taken.
///
/// The candidates are each device alone; GPUs in numbers of a power of two, and all GPUs, cut into
/// every number of equal stages. If only the host has room for all layers, a candidate has as many
/// of the first layers on the GPUs as fit, and the rest on the host. Several ranks on the host are
/// no candidate, because they would share its memory and its processors.
///
/// kOutOfMemory, or a device's error, says what each candidate lacks if none has room. At least one
/// device. Thread-safe.
[[nodiscard]] Result<PartitionChoice> choose_partition(const OpenedModel& model,
                                                       const std::vector<ChoosableDevice>& devices,
                                                       const ChoiceWishes& wishes);

/// Returns the bytes of weights that a step of one row reads: all except the embedding's table and
/// the experts that the token does not choose.
[[nodiscard]] double bytes_of_row(const Program& program);

}  // namespace weft
