// The whole pipeline, with Llama-2-7B's shape and random bf16 weights, on a GPU:
//   32 requests of 512 tokens that arrive at once, over one alone, and over what the bytes predict
//   (weights and KV of every step at the rate of a kernel that only reads)
//   a step of the pipeline over the same step's recorded forward pass, replayed bare

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/bench/actors/demo_model.h"
#include "weft/bench/actors/load.h"
#include "weft/bench/actors/serving_experiments.h"
#include "weft/bench/ratio.h"
#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/cuda/runtime/read_bandwidth.h"
#include "weft/gpu/cuda/tuning/find_tuning.h"
#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/gpu/step_options.h"
#include "weft/model/random_llama.h"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int32_t kRows = 32;
constexpr std::int32_t kOutput = 512;
constexpr std::int32_t kPrompt = 16;
constexpr int kReplays = 50;

/// Notes how long steps took, and how long the device waited between them.
class Watched final : public StepDevice {
 public:
  explicit Watched(std::unique_ptr<cuda::CudaStepDevice> device) : device_(std::move(device)) {}

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return device_->limits(); }

  void run(const Plan& plan, StepResult& result) override {
    const bool full = plan.entries.size() == std::size_t{kRows} && plan.starts.empty();
    const auto began = Clock::now();
    device_->run(plan, result);
    const auto ended = Clock::now();
    if (full && last_full_) {
      steps.push_back(std::chrono::duration<double>(ended - last_end_).count());
      waits.push_back(std::chrono::duration<double>(began - last_end_).count());
    }
    last_full_ = full;
    last_end_ = ended;
    if (full) last_plan = plan;
  }

  cuda::CudaStepDevice& device() { return *device_; }
  std::vector<double> steps, waits;
  Plan last_plan;

 private:
  std::unique_ptr<cuda::CudaStepDevice> device_;
  bool last_full_ = false;
  Clock::time_point last_end_{};
};

std::vector<Arrival> at_once(std::size_t count) {
  return std::vector<Arrival>(count, {0, kPrompt, kOutput, RequestClass::kChat});
}

double total(const std::vector<Outcome>& outcomes) {
  double last = 0;
  for (const Outcome& one : outcomes) {
    if (!one.error.empty()) std::printf("failed: %s\n", one.error.c_str());
    last = std::max(last, one.ended_at);
  }
  return last;
}

/// Seconds of the recorded forward pass of the step that ran last.
double replayed(cuda::CudaDevice& device) {
  cuda::Runtime& runtime = device.runtime();
  cuda::Graph graph = nullptr;
  cuda::check(runtime, runtime.begin_capture(device.stream()), "recording");
  device.launch(device.program().decode, {kRows, kRows, true, false});
  cuda::check(runtime, runtime.end_capture(device.stream(), graph), "recording");
  std::vector<double> all;
  for (int repeat = 0; repeat < 5; ++repeat) {
    all.push_back(seconds([&] {
                    for (int i = 0; i < kReplays; ++i) {
                      cuda::check(runtime, runtime.launch(graph, device.stream()), "replaying");
                    }
                    device.synchronize();
                  }) /
                  kReplays);
  }
  runtime.release(graph);
  return median(all);
}

double read_rate(cuda::CudaDevice& device) {
  const cuda::Layout& layout = device.layout();
  auto* sink = reinterpret_cast<std::uint32_t*>(layout.linear_workspace);
  const auto once = [&] {
    static_cast<void>(
        cuda::read_memory(layout.weights_begin, layout.weight_bytes, sink, device.stream()));
    device.synchronize();
  };
  once();
  std::vector<double> all;
  for (int i = 0; i < 9; ++i) all.push_back(seconds(once));
  return static_cast<double>(layout.weight_bytes) / median(all);
}

void run() {
  const RandomLlama llama(kLlama7B, 7);
  DeviceLimits limits;
  limits.rows = kRows;
  limits.page_tokens = 16;
  limits.context = 1024;
  limits.pages = kRows * limits.pages_per_row();
  limits.step_tokens = 512;
  limits.vocabulary = 32000;
  auto runtime = cuda::open_runtime(0).value();
  const auto tuning = cuda::find_tuning({}, runtime->properties().name, *llama.program()).value();
  auto loaded =
      cuda::CudaDevice::load(std::move(runtime), llama.checkpoint(), llama.program(),
                             step_options(*llama.program(), limits, DType::kBF16), tuning);
  auto made = cuda::CudaStepDevice::make(std::move(loaded).value(), limits, {});
  const auto watched = std::make_shared<Watched>(std::move(made).value());
  ServedModel model = demo_model(limits.context);
  model.vocabulary = limits.vocabulary;
  const double rate = read_rate(watched->device().device());
  double alone = 0;
  double together = 0;
  {
    const RunningPipeline pipeline({}, {std::move(model), {watched}});
    static_cast<void>(play(*pipeline, at_once(2)));
    alone = total(play(*pipeline, at_once(1)));
    watched->steps.clear();
    watched->waits.clear();
    together = total(play(*pipeline, at_once(kRows)));
  }
  const auto weights = static_cast<double>(llama.program()->weight_bytes());
  const auto kv = static_cast<double>(llama.program()->kv_bytes_per_token(DType::kBF16));
  const auto predicted = [&](double rows) {
    const double mean_context = kPrompt + kOutput / 2.0;
    return kOutput * (weights + rows * kv * mean_context) / rate;
  };
  std::printf("reading: %.2f TB/s\n", rate * 1e-12);
  std::printf("one request of %d tokens: %.3f s, %.3f of what its bytes take\n", kOutput, alone,
              alone / predicted(1));
  std::printf("%d at once: %.3f s, %.3f of what their bytes take, %.3f times one alone\n", kRows,
              together, together / predicted(kRows), together / alone);
  watched->device().device().use();
  const double bare = replayed(watched->device().device());
  const std::size_t last = std::min<std::size_t>(watched->steps.size(), 50);
  const std::vector<double> steps(watched->steps.end() - static_cast<std::ptrdiff_t>(last),
                                  watched->steps.end());
  const std::vector<double> waits(watched->waits.end() - static_cast<std::ptrdiff_t>(last),
                                  watched->waits.end());
  std::printf(
      "last %zu steps of %d rows: %.3f ms each, bare replay %.3f ms: %.3f times; between "
      "two steps %.1f us: %.2f %%\n",
      last, kRows, median(steps) * 1e3, bare * 1e3, median(steps) / bare, median(waits) * 1e6,
      100 * median(waits) / median(steps));
}

}  // namespace
}  // namespace weft::bench

int main() { weft::bench::run(); }
