// The whole pipeline, with Llama-2-7B's shape and random bf16 weights, on a GPU:
//   32 requests of 512 tokens that arrive at once, over one alone, and over what the bytes predict
//   (weights and KV of every step at the rate of a kernel that only reads)
//   a step of the pipeline over the same step's recorded forward pass, replayed bare

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "weft/bench/actors/demo_model.h"
#include "weft/bench/ratio.h"
#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/cuda/runtime/read_bandwidth.h"
#include "weft/gpu/cuda/tuning/find_tuning.h"
#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/gpu/step_options.h"
#include "weft/measure/engine/load_player.h"
#include "weft/measure/engine/running_pipeline.h"
#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/steps/step_meter.h"
#include "weft/model/random_llama.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kRows = 32;
constexpr std::int32_t kOutput = 512;
constexpr std::int32_t kPrompt = 16;
constexpr int kReplays = 50;
constexpr std::size_t kLastSteps = 50;

/// Returns the seconds for this many requests that come at once.
double seconds_at_once(measure::LoadPlayer& player, std::size_t count) {
  const std::vector<measure::Arrival> arrivals(count, {0, kPrompt, kOutput, RequestClass::kChat});
  const auto outcomes = measure::require_served(player.play({.arrivals = arrivals}), "at once");
  return measure::summarize(outcomes).seconds;
}

/// Times of steps that continued all rows and followed another such step. They count in seconds
/// from that step's end: to the step's own end, and to its beginning.
struct FullSteps {
  std::vector<double> steps, waits;
};

/// Returns the last full steps that began after `since`.
FullSteps last_full_steps(const std::deque<measure::StepRecord>& records, TimePoint since) {
  const auto is_full = [since](const measure::StepRecord& one) {
    return one.began >= since && one.decodes == kRows && one.prefills == 0;
  };
  FullSteps full;
  for (std::size_t i = records.size(); i-- > 1 && full.steps.size() < kLastSteps;) {
    if (!is_full(records[i]) || !is_full(records[i - 1])) continue;
    const TimePoint before = records[i - 1].ended;
    full.steps.push_back(std::chrono::duration<double>(records[i].ended - before).count());
    full.waits.push_back(std::chrono::duration<double>(records[i].began - before).count());
  }
  return full;
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
  const std::shared_ptr<cuda::CudaStepDevice> device = std::move(made).value();
  const auto meter = std::make_shared<measure::StepMeter>(device);
  ServedModel model = demo_model(limits.context);
  model.vocabulary = limits.vocabulary;
  const double rate = read_rate(device->device());
  double alone = 0;
  double together = 0;
  TimePoint began{};
  {
    const measure::RunningPipeline pipeline({}, {std::move(model), {{meter}}});
    measure::LoadPlayer player(*pipeline, 1);
    static_cast<void>(seconds_at_once(player, 2));
    alone = seconds_at_once(player, 1);
    together = seconds_at_once(player, kRows);
    began = player.began();
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
  device->device().use();
  const double bare = replayed(device->device());
  const FullSteps last = last_full_steps(meter->records(), began);
  std::printf(
      "last %zu steps of %d rows: %.3f ms each, bare replay %.3f ms: %.3f times; between "
      "two steps %.1f us: %.2f %%\n",
      last.steps.size(), kRows, median(last.steps) * 1e3, bare * 1e3, median(last.steps) / bare,
      median(last.waits) * 1e6, 100 * median(last.waits) / median(last.steps));
}

}  // namespace
}  // namespace weft::bench

int main() { weft::bench::run(); }
