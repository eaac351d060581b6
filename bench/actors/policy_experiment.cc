#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>

#include "weft/bench/actors/host_models.h"
#include "weft/bench/actors/load.h"
#include "weft/bench/actors/serving_experiments.h"
#include "weft/bench/ratio.h"

namespace weft::bench {
namespace {

struct Case {
  const char* name;
  HostModel (*load)(std::int32_t rows);
  std::int32_t rows;  ///< a batch's, and so many requests are under way at most
  std::size_t requests;
  std::int32_t output_from;
  std::int32_t output_to;
};

struct Policy {
  const char* name;
  BatchPolicy policy;
  std::chrono::milliseconds window;
};

struct Figures {
  double total = 0;
  double latency = 0;
  double latency_p90 = 0;
  double first = 0;
  double first_p90 = 0;
  double tokens_per_second = 0;
};

constexpr std::int32_t kInstances = 4;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<std::shared_ptr<StepDevice>> devices_of(BatchPolicy policy, HostModel& host) {
  std::vector<std::shared_ptr<StepDevice>> devices;
  if (policy != BatchPolicy::kInstances) {
    devices.push_back(std::move(host.device));
    return devices;
  }
  DeviceLimits limits = host.device->limits();
  limits.rows = 1;
  limits.pages = limits.pages_per_row();
  const int threads = std::max(1, host.threads / kInstances);
  for (std::int32_t i = 0; i < kInstances; ++i) {
    devices.push_back(host.device->share_weights(limits, DType::kBF16, threads).value());
  }
  return devices;
}

std::vector<Outcome> run(const Case& what, const Policy& policy,
                         const std::vector<Arrival>& arrivals) {
  HostModel host = what.load(what.rows);
  Config config;
  config.policy = policy.policy;
  config.window = policy.window;
  config.instances = kInstances;
  auto devices = devices_of(policy.policy, host);
  const RunningPipeline pipeline(config, std::move(host.model), std::move(devices));
  // The first steps touch memory for the first time.
  static_cast<void>(play(*pipeline, {{0, 16, 4, RequestClass::kChat}}));
  return play(*pipeline, arrivals);
}

Figures figures_of(const std::vector<Outcome>& outcomes) {
  Figures figures;
  for (const Outcome& one : outcomes) figures.total = std::max(figures.total, one.ended_at);
  const auto all = latencies(outcomes);
  const auto first = first_token_times(outcomes, RequestClass::kChat);
  figures.latency = mean(all);
  figures.latency_p90 = quantile(all, 0.9);
  figures.first = mean(first);
  figures.first_p90 = quantile(first, 0.9);
  figures.tokens_per_second =
      static_cast<double>(tokens_of(outcomes, RequestClass::kChat)) / figures.total;
  return figures;
}

std::vector<Arrival> requests_of(const Case& what, double per_second) {
  const LoadShape shape{per_second,         1e9, 8, 64, what.output_from, what.output_to,
                        RequestClass::kChat};
  return poisson(shape, 3, what.requests);
}

void run_case(const Case& what) {
  // What fusion takes when all come at once says what the device can carry.
  const Policy fusion{"fusion", BatchPolicy::kFusion, {}};
  auto at_once = requests_of(what, 1);
  for (Arrival& one : at_once) one.at = 0;
  const double most =
      static_cast<double>(what.requests) / figures_of(run(what, fusion, at_once)).total;
  const double rate = 0.8 * most;
  const auto arrivals = requests_of(what, rate);
  std::printf("policies: %s, %d rows, %zu requests, %.2f a second, outputs of %d to %d tokens\n",
              what.name, what.rows, what.requests, rate, what.output_from, what.output_to);
  std::printf("%-14s %9s %9s %9s %9s %9s %9s | over fusion's: %6s %8s %6s\n", "", "total, s",
              "latency", "p90", "first", "p90", "tokens/s", "total", "latency", "first");
  Figures reference;
  for (const Policy& policy :
       {fusion, Policy{"window:500", BatchPolicy::kWindow, std::chrono::milliseconds(500)},
        Policy{"static", BatchPolicy::kStatic, {}},
        Policy{"4 instances", BatchPolicy::kInstances, {}}}) {
    const Figures got = figures_of(run(what, policy, arrivals));
    if (policy.policy == BatchPolicy::kFusion) reference = got;
    std::printf("%-14s %9.2f %9.3f %9.3f %9.3f %9.3f %9.1f | %21.2f %8.2f %6.2f\n", policy.name,
                got.total, got.latency, got.latency_p90, got.first, got.first_p90,
                got.tokens_per_second, got.total / reference.total, got.latency / reference.latency,
                got.first / reference.first);
    std::fflush(stdout);
  }
}

}  // namespace

void run_policies() {
  run_case({"demo model", load_demo_model, 16, 48, 32, 256});
  run_case({"random llama 1.1 B", [](std::int32_t rows) { return make_random_llama(rows, 256); }, 8,
            16, 4, 24});
}

}  // namespace weft::bench
