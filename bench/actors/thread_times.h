#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace weft::bench {

/// Processor time of the program's threads at one moment, in user mode and in the kernel, by the
/// threads' names (Linux, /proc/self/task).
class ThreadTimes {
 public:
  ThreadTimes() {
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      double nanoseconds = 0;
      std::ifstream(thread.path() / "comm") >> name;
      std::ifstream(thread.path() / "schedstat") >> nanoseconds;
      seconds_[name] += 1e-9 * nanoseconds;
    }
  }

  /// Seconds since `before` of the thread of this name.
  [[nodiscard]] double since(const ThreadTimes& before, std::string_view name) const {
    return of(name) - before.of(name);
  }

 private:
  [[nodiscard]] double of(std::string_view name) const {
    const auto found = seconds_.find(name);
    return found == seconds_.end() ? 0 : found->second;
  }

  std::map<std::string, double, std::less<>> seconds_;
};

}  // namespace weft::bench
