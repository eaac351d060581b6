#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/memory/memory_budget.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/ranks/world/rank_world.h"
#include "weft/gpu/step_device.h"
#include "weft/model/open_model.h"

namespace weft {

class HostWeightPool;

/// The devices that will run a model, and the memory that they may take.
struct DeviceWishes {
  /// Where each replica runs: a device by its name from list_devices(), or a partition; see
  /// parse_replicas().
  std::vector<std::string> replicas{"cpu"};
  RankWorld world{};  ///< the processes that share the partition, if there is one replica
  int threads = 0;    ///< threads of all host devices together, or of loading; 0: all
  std::optional<DType> kv_dtype;  ///< empty: kv_dtype_for()
  std::string tuning{};           ///< a file of `weft tune`; empty: see cuda::find_tuning
  CapacityWishes capacity{};      ///< its kv_dtype is ignored
  /// The budget from which memory is claimed, for as long as one of the devices lives. Null: the
  /// device's free memory.
  std::shared_ptr<MemoryBudget> budget{};
  /// Where a model on the host finds weights that another engine has loaded, and offers its own.
  /// Null: it loads its own weights.
  std::shared_ptr<HostWeightPool> weights{};
  /// The draft model that guesses (CapacityWishes::guesses), on the host beside the model. It has
  /// the model's vocabulary. Null: none.
  std::shared_ptr<const OpenedModel> draft{};
  bool looks_up = true;  ///< with a draft model, guesses are also looked up
};

/// Returns the type of keys and values if no setting names one: f32 on the host. If a GPU is among
/// the devices, it is the type of the weights if that has 16 bits, and bf16 if the weights are
/// encoded.
[[nodiscard]] DType kv_dtype_for(const std::string& device, const Program& program);

struct StepDevices {
  DeviceLimits limits;  ///< limits of each device: those that fit where there is the least room
  std::vector<DeviceRanks> devices;  ///< by replica
};

/// Measures the devices, takes their memory and loads the model. Replicas on the host share its
/// weights; all others load their own. kNoSuchDevice, kOutOfMemory, kDriver; kUnfit for what a
/// device lacks, such as keys and values in int8 on a GPU or a memory budget for several GPUs;
/// errors of parse_replicas().
[[nodiscard]] Result<StepDevices> load_step_devices(const OpenedModel& model,
                                                    const DeviceWishes& wishes,
                                                    const std::vector<TokenId>& end_tokens,
                                                    const LoadProgress& progress = {});

/// Loads a device for a SequenceRunner alone, with the built-in tuning. `device` may be a
/// partition.
[[nodiscard]] Result<std::unique_ptr<ModelDevice>> load_model_device(
    const OpenedModel& model, const std::string& device, const DeviceOptions& options,
    const LoadProgress& progress = {});

}  // namespace weft
