// How long a model's decode step takes on the host while other programs keep the processors busy:
// on all threads and on one, idle and beside them, in turn.
//
//   weft_busy_cores_bench [SHAPE [ROWS [REPEATS [COMMAND]]]]
//
// SHAPE is one of `weft bench step`'s (llama-110m). Beside as many spinning processes as there are
// processors, or beside COMMAND, which a shell starts again whenever it ends.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/core/thread.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/host/host_processors.h"
#include "weft/model/random_llama.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kContext = 128;
constexpr std::int32_t kPageTokens = 16;
constexpr int kStepsToSettle = 60;
constexpr int kSteps = 40;

/// Decode steps of `rows` sequences at one position.
class Steps {
 public:
  Steps(std::unique_ptr<HostDevice> device, std::int32_t rows)
      : device_(std::move(device)), ids_(static_cast<std::size_t>(rows), 1), outputs_(ids_.size()) {
    std::iota(outputs_.begin(), outputs_.end(), 0);
    pages_.resize(ids_.size() * (kContext / kPageTokens));
    std::iota(pages_.begin(), pages_.end(), 0);
    for (std::int32_t row = 0; row < rows; ++row) {
      const auto of_row = static_cast<std::size_t>(kContext / kPageTokens);
      sequences_.push_back(
          {.first = row,
           .count = 1,
           .start = kContext - 1,
           .pages = std::span(pages_).subspan(static_cast<std::size_t>(row) * of_row, of_row),
           .cross_pages = {}});
    }
  }

  static DeviceOptions options(std::int32_t rows, int threads) {
    return {.threads = threads,
            .max_tokens = rows,
            .max_outputs = rows,
            .max_sequences = rows,
            .max_context = kContext,
            .page_tokens = kPageTokens,
            .pages = rows * (kContext / kPageTokens)};
  }

  /// Milliseconds of one step.
  double measure() {
    const auto run = [&](int steps) {
      for (int i = 0; i < steps; ++i) device_->decode({ids_, sequences_, outputs_});
    };
    run(kStepsToSettle);
    return 1e3 * seconds([&] { run(kSteps); }) / kSteps;
  }

  [[nodiscard]] HostDevice& device() { return *device_; }

 private:
  std::unique_ptr<HostDevice> device_;
  std::vector<TokenId> ids_;
  std::vector<std::int32_t> outputs_;
  std::vector<std::int32_t> pages_;
  std::vector<StepSequence> sequences_;
};

/// Programs that keep the processors busy as long as this object lives.
class OtherPrograms {
 public:
  explicit OtherPrograms(const std::string& command) {
    const int count = command.empty() ? host_parallelism() : 1;
    for (int i = 0; i < count; ++i) start(command);
  }
  OtherPrograms(const OtherPrograms&) = delete;
  OtherPrograms& operator=(const OtherPrograms&) = delete;
  ~OtherPrograms() {
    for (const pid_t group : groups_) ::kill(-group, SIGKILL);
    for (const pid_t group : groups_) ::waitpid(group, nullptr, 0);
  }

 private:
  void start(const std::string& command) {
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no process to be had");
    if (child > 0) {
      ::setpgid(child, child);
      groups_.push_back(child);
      return;
    }
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (command.empty()) {
      for (std::uint64_t turns = 0;; ++turns) benchmark::DoNotOptimize(turns);
    }
    const std::string loop = "while :; do " + command + "; done >/dev/null 2>&1";
    ::execl("/bin/sh", "sh", "-c", loop.c_str(), nullptr);
    ::_exit(127);
  }

  std::vector<pid_t> groups_;
};

void print(const char* what, const std::vector<double>& values) {
  std::printf("%-44s %8.3f [%.3f, %.3f]\n", what, median(values), quantile(values, 0.25),
              quantile(values, 0.75));
}

std::vector<double> ratios(const std::vector<double>& over, const std::vector<double>& under) {
  std::vector<double> made;
  for (std::size_t i = 0; i < over.size(); ++i) made.push_back(over[i] / under[i]);
  return made;
}

int run(const std::string& name, std::int32_t rows, int repeats, const std::string& command) {
  const auto shape = find_llama_shape(name);
  if (!shape) {
    std::fprintf(stderr, "no shape is called %s; there are: %s\n", name.c_str(),
                 llama_shape_names().c_str());
    return 2;
  }
  ask_for_short_slices();  // as the executor's thread does
  const RandomLlama llama(*shape, 1);
  Steps all(HostDevice::load(llama.checkpoint(), llama.program(), Steps::options(rows, 0)).value(),
            rows);
  Steps one(all.device().share_weights(Steps::options(rows, 1)).value(), rows);
  std::vector<double> idle_all, idle_one, busy_all, busy_one;
  for (int i = 0; i < repeats; ++i) {
    idle_all.push_back(all.measure());
    idle_one.push_back(one.measure());
    const OtherPrograms others(command);
    busy_all.push_back(all.measure());
    busy_one.push_back(one.measure());
  }
  std::printf("%s, %d rows, %d threads, %d rounds: median [quartiles]\n", name.c_str(), rows,
              all.device().threads(), repeats);
  print("idle, all threads, ms", idle_all);
  print("idle, one thread, ms", idle_one);
  print("busy, all threads, ms", busy_all);
  print("busy, one thread, ms", busy_one);
  print("busy over idle, all threads", ratios(busy_all, idle_all));
  print("busy over idle, one thread", ratios(busy_one, idle_one));
  print("all threads over one, idle", ratios(idle_all, idle_one));
  print("all threads over one, busy", ratios(busy_all, busy_one));
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t at, int otherwise) {
    return words.size() > at ? std::atoi(words[at].c_str()) : otherwise;
  };
  return weft::bench::run(words.empty() ? "llama-110m" : words[0], number(1, 1), number(2, 9),
                          words.size() > 3 ? words[3] : "");
}
