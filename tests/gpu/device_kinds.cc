#include "weft/tests/gpu/device_kinds.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/core/kv_dtype.h"
#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/ranks/host_ranks.h"
#include "weft/gpu/ranks/mixed_ranks.h"
#include "weft/gpu/ranks/partitioned_device.h"
#include "weft/gpu/ranks/step_ranks.h"
#include "weft/gpu/step_options.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/spec/spec.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"

namespace weft::test {
namespace {

using MakeRuntime = std::function<std::unique_ptr<cuda::Runtime>()>;

std::string name_with(std::string name, DType kv_dtype) {
  if (kv_dtype != DType::kF32) name.append("_").append(kv_dtype_name(kv_dtype));
  return name;
}

DeviceKind kind_of(std::string name, DType kv_dtype, const MakeRuntime& make_runtime,
                   const cuda::Tuning& tuning = {}) {
  DeviceKind kind;
  kind.name = name_with(std::move(name), kv_dtype);
  kind.kv_dtype = kv_dtype;
  kind.load = [make_runtime, tuning](const auto& checkpoint, const auto& program,
                                     DeviceOptions options) {
    options.threads = 1;
    return cuda::CudaDevice::load(make_runtime(), checkpoint, program, options, tuning).value();
  };
  kind.load_steps = [make_runtime, kv_dtype, tuning](const auto& checkpoint, const auto& program,
                                                     const DeviceLimits& limits) {
    return load_gpu_steps(make_runtime(), checkpoint, program, limits, kv_dtype, {}, tuning)
        .value();
  };
  return kind;
}

template <class Device>
std::unique_ptr<StepDevice> as_one(std::vector<std::unique_ptr<Device>> ranks) {
  return std::make_unique<StepRanks>(
      DeviceRanks(std::make_move_iterator(ranks.begin()), std::make_move_iterator(ranks.end())));
}

/// The devices of a model whose weights' types a test has changed.
std::vector<std::shared_ptr<const Program>> parts(const OpenedModel& model,
                                                  const Partition& partition) {
  auto programs = compile_parts(model, partition).value();
  const auto& whole = model.program->matrices;
  const bool alike = std::ranges::all_of(
      whole, [&](const MatrixPlan& one) { return one.dtype == whole.front().dtype; });
  if (whole.empty() || !alike) return programs;
  for (auto& program : programs) {
    Program own = *program;
    for (MatrixPlan& matrix : own.matrices) {
      if (matrix.runs.empty()) matrix.dtype = whole.front().dtype;
    }
    program = std::make_shared<const Program>(std::move(own));
  }
  return programs;
}

std::size_t gpus_of(const Partition& partition) {
  std::size_t count = 0;
  for (const Partition::Stage& stage : partition.stages) {
    if (!stage.is_on_host()) count += stage.devices.size();
  }
  return count;
}

/// The GPUs of a partition, opened.
using OpenRanks = std::function<GpuRanks(const OpenedModel& model, const Partition& partition,
                                         const DeviceOptions& options)>;

/// With ranks on the host beside those that `open` opens.
DeviceKind mixed_ranks(DeviceKind kind, const Partition& cut, const OpenRanks& open) {
  const auto plan = [cut, open](const OpenedModel& model, const DeviceOptions& options) {
    return plan_mixed_ranks(model, cut, parts(model, cut), open(model, cut, options), options)
        .value();
  };
  kind.load = [plan](const auto& checkpoint, const auto& program, DeviceOptions options) {
    options.threads = 1;
    const OpenedModel model = opened(checkpoint, program);
    return std::make_unique<PartitionedDevice>(
        program, load_mixed_ranks(model, plan(model, options), {}).value());
  };
  kind.load_steps = [plan](const auto& checkpoint, const auto& program,
                           const DeviceLimits& limits) {
    const OpenedModel model = opened(checkpoint, program);
    const DeviceOptions options = step_options(*program, limits, DType::kF32, 1);
    return std::make_unique<StepRanks>(
        load_mixed_step_ranks(model, plan(model, options), limits, {}, {}).value());
  };
  return kind;
}

/// The ranks of a partition of which some or all are GPUs.
DeviceKind gpu_ranks(const std::string& name, const std::string& partition, const OpenRanks& open) {
  DeviceKind kind;
  kind.name = name;
  const Partition cut = parse_partition(partition).value();
  kind.stages = cut.stages.size();
  if (devices_of(cut).value() == RankDevices::kBoth) return mixed_ranks(kind, cut, open);
  kind.load = [cut, open](const auto& checkpoint, const auto& program, DeviceOptions options) {
    options.threads = 1;
    const OpenedModel model = opened(checkpoint, program);
    auto devices = load_gpu_ranks(model, open(model, cut, options), options, {}).value();
    return std::make_unique<PartitionedDevice>(
        program, PartitionedDevice::Devices(std::make_move_iterator(devices.begin()),
                                            std::make_move_iterator(devices.end())));
  };
  kind.load_steps = [cut, open](const auto& checkpoint, const auto& program,
                                const DeviceLimits& limits) {
    const OpenedModel model = opened(checkpoint, program);
    const DeviceOptions options = step_options(*program, limits, DType::kF32, 1);
    auto devices =
        load_gpu_step_ranks(model, open(model, cut, options), limits, options, {}, {}).value();
    return as_one(std::move(devices));
  };
  return kind;
}

}  // namespace

Result<std::unique_ptr<cuda::CudaStepDevice>> load_gpu_steps(
    std::unique_ptr<cuda::Runtime> runtime, const std::shared_ptr<const Checkpoint>& checkpoint,
    const std::shared_ptr<const Program>& program, const DeviceLimits& limits, DType kv_dtype,
    const std::vector<TokenId>& end_tokens, const cuda::Tuning& tuning) {
  const DeviceOptions options = step_options(*program, limits, kv_dtype, 1);
  auto device = cuda::CudaDevice::load(std::move(runtime), checkpoint, program, options, tuning);
  if (!device) return device.error();
  return cuda::CudaStepDevice::make(*std::move(device), limits, end_tokens);
}

OpenedModel opened(const std::shared_ptr<const Checkpoint>& checkpoint,
                   const std::shared_ptr<const Program>& program) {
  const Spec spec = find_spec(*checkpoint).value();
  auto architecture =
      std::make_shared<const Architecture>(resolve_architecture(spec, *checkpoint).value());
  return {checkpoint, program, "test", std::move(architecture)};
}

GpuRanks fake_gpu_ranks(const OpenedModel& model, const Partition& partition,
                        const DeviceOptions& options,
                        const std::vector<std::shared_ptr<FakeGpu>>& gpus) {
  GpuRanks ranks;
  const auto all = std::make_shared<cuda::CudaRanks>(partition.widths(), partition.host_stages());
  const auto programs = parts(model, partition);
  for (std::size_t stage = 0, number = 0; stage < partition.stages.size(); ++stage) {
    for (std::int32_t rank = 0; rank < all->widths[stage]; ++rank, ++number) {
      if (partition.stages[stage].is_on_host()) continue;
      ranks.programs.push_back(programs[number]);
      ranks.places.push_back({all, static_cast<std::int32_t>(stage), rank});
    }
  }
  RanksLayout layout = layout_of(model, partition, options);
  layout.shares_processors = true;
  const auto shared = SharedRanks::make(layout).value();
  for (const auto& gpu : gpus) {
    gpu->ranks = shared;
    ranks.runtimes.push_back(std::make_unique<FakeRuntime>(gpu));
    ranks.tunings.emplace_back();
  }
  return ranks;
}

DeviceKind fake_gpu_ranks_kind(const std::string& name, const std::string& partition) {
  return gpu_ranks(name, partition, [](const auto& model, const auto& cut, const auto& options) {
    std::vector<std::shared_ptr<FakeGpu>> gpus(gpus_of(cut));
    for (auto& gpu : gpus) gpu = std::make_shared<FakeGpu>();
    return fake_gpu_ranks(model, cut, options, gpus);
  });
}

DeviceKind gpu_ranks_kind(const std::string& name, const std::string& partition) {
  auto kind = gpu_ranks(name, partition, [](const auto& model, const auto& cut, const auto&) {
    return open_gpu_ranks(model, cut, parts(model, cut), {}).value();
  });
  kind.gpus = gpus_of(parse_partition(partition).value());
  return kind;
}

DeviceKind ranks_kind(const std::string& name, const std::string& partition) {
  DeviceKind kind;
  kind.name = name;
  kind.stages = parse_partition(partition).value().stages.size();
  kind.load = [partition](const auto& checkpoint, const auto& program,
                          const DeviceOptions& options) {
    return PartitionedDevice::load(opened(checkpoint, program), parse_partition(partition).value(),
                                   options)
        .value();
  };
  kind.load_steps = [partition](const auto& checkpoint, const auto& program,
                                const DeviceLimits& limits) {
    const OpenedModel model = opened(checkpoint, program);
    const Partition cut = parse_partition(partition).value();
    const HostRanks plan = plan_host_ranks(model, cut, compile_parts(model, cut).value(),
                                           step_options(*program, limits, DType::kF32, 1))
                               .value();
    auto devices = load_host_ranks(model, plan, {}).value();
    std::vector<std::unique_ptr<HostStepDevice>> ranks;
    for (auto& device : devices) {
      ranks.push_back(
          std::make_unique<HostStepDevice>(std::move(device), limits, std::vector<TokenId>{}));
    }
    return as_one(std::move(ranks));
  };
  return kind;
}

DeviceKind host_kind(int threads, DType kv_dtype) {
  DeviceKind kind;
  kind.name = name_with("host", kv_dtype);
  kind.kv_dtype = kv_dtype;
  kind.load = [threads](const auto& checkpoint, const auto& program, DeviceOptions options) {
    options.threads = threads;
    options.always_all_threads = true;
    return HostDevice::load(checkpoint, program, options).value();
  };
  kind.load_steps = [threads, kv_dtype](const auto& checkpoint, const auto& program,
                                        const DeviceLimits& limits) {
    auto options = step_options(*program, limits, kv_dtype, threads);
    options.always_all_threads = true;
    return std::make_unique<HostStepDevice>(HostDevice::load(checkpoint, program, options).value(),
                                            limits, std::vector<TokenId>{});
  };
  return kind;
}

DeviceKind fake_gpu_kind(DType kv_dtype) {
  return kind_of("fake_gpu", kv_dtype,
                 [] { return std::make_unique<FakeRuntime>(std::make_shared<FakeGpu>()); });
}

DeviceKind gpu_kind(DType kv_dtype) {
  DeviceKind kind = kind_of("gpu", kv_dtype, [] { return cuda::open_runtime(0).value(); });
  kind.gpus = 1;
  return kind;
}

DeviceKind fetching_gpu_kind() {
  cuda::Tuning tuning;
  for (const char* line : {"avoid flat", "avoid codes"}) {
    if (!tuning.linear.read_line(line).empty()) internal_error(line);
  }
  DeviceKind kind =
      kind_of("gpu_fetching", DType::kF32, [] { return cuda::open_runtime(0).value(); }, tuning);
  kind.gpus = 1;
  return kind;
}

DeviceKind with_kv_on_host(DeviceKind kind) {
  kind.name += "_kv_on_host";
  kind.load = [load = std::move(kind.load)](const auto& checkpoint, const auto& program,
                                            DeviceOptions options) {
    options.kv_on_host = true;
    return load(checkpoint, program, options);
  };
  kind.load_steps = [load = std::move(kind.load_steps)](const auto& checkpoint, const auto& program,
                                                        DeviceLimits limits) {
    limits.kv_on_host = true;
    return load(checkpoint, program, limits);
  };
  return kind;
}

std::size_t gpu_count() {
  const auto devices = cuda::list_devices();
  return devices ? devices->size() : 0;
}

}  // namespace weft::test
