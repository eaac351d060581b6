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

/// A device that a partition may be put together from.
struct ChoosableDevice {
  std::string name;  ///< as list_devices() has it
  std::int64_t free_bytes = 0;
  double bytes_per_second = 0;  ///< at which it reads its memory; not looked at where it is alone
  /// The memory it takes for a program; needs no more of the program than host_needs() does.
  std::function<DeviceNeeds(const Program& program, const CapacityWishes& wishes)> needs;
};

/// The wishes that matter for choosing a partition.
struct ChoiceWishes {
  CapacityWishes capacity{};      ///< its kv_dtype is not looked at
  std::optional<DType> kv_dtype;  ///< without: kv_dtype_for() what is chosen
  bool gpus_exchange = true;      ///< whether there is an NCCL, so that GPUs can share a model
  bool has_tuning = false;        ///< a file of `weft tune`, which the host alone cannot use
};

struct PartitionChoice {
  std::string partition;             ///< one device, or what parse_partition() reads
  std::vector<std::string> reasons;  ///< for people, one a line: what each has, and why not others
};

/// Chooses the partition that runs a step of one row fastest, if it has room for the weights, the
/// buffers and a sequence of capacity.context tokens (0: 4,096, or the model's context). A step's
/// time is the time of reading its bytes, stage by stage, and of the sums that ranks wait for.
/// Among partitions within a tenth of the fastest the one with the fewest devices is taken.
///
/// The candidates are each device alone; GPUs in numbers of a power of two and all of them, cut
/// into every number of equal stages; and, where only the host has room for all, as many of the
/// first layers on the GPUs as fit, with the rest on the host. Several ranks on the host are no
/// candidate: they would share its memory and its processors.
///
/// kOutOfMemory, or what else the devices say, with what each of the candidates lacks where none
/// has room. At least one device. Thread-safe.
[[nodiscard]] Result<PartitionChoice> choose_partition(const OpenedModel& model,
                                                       const std::vector<ChoosableDevice>& devices,
                                                       const ChoiceWishes& wishes);

/// Bytes of weights that a step of one row reads: all except the embedding's table and the experts
/// of a layer that the token does not choose.
[[nodiscard]] double bytes_of_row(const Program& program);

}  // namespace weft
