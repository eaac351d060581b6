#include "weft/gpu/ranks/world/world_rank.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

#include "weft/gpu/cuda/cuda_capacity.h"
#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/cuda/tuning/find_tuning.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/host/host_processors.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/ranks/cuda_ranks.h"
#include "weft/gpu/ranks/host_ranks.h"
#include "weft/gpu/ranks/world/machine_name.h"
#include "weft/gpu/ranks/world/network_link.h"
#include "weft/gpu/step_options.h"
#include "weft/model/spec/architecture.h"

namespace weft {
namespace {

Result<std::unique_ptr<cuda::Runtime>> open_machine_gpu(const std::string& device) {
  const auto index = cuda::device_index(device);
  if (!index) return Error{index.error().code, "partition: " + index.error().detail};
  auto runtime = cuda::open_runtime(*index);
  if (runtime && nccl_version().empty()) {
    return Error{DeviceErrc::kUnfit,
                 "partition: NCCL is not there, by which GPUs exchange numbers"};
  }
  return runtime;
}

Result<std::vector<cuda::CudaRanks::GroupId>> name_machine_groups(
    const std::vector<std::int32_t>& widths) {
  const auto ranks = cuda::make_ranks(widths);
  if (!ranks) return ranks.error();
  return (*ranks)->ids;
}

/// Whether this process sees the head's memory.
bool sees_memory(const RankQuestion& question) {
  if (question.memory.empty()) return false;
  const auto memory = HostMemory::open_shared(question.memory, sizeof(question.mark));
  if (!memory) return false;
  std::uint64_t mark = 0;
  std::memcpy(&mark, memory->bytes().data(), sizeof(mark));
  return mark == question.mark;
}

/// Returns the stage of a rank.
std::int32_t stage_of(const Partition& partition, std::int32_t index) {
  std::int32_t stage = 0;
  for (const std::int32_t width : partition.widths()) {
    if (index < width) break;
    index -= width;
    ++stage;
  }
  return stage;
}

int threads_of(const RankSetup& setup) {
  const int all = setup.threads > 0 ? setup.threads : host_parallelism();
  return std::max(1, all / setup.neighbours);
}

}  // namespace

WorldGpus machine_gpus() { return {open_machine_gpu, name_machine_groups}; }

WorldRank::WorldRank(const OpenedModel& model, const RankWorld& world, WorldRankOptions options)
    : model_(model), world_(world), options_(std::move(options)) {}

Result<RankRoom> WorldRank::room(const RankQuestion& question, const std::string& own_host) {
  auto partition = parse_partition(question.partition);
  if (!partition) return partition.error();
  partition_ = *std::move(partition);
  const auto kind = devices_of(partition_, true);
  if (!kind) return kind.error();
  if (*kind == RankDevices::kBoth) {
    return Error{DeviceErrc::kUnfit,
                 "partition: ranks on GPUs and on the host are threads of one process"};
  }
  const auto layers = static_cast<std::int64_t>(model_.architecture->decoder.layers.size());
  const auto parts = parts_of(partition_, layers);
  if (!parts) return parts.error();
  if (std::cmp_greater_equal(question.index, parts->size())) {
    return Error{DeviceErrc::kRankLost, "a question that fits no partition"};
  }
  const ProgramPart& part = (*parts)[static_cast<std::size_t>(question.index)];
  auto program = compile(*model_.architecture, *model_.checkpoint, part);
  if (!program) return program.error();
  program->context = model_.program->context;
  program_ = std::make_shared<const Program>(*std::move(program));
  stage_ = stage_of(partition_, question.index);
  const Partition::Stage& stage = partition_.stages[static_cast<std::size_t>(stage_)];
  if (!stage.is_on_host()) return room_on_gpu(stage.devices[static_cast<std::size_t>(part.rank)]);
  auto mesh = RankMesh::open(own_host);
  if (!mesh) return mesh.error();
  mesh_.emplace(*std::move(mesh));
  RankRoom room;
  room.machine = machine_name();
  room.free_bytes = static_cast<std::int64_t>(host_info().free_bytes);
  room.sees_memory = sees_memory(question);
  room.address = mesh_->port();
  return room;
}

Result<RankRoom> WorldRank::room_on_gpu(const std::string& device) {
  auto runtime = options_.gpus.open(device);
  if (!runtime) return runtime.error();
  runtime_ = *std::move(runtime);
  const auto free_bytes = cuda::free_memory(*runtime_);
  if (!free_bytes) return free_bytes.error();
  cuda::Properties gpu = runtime_->properties();
  RankRoom room;
  room.machine = machine_name();
  room.free_bytes = *free_bytes;
  room.host_bytes = static_cast<std::int64_t>(host_info().free_bytes);
  room.device = std::move(gpu.name);
  room.processors = gpu.processors;
  room.architecture = gpu.architecture;
  room.l2_bytes = gpu.l2_bytes;
  return room;
}

Result<std::unique_ptr<StepDevice>> WorldRank::load(const RankSetup& setup,
                                                    const std::stop_token& lost) {
  if (fingerprint_of(*program_) != setup.fingerprint) {
    return Error{DeviceErrc::kUnfit, "this process has another model than the head"};
  }
  return runtime_ ? load_on_gpu(setup, lost) : load_on_host(setup, lost);
}

Result<std::unique_ptr<RankLink>> WorldRank::link(const RankSetup& setup,
                                                  const std::stop_token& lost) {
  const RanksLayout layout =
      layout_of(model_, partition_,
                step_options(*model_.program, setup.limits, setup.kv_dtype, setup.threads));
  if (!setup.memory.empty()) {
    auto memory = HostMemory::open_shared(setup.memory, SharedRanks::bytes(layout));
    if (!memory) return memory.error();
    return SharedRanks::on(layout, *std::move(memory))->link(stage_, program_->part.rank);
  }
  const auto ranks = static_cast<std::int32_t>(partition_.ranks());
  if (setup.addresses.size() != partition_.ranks()) {
    return Error{DeviceErrc::kRankLost, "a setup that fits no partition"};
  }
  auto met = mesh_->connect(world_, setup.addresses, lost);
  if (!met) return met.error();
  const std::int32_t chooses = ranks - partition_.widths().back();
  std::vector<std::unique_ptr<RankSocket>> peers(met->size());
  for (std::int32_t process = 0; process < ranks; ++process) {
    const auto index = static_cast<std::size_t>(index_of_process(process, ranks, chooses));
    peers[index] = std::move((*met)[static_cast<std::size_t>(process)]);
  }
  return std::make_unique<NetworkLink>(layout, stage_, program_->part.rank, std::move(peers));
}

/// Returns a progress that ends the loading when a rank is lost.
LoadProgress WorldRank::until(const std::stop_token& lost) const {
  LoadProgress progress = options_.progress;
  progress.stop = lost;
  return progress;
}

Result<std::unique_ptr<StepDevice>> WorldRank::load_on_host(const RankSetup& setup,
                                                            const std::stop_token& lost) {
  auto linked = link(setup, lost);
  if (!linked) return linked.error();
  const DeviceOptions options =
      step_options(*model_.program, setup.limits, setup.kv_dtype, threads_of(setup));
  auto device =
      HostDevice::load(model_.checkpoint, program_, options, until(lost), *std::move(linked));
  if (!device) return device.error();
  return std::make_unique<HostStepDevice>(*std::move(device), setup.limits, options_.end_tokens);
}

Result<std::unique_ptr<StepDevice>> WorldRank::load_on_gpu(const RankSetup& setup,
                                                           const std::stop_token& lost) {
  const auto all = std::make_shared<cuda::CudaRanks>(partition_.widths());
  if (all->groups.size() != setup.groups.size()) {
    return Error{DeviceErrc::kRankLost, "a setup that fits no partition"};
  }
  all->ids = setup.groups;
  all->several_processes = true;
  const std::stop_callback leave(lost,
                                 [&all] { all->lost.store(true, std::memory_order_release); });
  auto tuning = cuda::find_tuning(options_.tuning, runtime_->properties().name, *model_.program);
  if (!tuning) return tuning.error();
  GpuRanks own;
  own.programs.push_back(program_);
  own.runtimes.push_back(std::move(runtime_));
  own.tunings.push_back(*std::move(tuning));
  own.places.push_back({all, stage_, program_->part.rank});
  const DeviceOptions options =
      step_options(*model_.program, setup.limits, setup.kv_dtype, threads_of(setup));
  auto devices = load_gpu_step_ranks(model_, std::move(own), setup.limits, options,
                                     options_.end_tokens, until(lost));
  if (!devices) return devices.error();
  return std::move(devices->front());
}

}  // namespace weft
