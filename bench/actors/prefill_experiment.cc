#include <chrono>
#include <cstdio>

#include "weft/bench/actors/load.h"
#include "weft/bench/actors/modelled_device.h"
#include "weft/bench/actors/serving_experiments.h"
#include "weft/bench/ratio.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kDecodingStreams = 16;
constexpr std::int32_t kStreamOutput = 600;
constexpr std::int32_t kLongPrompt = 4000;
constexpr std::int32_t kLongPrompts = 12;
constexpr double kPause = 0.5;  // seconds between two of them

void run(std::chrono::microseconds target) {
  Config config;
  config.target_inter_token = target;
  ModelledDevice modelled = make_modelled_device(32, 8192, 4096);
  const RunningPipeline pipeline(config, {std::move(modelled.model), {std::move(modelled.device)}});
  // Streams come first, so that the cost of prefill is learnt from what comes while they run.
  std::vector<Arrival> arrivals(kDecodingStreams, {0, 16, kStreamOutput, RequestClass::kChat});
  for (std::int32_t i = 0; i < kLongPrompts; ++i) {
    arrivals.push_back({kPause * (i + 1), kLongPrompt, 1, RequestClass::kBatch});
  }
  const auto outcomes = play(*pipeline, arrivals);
  std::vector<double> between;
  std::vector<double> first;
  for (const Outcome& one : outcomes) {
    between.insert(between.end(), one.between.begin(), one.between.end());
    if (one.cls == RequestClass::kBatch) first.push_back(one.first);
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
