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

/// The devices that are to run a model, and the memory that they may take.
struct DeviceWishes {
  /// Where each replica runs: a device as list_devices() names it, or a partition; see
  /// parse_replicas().
  std::vector<std::string> replicas{"cpu"};
  RankWorld world{};              ///< the processes that share the partition of the one replica
  int threads = 0;                ///< of the host devices together, or of the loading; 0: all
  std::optional<DType> kv_dtype;  ///< without: kv_dtype_for()
  std::string tuning{};           ///< a file of `weft tune`; empty: see cuda::find_tuning
  CapacityWishes capacity{};      ///< its kv_dtype is not looked at
  /// The budget that memory is claimed from, as long as one of the made devices lives; null: from
  /// the device's free memory.
  std::shared_ptr<MemoryBudget> budget{};
  /// Where a model on the host finds weights that another engine has loaded, and leaves its own for
  /// others; null: it loads weights of its own.
  std::shared_ptr<HostWeightPool> weights{};
  /// The draft model that guesses (CapacityWishes::guesses), on the host beside the model; null:
  /// none. It has the model's vocabulary.
  std::shared_ptr<const OpenedModel> draft{};
  bool looks_up = true;  ///< beside a draft model, guesses are looked up too
};

/// The type of keys and values where no setting names one: f32 on the host. On a GPU, or where a
/// GPU is among the devices, it is the type of the weights if that has 16 bits, and bf16 if they
/// are encoded.
[[nodiscard]] DType kv_dtype_for(const std::string& device, const Program& program);

struct StepDevices {
  DeviceLimits limits;               ///< of each: what fits where there is the least room
  std::vector<DeviceRanks> devices;  ///< by replica
};

/// Measures the devices, takes their memory and loads the model. Replicas of one device of the host
/// share its weights; all others load their own. kNoSuchDevice, kOutOfMemory, kDriver; kUnfit for
/// what a device has not, such as keys and values in int8 on a GPU, a memory budget for several
/// GPUs, and errors of parse_replicas().
[[nodiscard]] Result<StepDevices> load_step_devices(const OpenedModel& model,
                                                    const DeviceWishes& wishes,
                                                    const std::vector<TokenId>& end_tokens,
                                                    const LoadProgress& progress = {});

/// A device that a SequenceRunner uses, alone, with the tuning that is built in. `device` may be a
/// partition.
[[nodiscard]] Result<std::unique_ptr<ModelDevice>> load_model_device(
    const OpenedModel& model, const std::string& device, const DeviceOptions& options,
    const LoadProgress& progress = {});

}  // namespace weft
