#pragma once

#include <string_view>
#include <vector>

namespace weft {

/// Returns the numbers of the processors that this process may run on, ascending; at least one.
[[nodiscard]] std::vector<int> host_processors();

/// Returns how many threads of this process can run at once: its processors, or fewer if its
/// control group has a quota of processor time (cgroup v2 cpu.max, v1 cpu.cfs_quota_us). The
/// tightest quota of the enclosing groups counts. At least 1. A fraction of a processor is not
/// used, because threads that wait for each other must not be throttled.
[[nodiscard]] int host_parallelism();

/// Returns the whole processors in a line of cpu.max such as "250000 100000" (microseconds in a
/// period); 0 for "max" and for other texts.
[[nodiscard]] int processors_of_quota(std::string_view cpu_max) noexcept;

}  // namespace weft
