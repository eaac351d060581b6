#include "weft/gpu/load_step_devices.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "weft/gpu/cuda/cuda_capacity.h"
#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/cuda/tuning/find_tuning.h"
#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/drafting/host_drafts.h"
#include "weft/gpu/drafting/model_drafter.h"
#include "weft/gpu/files/open_page_files.h"
#include "weft/gpu/host/host_capacity.h"
#include "weft/gpu/host/host_processors.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/host/host_weight_pool.h"
#include "weft/gpu/memory/memory_portion.h"
#include "weft/gpu/ranks/load_at_once.h"
#include "weft/gpu/ranks/load_ranks.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/partitioned_device.h"
#include "weft/gpu/step_options.h"
#include "weft/kernels/simd/simd_target.h"

namespace weft {
namespace {

/// Returns the memory of all replicas together: the weights once, everything else for each.
DeviceNeeds needs_of_replicas(const Program& program, const CapacityWishes& wishes,
                              std::size_t count) {
  const auto replicas = static_cast<std::int64_t>(count);
  DeviceNeeds needs = host_needs(program, wishes);
  needs.page_bytes *= replicas;
  needs.bytes = [one = std::move(needs.bytes), weights = needs.weight_bytes,
                 replicas](const DeviceLimits& limits) {
    return weights + replicas * (one(limits) - weights);
  };
  return needs;
}

/// The weights of a model on the host: another engine's, or its own, which other engines can use
/// later.
class PooledWeights {
 public:
  PooledWeights(const OpenedModel& model, const DeviceWishes& wishes)
      : model_(model), wishes_(wishes) {
    if (wishes.weights) entry_ = wishes.weights->find(*model.program);
  }

  /// Returns the bytes of the weights that must still be loaded.
  [[nodiscard]] std::int64_t bytes(const DeviceNeeds& needs) const {
    return entry_ ? 0 : needs.weight_bytes;
  }
  /// Claims memory for the weights that are still to be loaded, for as long as any engine uses
  /// them.
  Result<void> claim(std::int64_t bytes) {
    if (!wishes_.weights || entry_ || !wishes_.budget) return {};
    auto claimed = wishes_.budget->take([bytes](std::int64_t left) -> Result<std::int64_t> {
      if (bytes <= left) return bytes;
      return Error{DeviceErrc::kOutOfMemory, "no room is left for the weights"};
    });
    if (!claimed) return claimed.error();
    claim_.emplace(*std::move(claimed));
    return {};
  }
  Result<std::unique_ptr<HostDevice>> load(const DeviceOptions& options,
                                           const LoadProgress& progress) {
    if (entry_) {
      return HostDevice::with_weights(model_.checkpoint, model_.program, entry_->weights, options);
    }
    const bool others = wishes_.weights && wishes_.weights->has_any();
    auto device = HostDevice::load(model_.checkpoint, model_.program, options, progress, nullptr,
                                   others ? LoadBeside::kOthers : LoadBeside::kNobody);
    if (device && wishes_.weights) {
      MemoryClaim claim = claim_ ? *std::move(claim_) : MemoryClaim();
      entry_ = wishes_.weights->add(*model_.program, (*device)->weights(), std::move(claim));
    }
    return device;
  }
  [[nodiscard]] const std::shared_ptr<const HostWeightPool::Entry>& entry() const { return entry_; }

