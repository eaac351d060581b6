#include "weft/gpu/device_info.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/host/host_bandwidth.h"
#include "weft/gpu/host/host_processors.h"
#include "weft/gpu/host/processor_name.h"

namespace weft {
namespace {

/// Returns the value of the first line `key : value` of a file under /proc; empty if there is none.
std::string proc_value(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::size_t meminfo_bytes(const std::string& key) {
  const std::string value = proc_value("/proc/meminfo", key);
  return value.empty() ? 0 : std::stoull(value) * 1024;
}

// Returns the number in a file that holds only a number; nullopt if there is none, for example if a
// limit is "max".
std::optional<std::size_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// Returns the free memory of this process's control group, which may be a container's (cgroup v2).
std::size_t group_free_bytes() {
  const std::string value = proc_value("/proc/self/cgroup", "0:");  // ":/its/path"
  const std::string group = "/sys/fs/cgroup" + (value.empty() ? "" : value.substr(1));
  const auto most = number_in(group + "/memory.max");
  const auto now = number_in(group + "/memory.current");
  if (!most || !now) return std::numeric_limits<std::size_t>::max();
  return *most > *now ? *most - *now : 0;
}

int usable_processors() { return static_cast<int>(host_processors().size()); }

}  // namespace

DeviceInfo host_info() {
#if defined(__x86_64__)
  const char* architecture = "x86-64";
#elif defined(__aarch64__)
  const char* architecture = "arm64";
#else
  const char* architecture = "unknown";
#endif
  std::ifstream cpuinfo("/proc/cpuinfo");
  return {.name = std::string(kHostDevice),
          .model = processor_name(cpuinfo),
          .processors = usable_processors(),
          .architecture = architecture,
          .memory_bytes = meminfo_bytes("MemTotal"),
          .free_bytes = std::min(meminfo_bytes("MemAvailable"), group_free_bytes())};
}

Result<std::vector<DeviceInfo>> list_devices() {
  auto gpus = cuda::list_devices();
  if (!gpus) return gpus.error();
  std::vector<DeviceInfo> all{host_info()};
  all.insert(all.end(), gpus->begin(), gpus->end());
  return all;
}

Result<double> measure_read_bandwidth(const std::string& name) {
  if (name == kHostDevice) return host_read_bandwidth(usable_processors());
  return cuda::measure_read_bandwidth(name);
}

std::string nccl_version() { return cuda::nccl_version(); }

}  // namespace weft
