#include "weft/gpu/ranks/partitioned_device.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <utility>

#include "weft/core/actor/supervision.h"
#include "weft/gpu/ranks/cuda_ranks.h"
#include "weft/gpu/ranks/host_ranks.h"
#include "weft/gpu/ranks/mixed_ranks.h"
#include "weft/gpu/ranks/rank_threads.h"

namespace weft {

class PartitionedDevice::Ranks {
 public:
  explicit Ranks(Devices devices) : devices_(std::move(devices)), threads_(devices_.size()) {
    for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
      if (devices_[rank]->program().gives_results) last_ = rank;
    }
  }

  /// If a rank fails, it ends the other ranks, which would wait for it.
  void run(const std::function<void(ModelDevice&)>& work) {
    threads_.run([&](std::size_t rank) {
      ModelDevice& device = *devices_[rank];
      try {
        work(device);
      } catch (const std::exception& failure) {
        device.abandon();
        throw ActorFailure(ExitKind::kDeviceLost, failure.what());
      }
    });
  }

  [[nodiscard]] const Devices& devices() const { return devices_; }
  /// Returns the rank that has the results.
  [[nodiscard]] ModelDevice& last() { return *devices_[last_]; }

 private:
  Devices devices_;
  RankThreads threads_;
  std::size_t last_ = 0;
};

namespace {

/// Converts ranks of any kind to devices.
template <class Device>
PartitionedDevice::Devices as_devices(std::vector<std::unique_ptr<Device>> ranks) {
  return {std::make_move_iterator(ranks.begin()), std::make_move_iterator(ranks.end())};
}

Result<PartitionedDevice::Devices> load_gpu_devices(
    const OpenedModel& model, const Partition& partition,
    std::vector<std::shared_ptr<const Program>> programs, const DeviceOptions& options,
    const LoadProgress& progress) {
  auto ranks = open_gpu_ranks(model, partition, std::move(programs), {});
  if (!ranks) return ranks.error();
  DeviceOptions own = options;
  own.threads = threads_of_rank(partition, options.threads);
  auto devices = load_gpu_ranks(model, *std::move(ranks), own, progress);
  if (!devices) return devices.error();
  return as_devices(*std::move(devices));
}

Result<PartitionedDevice::Devices> load_host_devices(
    const OpenedModel& model, const Partition& partition,
    std::vector<std::shared_ptr<const Program>> programs, const DeviceOptions& options,
    const LoadProgress& progress) {
  const auto ranks = plan_host_ranks(model, partition, std::move(programs), options);
  if (!ranks) return ranks.error();
  auto devices = load_host_ranks(model, *ranks, progress);
  if (!devices) return devices.error();
  return as_devices(*std::move(devices));
}

Result<PartitionedDevice::Devices> load_mixed_devices(
    const OpenedModel& model, const Partition& partition,
    std::vector<std::shared_ptr<const Program>> programs, const DeviceOptions& options,
    const LoadProgress& progress) {
  auto gpus = open_gpu_ranks(model, partition, programs, {});
  if (!gpus) return gpus.error();
  auto ranks = plan_mixed_ranks(model, partition, std::move(programs), *std::move(gpus), options);
  if (!ranks) return ranks.error();
  return load_mixed_ranks(model, *std::move(ranks), progress);
}

}  // namespace

PartitionedDevice::PartitionedDevice(std::shared_ptr<const Program> whole, Devices ranks)
    : whole_(std::move(whole)), ranks_(std::make_unique<Ranks>(std::move(ranks))) {}

PartitionedDevice::~PartitionedDevice() = default;

Result<std::unique_ptr<PartitionedDevice>> PartitionedDevice::load(const OpenedModel& model,
                                                                   const Partition& partition,
                                                                   const DeviceOptions& options,
                                                                   const LoadProgress& progress) {
  const auto kind = devices_of(partition);
  if (!kind) return kind.error();
  auto programs = compile_parts(model, partition);
  if (!programs) return programs.error();
  const auto load = *kind == RankDevices::kHost   ? load_host_devices
                    : *kind == RankDevices::kGpus ? load_gpu_devices
                                                  : load_mixed_devices;
  auto devices = load(model, partition, *std::move(programs), options, progress);
  if (!devices) return devices.error();
  return std::make_unique<PartitionedDevice>(model.program, *std::move(devices));
}

Result<PreparedAdapter> PartitionedDevice::prepare_adapter(const Adapter& adapter) const {
  PreparedAdapter all;
  for (const auto& device : ranks_->devices()) {
    const auto one = device->prepare_adapter(adapter);
    if (!one) return one.error();
    all.id = one->id;
    all.bytes += one->bytes;
    all.by_rank.insert(all.by_rank.end(), one->by_rank.begin(), one->by_rank.end());
  }
  return all;
}

void PartitionedDevice::place_adapter(std::int32_t place, const PreparedAdapter& adapter) {
  ranks_->run([&](ModelDevice& device) { device.place_adapter(place, adapter); });
}

void PartitionedDevice::decode(const Step& step) {
  ranks_->run([&](ModelDevice& device) { device.decode(step); });
}

void PartitionedDevice::encode(const Step& step) {
  ranks_->run([&](ModelDevice& device) { device.encode(step); });
}

Rows PartitionedDevice::results() { return ranks_->last().results(); }

Rows PartitionedDevice::hidden_states(std::int32_t first, std::int32_t count) {
  return ranks_->last().hidden_states(first, count);
}

Rows PartitionedDevice::logits_of(std::span<const std::int32_t> rows) {
  Rows logits;
  const ModelDevice* last = &ranks_->last();
  const Program& with_head = last->program();
  ranks_->run([&](ModelDevice& device) {
    if (device.program().part.first_layer != with_head.part.first_layer) return;
    const Rows own = device.logits_of(rows);
    if (&device == last) logits = own;
  });
  return logits;
}

const Program& PartitionedDevice::program() const { return *whole_; }
const DeviceOptions& PartitionedDevice::options() const { return ranks_->last().options(); }

}  // namespace weft