 private:
  const OpenedModel& model_;
  const DeviceWishes& wishes_;
  std::shared_ptr<const HostWeightPool::Entry> entry_;
  std::optional<MemoryClaim> claim_;
};

/// Returns the needs of a replica that already has its weights.
DeviceNeeds without_weights(DeviceNeeds needs) {
  needs.bytes = [all = std::move(needs.bytes), weights = needs.weight_bytes](
                    const DeviceLimits& limits) { return all(limits) - weights; };
  needs.weight_bytes = 0;
  return needs;
}

/// Gives a device a drafter for as many guesses as its limits allow.
template <class Device>
Result<void> use_drafter(Device& device, HostDrafters& drafters, const LoadProgress& progress) {
  auto drafter = drafters.make(device.limits(), progress);
  if (!drafter) return drafter.error();
  device.use(*std::move(drafter));
  return {};
}

Error several_replicas() { return {DeviceErrc::kUnfit, "cache.folder: files are of one replica"}; }

Result<StepDevices> load_on_host(const OpenedModel& model, const DeviceWishes& wishes,
                                 const CapacityWishes& capacity,
                                 const std::vector<TokenId>& end_tokens,
                                 const LoadProgress& progress) {
  if (!wishes.tuning.empty()) {
    return Error{DeviceErrc::kUnfit, "device.tuning: " + wishes.tuning +
                                         " is for a GPU, and the device is " +
                                         std::string(kHostDevice)};
  }
  if (capacity.host_bytes > 0) {
    return Error{DeviceErrc::kUnfit,
                 "cache.host_bytes: the KV cache of the device cpu is in host memory; "
                 "memory.bytes says how much it may take"};
  }
  const auto free_bytes = static_cast<std::int64_t>(host_info().free_bytes);
  const std::size_t replicas = wishes.replicas.size();
  if (!capacity.files.empty() && replicas > 1) return several_replicas();
  PooledWeights weights(model, wishes);
  DeviceNeeds needs = needs_of_replicas(*model.program, capacity, replicas);
  const std::int64_t weight_bytes = weights.bytes(needs);
  if (weight_bytes == 0) needs = without_weights(std::move(needs));
  if (wishes.draft) {
    if (auto fits = check_draft(*wishes.draft->program, *model.program); !fits) return fits.error();
    needs = with_draft(std::move(needs), *wishes.draft->program, capacity.kv_dtype,
                       capacity.page_tokens, static_cast<std::int64_t>(replicas));
  }
  auto portion = take_portion(*model.program, wishes, capacity, free_bytes, needs,
                              wishes.weights ? weight_bytes : 0);
  if (!portion) return portion.error();
  if (auto claimed = weights.claim(weight_bytes); !claimed) return claimed.error();
  if (wishes.draft) {
    portion->limits.draft_context =
        ModelDrafter::context_for(*wishes.draft->program, portion->limits);
  }
  const DeviceLimits& limits = portion->limits;
  const int threads = threads_of_replica(replicas, wishes.threads);
  const DeviceOptions options = step_options(*model.program, limits, capacity.kv_dtype, threads);
  auto device = weights.load(options, progress);
  if (!device) return device.error();
  const auto claims = std::make_shared<
      const std::pair<std::shared_ptr<MemoryClaim>, std::shared_ptr<const HostWeightPool::Entry>>>(
      portion->claim, weights.entry());
  auto first = std::make_unique<HostStepDevice>(*std::move(device), limits, end_tokens);
  if (!capacity.files.empty()) {
    auto files =
        open_page_files(model, capacity, limits,
                        std::make_unique<HostPageMemory>(first->page_blocks()), simd_target());
    if (!files) return files.error();
    first->use(*std::move(files));
  }
  HostDrafters drafters(wishes, capacity.kv_dtype, threads);
  if (auto done = use_drafter(*first, drafters, progress); !done) return done.error();
  StepDevices loaded{limits, {}};
  for (std::size_t i = 1; i < replicas; ++i) {
    auto other = first->share_weights(limits, capacity.kv_dtype, threads);
    if (!other) return other.error();
    if (auto done = use_drafter(**other, drafters, progress); !done) return done.error();
    loaded.devices.push_back({with_claim(*std::move(other), claims)});
  }
  loaded.devices.push_back({with_claim(std::move(first), claims)});
  return loaded;
}

Result<std::unique_ptr<cuda::Runtime>> runtime_of(const std::string& device) {
  const auto index = cuda::device_index(device);
  if (!index) return Error{index.error().code, "device: " + index.error().detail};
  return cuda::open_runtime(*index);
}

/// An opened GPU, and its tuning.
struct OpenGpu {
  std::unique_ptr<cuda::Runtime> runtime;
  cuda::Tuning tuning;
};

Result<OpenGpu> open_gpu(const OpenedModel& model, const std::string& device,
                         const std::string& tuning) {
  auto runtime = runtime_of(device);
  if (!runtime) return runtime.error();
  auto found = cuda::find_tuning(tuning, (*runtime)->properties().name, *model.program);
  if (!found) return found.error();
  return OpenGpu{*std::move(runtime), *std::move(found)};
}

/// Opens the files for the pages of the only replica.
Result<void> keep_in_files(const OpenedModel& model, const CapacityWishes& capacity,
                           const std::string& device, cuda::CudaStepDevice& step_device) {
  auto runtime = runtime_of(device);
  if (!runtime) return runtime.error();
  const cuda::Properties gpu = (*runtime)->properties();
  auto memory = step_device.page_memory(*std::move(runtime));
  if (!memory) return memory.error();
  auto files = open_page_files(model, capacity, step_device.limits(), *std::move(memory),
                               gpu.name + " sm_" + std::to_string(gpu.architecture));
  if (!files) return files.error();
  step_device.use(*std::move(files));
  return {};
}

/// Returns the number of threads that load a GPU's weights while other models are served. They load
/// two thirds as fast as all threads would, and leave processors to the serving threads.
int threads_beside_others() { return std::max(1, host_parallelism() / 4); }

Result<StepDevices> load_on_gpus(const OpenedModel& model, const DeviceWishes& wishes,
                                 const CapacityWishes& all, const std::vector<TokenId>& end_tokens,
                                 const LoadProgress& progress) {
  const std::size_t replicas = wishes.replicas.size();
  const CapacityWishes capacity = with_host_share(all, replicas);
  if (capacity.kv_host_bytes > 0 && capacity.host_bytes > 0) {
    return Error{DeviceErrc::kUnfit,
                 "cache.host_bytes: with memory.kv_placement host the whole KV cache is in host "
                 "memory, of which memory.fraction says how much"};
  }
  if (!capacity.files.empty() && replicas > 1) return several_replicas();
  if (wishes.budget && replicas > 1) {
    return Error{DeviceErrc::kUnfit, "replicas: a memory budget is of one device's memory"};
  }
  const bool beside_others = wishes.budget && wishes.budget->left() < wishes.budget->bytes();
  std::vector<OpenGpu> gpus;
  MemoryPortion portion;
  for (const std::string& device : wishes.replicas) {
    auto gpu = open_gpu(model, device, wishes.tuning);
    if (!gpu) return gpu.error();
    cuda::Runtime& runtime = *gpu->runtime;
    const auto free_bytes = cuda::free_memory(runtime);
    if (!free_bytes) return free_bytes.error();
    auto own = take_portion(*model.program, wishes, capacity, *free_bytes,
                            cuda::cuda_needs(*model.program, capacity, runtime.properties()));
    if (!own) return own.error();
    if (!gpus.empty()) own->limits = least_of(portion.limits, own->limits, capacity.slabs);
    portion = *std::move(own);
    gpus.push_back(*std::move(gpu));
  }
  DeviceOptions options = step_options(*model.program, portion.limits, capacity.kv_dtype);
  options.threads = beside_others && wishes.threads == 0
                        ? threads_beside_others()
                        : threads_of_replica(replicas, wishes.threads);
  using Made = Result<std::unique_ptr<cuda::CudaStepDevice>>;
  auto made = load_at_once<cuda::CudaStepDevice>(
      replicas, progress, [&](std::size_t replica, const LoadProgress& own) -> Made {
        OpenGpu& gpu = gpus[replica];
        auto device = cuda::CudaDevice::load(std::move(gpu.runtime), model.checkpoint,
                                             model.program, options, gpu.tuning, own);
        if (!device) return device.error();
        auto steps = cuda::CudaStepDevice::make(*std::move(device), portion.limits, end_tokens);
        HostDrafters drafters(wishes, options.kv_dtype, options.threads);
        if (!steps) return steps;
        if (auto done = use_drafter(**steps, drafters, own); !done) return done.error();
        return steps;
      });
  if (!made) return made.error();
  if (!capacity.files.empty()) {
    auto kept = keep_in_files(model, capacity, wishes.replicas.front(), *made->front());
    if (!kept) return kept.error();
  }
  StepDevices loaded{portion.limits, {}};
  for (auto& device : *made) {
    loaded.devices.push_back({with_claim(std::move(device), portion.claim)});
  }
  return loaded;
}

}  // namespace

DType kv_dtype_for(const std::string& device, const Program& program) {
  const auto partition = parse_partition(device);
  // The host reads the types of keys and values that GPUs read fast.
  const bool on_gpu = partition && !std::ranges::all_of(partition->stages, [](const auto& stage) {
                        return stage.is_on_host();
                      });
  if (!on_gpu) return DType::kF32;
  const auto narrow = std::ranges::find_if(program.matrices, [](const MatrixPlan& matrix) {
    return matrix.dtype == DType::kF16 || matrix.dtype == DType::kBF16;
  });
  if (narrow != program.matrices.end()) return narrow->dtype;
  const bool encoded = std::ranges::any_of(
      program.matrices, [](const MatrixPlan& matrix) { return is_encoded(matrix.dtype); });
  return encoded ? DType::kBF16 : DType::kF32;
}

Result<StepDevices> load_step_devices(const OpenedModel& model, const DeviceWishes& wishes,
                                      const std::vector<TokenId>& end_tokens,
                                      const LoadProgress& progress) {
  const auto replicas = parse_replicas(wishes.replicas);
  if (!replicas) return replicas.error();
  const bool is_cut = replicas->front().ranks() > 1;
  if (wishes.draft && (is_cut || wishes.replicas.front() != kHostDevice)) {
    return Error{DeviceErrc::kUnfit,
                 "speculation.model: a draft model is beside a whole model on the device cpu, and "
                 "this one is on " +
                     wishes.replicas.front()};
  }
  if (wishes.capacity.guesses > 0 && wishes.capacity.must_guess && is_cut) {
    return Error{DeviceErrc::kUnfit,
                 "speculation.kind: guesses are not verified by a model that is cut"};
  }
  if (is_cut) {
    if (wishes.capacity.host_bytes > 0) {
      return Error{DeviceErrc::kUnfit,
                   "cache.host_bytes: of a model that is cut pages stay on its "
                   "devices"};
    }
    if (!wishes.capacity.files.empty()) {
      return Error{DeviceErrc::kUnfit,
                   "cache.folder: of a model that is cut pages stay on its devices"};
    }
    DeviceWishes without_guesses = wishes;
    without_guesses.capacity.guesses = 0;
    return load_ranks(model, *replicas, without_guesses, end_tokens, progress);
  }
  const std::string& first = wishes.replicas.front();
  CapacityWishes capacity = wishes.capacity;
  capacity.kv_dtype = wishes.kv_dtype.value_or(kv_dtype_for(first, *model.program));
  const auto load = first == kHostDevice ? load_on_host : load_on_gpus;
  return load(model, wishes, capacity, end_tokens, progress);
}

Result<std::unique_ptr<ModelDevice>> load_model_device(const OpenedModel& model,
                                                       const std::string& device,
                                                       const DeviceOptions& options,
                                                       const LoadProgress& progress) {
  const auto partition = parse_partition(device);
  if (!partition) return partition.error();
  if (partition->ranks() > 1) {
    auto ranks = PartitionedDevice::load(model, *partition, options, progress);
    if (!ranks) return ranks.error();
    return *std::move(ranks);
  }
  if (device == kHostDevice) {
    auto host = HostDevice::load(model.checkpoint, model.program, options, progress);
    if (!host) return host.error();
    return *std::move(host);
  }
  auto runtime = runtime_of(device);
  if (!runtime) return runtime.error();
  const auto tuning = cuda::find_tuning({}, (*runtime)->properties().name, *model.program);
  if (!tuning) return tuning.error();
  auto made = cuda::CudaDevice::load(*std::move(runtime), model.checkpoint, model.program, options,
                                     *tuning, progress);
  if (!made) return made.error();
  return *std::move(made);
}

}  // namespace weft
