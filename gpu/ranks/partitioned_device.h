#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/model/open_model.h"

namespace weft {

/// A model on several ranks of this process, as one device. Each step runs on all ranks, each on
/// its own thread, and returns when all ranks have run it. For commands that look at models; a
/// pipeline of actors has an executor for each rank instead. One thread at a time may call.
class PartitionedDevice final : public ModelDevice {
 public:
  /// The devices of all ranks, stage by stage.
  using Devices = std::vector<std::unique_ptr<ModelDevice>>;

  /// The ranks have joined each other and were made with the same options.
  PartitionedDevice(std::shared_ptr<const Program> whole, Devices ranks);

  /// `options.threads` are divided among the ranks. Errors of devices_of() and of loading any rank.
  [[nodiscard]] static Result<std::unique_ptr<PartitionedDevice>> load(
      const OpenedModel& model, const Partition& partition, const DeviceOptions& options,
      const LoadProgress& progress = {});

  ~PartitionedDevice() override;

  [[nodiscard]] Result<PreparedAdapter> prepare_adapter(const Adapter& adapter) const override;
  void place_adapter(std::int32_t place, const PreparedAdapter& adapter) override;

  /// Throws ActorFailure(kDeviceLost) if a rank fails, and always from then on.
  void decode(const Step& step) override;
  void encode(const Step& step) override;
  [[nodiscard]] Rows results() override;
  [[nodiscard]] Rows hidden_states(std::int32_t first, std::int32_t count) override;
  [[nodiscard]] Rows logits_of(std::span<const std::int32_t> rows) override;

  /// The program of the whole model.
  [[nodiscard]] const Program& program() const override;
  [[nodiscard]] const DeviceOptions& options() const override;

 private:
  class Ranks;

  const std::shared_ptr<const Program> whole_;
  const std::unique_ptr<Ranks> ranks_;
};

}  // namespace weft
