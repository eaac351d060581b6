#include "weft/gpu/ranks/settle_partition.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "weft/gpu/cuda/cuda_capacity.h"
#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/host/host_capacity.h"

namespace weft {
namespace {

/// The devices of this machine, and why some of them are left out.
struct FoundDevices {
  std::vector<ChoosableDevice> devices;
  std::vector<std::string> left_out;
};

ChoosableDevice choosable_host() {
  const DeviceInfo host = host_info();
  return {.name = host.name,
          .free_bytes = static_cast<std::int64_t>(host.free_bytes),
          .needs = host_needs};
}

Result<ChoosableDevice> choosable_gpu(const std::string& name) {
  const auto index = cuda::device_index(name);
  if (!index) return index.error();
  const auto runtime = cuda::open_runtime(*index);
  if (!runtime) return runtime.error();
  const auto free_bytes = cuda::free_memory(**runtime);
  if (!free_bytes) return free_bytes.error();
  return ChoosableDevice{.name = name,
                         .free_bytes = *free_bytes,
                         .needs = [properties = (*runtime)->properties()](
                                      const Program& program, const CapacityWishes& wishes) {
                           return cuda::cuda_needs(program, wishes, properties);
                         }};
}

FoundDevices find_devices() {
  FoundDevices found;
  found.devices.push_back(choosable_host());
  const auto gpus = cuda::list_devices();
  if (!gpus) {
    found.left_out.push_back("  not on GPUs: " + to_string(gpus.error()));
    return found;
  }
  for (const DeviceInfo& info : *gpus) {
    auto gpu = choosable_gpu(info.name);
    if (gpu) {
      found.devices.push_back(*std::move(gpu));
    } else {
      found.left_out.push_back("  not on " + info.name + ": " + to_string(gpu.error()));
    }
  }
  return found;
}

/// Measures the devices' rates; leaves out devices that cannot be measured.
void measure(FoundDevices& found) {
  std::erase_if(found.devices, [&](ChoosableDevice& device) {
    const auto rate = measure_read_bandwidth(device.name);
    if (rate) {
      device.bytes_per_second = *rate;
      return false;
    }
    found.left_out.push_back("  not on " + device.name + ": " + to_string(rate.error()));
    return true;
  });
}

}  // namespace

bool is_auto_partition(std::string_view text) noexcept { return text == "auto"; }

Result<PartitionChoice> settle_partition(const OpenedModel& model, const std::string& text,
                                         const CapacityWishes& capacity,
                                         std::optional<DType> kv_dtype, bool has_tuning) {
  if (!is_auto_partition(text)) return PartitionChoice{text, {}};
  FoundDevices found = find_devices();
  if (found.devices.size() > 1) measure(found);
  const ChoiceWishes wishes{.capacity = capacity,
                            .kv_dtype = kv_dtype,
                            .gpus_exchange = found.devices.size() < 3 || !nccl_version().empty(),
                            .has_tuning = has_tuning};
  auto choice = choose_partition(model, found.devices, wishes);
  if (!choice) return choice.error();
  choice->reasons.insert(choice->reasons.end(), found.left_out.begin(), found.left_out.end());
  return choice;
}

}  // namespace weft
