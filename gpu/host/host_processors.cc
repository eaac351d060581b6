#include "weft/gpu/host/host_processors.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace weft {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Returns the quota of one group's folder, 0 if it has none.
int quota_of(const std::filesystem::path& folder) {
  const std::string both = first_line(folder / "cpu.max");
  if (!both.empty()) return processors_of_quota(both);
  const std::string quota = first_line(folder / "cpu.cfs_quota_us");
  return processors_of_quota(quota + " " + first_line(folder / "cpu.cfs_period_us"));
}

/// Returns this process's groups as paths under the mounts of v2 and v1. In a container the path
/// may be the host's, which does not exist there: then the mount itself is the group.
std::vector<std::filesystem::path> group_folders() {
  const std::filesystem::path mount = "/sys/fs/cgroup";
  std::vector<std::filesystem::path> folders = {mount, mount / "cpu"};
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // id:controllers:/path
    const auto first = line.find(':');
    const auto second = line.find(":/", first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_v1 = ("," + controllers + ",").find(",cpu,") != std::string::npos;
    if (!controllers.empty() && !is_v1) continue;
    std::filesystem::path folder = is_v1 ? mount / "cpu" : mount;
    for (const auto& part : std::filesystem::path(line.substr(second + 2))) {
      folder /= part;
      folders.push_back(folder);
    }
  }
  return folders;
}

}  // namespace

std::vector<int> host_processors() {
  cpu_set_t set;
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) processors.push_back(cpu);
    }
  }
  if (processors.empty()) processors.push_back(0);
  return processors;
}

int host_parallelism() {
  auto parallelism = static_cast<int>(host_processors().size());
  for (const std::filesystem::path& folder : group_folders()) {
    if (const int quota = quota_of(folder); quota > 0) parallelism = std::min(parallelism, quota);
  }
  return parallelism;
}

int processors_of_quota(std::string_view cpu_max) noexcept {
  std::int64_t quota = 0;
  std::int64_t period = 0;
  const char* begin = std::to_address(cpu_max.begin());
  const char* end = std::to_address(cpu_max.end());
  const auto first = std::from_chars(begin, end, quota);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return 0;
  const auto second = std::from_chars(first.ptr + 1, end, period);
  if (second.ec != std::errc() || quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(quota / period, 1, CPU_SETSIZE));
}

}  // namespace weft
