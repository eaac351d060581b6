#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "weft/bench/actors/modelled_device.h"
#include "weft/bench/actors/serving_experiments.h"
#include "weft/bench/ratio.h"
#include "weft/measure/engine/load_player.h"
#include "weft/measure/engine/running_pipeline.h"
#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kDecodingStreams = 16;
constexpr std::int32_t kStreamOutput = 600;
constexpr std::int32_t kLongPrompt = 4000;
constexpr std::int32_t kLongPrompts = 12;
constexpr double kPause = 0.5;  // seconds between two prompts

void run(std::chrono::microseconds target) {
  Config config;
  config.target_inter_token = target;
  ModelledDevice modelled = make_modelled_device(32, 8192, 4096);
  const measure::RunningPipeline pipeline(
      config, {std::move(modelled.model), {{std::move(modelled.device)}}});
  // Streams begin first, so that the scheduler learns the cost of prefill from prompts that come
  // meanwhile.
  measure::Load load;
  load.arrivals.assign(kDecodingStreams, {0, 16, kStreamOutput, RequestClass::kChat});
  for (std::int32_t i = 0; i < kLongPrompts; ++i) {
    load.arrivals.push_back({kPause * (i + 1), kLongPrompt, 1, RequestClass::kBatch});
  }
  const auto outcomes =
      measure::require_served(measure::LoadPlayer(*pipeline, 1).play(load), "prefill");
  std::vector<double> between;
  std::vector<double> first;
  for (const measure::Outcome& one : outcomes) {
    for (std::size_t i = 1; i < one.came.size(); ++i) {
      between.push_back(one.came[i] - one.came[i - 1]);
    }
    if (one.asked.cls == RequestClass::kBatch) first.push_back(measure::first_token_of(one));
  }
  std::printf("%9.0f ms %10.1f %10.1f %10.1f %10.1f %14.0f\n",
              1e-3 * static_cast<double>(target.count()), 1e3 * median(between),
              1e3 * quantile(between, 0.9), 1e3 * quantile(between, 0.99),
              1e3 * quantile(between, 1 - 1e-9), 1e3 * median(first));
  std::fflush(stdout);
}

}  // namespace

void run_prefill() {
  std::printf(
      "prefill: %d running streams, a prompt of %d tokens each %.1f s; inter-token times in ms\n",
      kDecodingStreams, kLongPrompt, kPause);
  std::printf("%12s %10s %10s %10s %10s %14s\n", "target", "median", "p90", "p99", "most",
              "long prompt's");
  for (const int milliseconds : {0, 50, 20, 12}) run(std::chrono::milliseconds(milliseconds));
}

}  // namespace weft::bench
