// How long the device waits between two steps while the next plan is due, with 256 running rows:
// over steps that do nothing but last 2 ms, and over real ones of the host device.
//
//   weft_idle_gap_bench [seconds for each figure, default 3]

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "weft/bench/actors/demo_model.h"
#include "weft/bench/actors/host_models.h"
#include "weft/bench/actors/timed_device.h"
#include "weft/bench/ratio.h"
#include "weft/measure/engine/load_player.h"
#include "weft/measure/engine/running_pipeline.h"
#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/steps/step_meter.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kRows = 256;
constexpr std::int64_t kContext = 4096;
constexpr std::int32_t kPrompt = 8;

struct Timed {
  ServedModel model;
  std::unique_ptr<StepDevice> device;
};

Timed make_timed(bool spins) {
  ServedModel model = demo_model(kContext);
  TimedDevice::Options options;
  options.limits.rows = kRows;
  options.limits.page_tokens = 16;
  options.limits.context = kContext;
  options.limits.pages = kRows * options.limits.pages_per_row();
  options.limits.step_tokens = 4 * kRows;
  options.limits.vocabulary = model.vocabulary;
  options.tokens = endless_tokens(model);
  options.cost = [](const Plan& /*plan*/) { return std::chrono::milliseconds(2); };
  options.spins = spins;
  return {std::move(model), std::make_unique<TimedDevice>(std::move(options))};
}

/// Returns the middle part of the measurements, in the order of time.
std::vector<double> middle_of(const std::vector<double>& all) {
  const auto eighth = static_cast<std::ptrdiff_t>(all.size() / 8);
  return {all.begin() + eighth, all.end() - eighth};
}

/// All rows run from nearly the beginning to the end, so the middle of the measurements has only
/// steps with all rows.
void measure_gaps(const char* name, ServedModel model, std::unique_ptr<StepDevice> device,
                  double seconds) {
  const auto rows = static_cast<std::size_t>(device->limits().rows);
  const auto output = static_cast<std::int32_t>(device->limits().context) - kPrompt;
  const auto meter = std::make_shared<measure::StepMeter>(std::move(device));
  {
    const measure::RunningPipeline pipeline({}, {std::move(model), {{meter}}});
    const measure::Load load{
        std::vector<measure::Arrival>(rows, {0, kPrompt, output, RequestClass::kChat})};
    measure::LoadPlayer player(*pipeline, 1);
    static_cast<void>(measure::require_served(player.play(load, {.seconds = seconds}), name));
  }
  std::vector<double> gaps;
  std::vector<double> steps;
  const auto& records = meter->records();
  for (std::size_t i = 1; i < records.size(); ++i) {
    const std::chrono::duration<double> gap = records[i].began - records[i - 1].ended;
    gaps.push_back(gap.count());
    steps.push_back(records[i].seconds());
  }
  gaps = middle_of(gaps);
  steps = middle_of(steps);
  const double gap_sum = std::accumulate(gaps.begin(), gaps.end(), 0.0);
  const double step_sum = std::accumulate(steps.begin(), steps.end(), 0.0);
  std::printf("%-28s %6zu %10.3f %10.1f %10.1f %10.1f %9.2f %%\n", name, steps.size(),
              1e3 * median(steps), 1e6 * gap_sum / static_cast<double>(gaps.size()),
              1e6 * median(gaps), 1e6 * quantile(gaps, 0.99), 100 * gap_sum / step_sum);
  std::fflush(stdout);
}

}  // namespace
}  // namespace weft::bench

int main(int count, char** arguments) {
  using namespace weft::bench;
  const double seconds = count > 1 ? std::strtod(arguments[1], nullptr) : 3;
  std::printf("%-28s %6s %10s %10s %10s %10s %11s\n", "", "steps", "step, ms", "gap, us", "median",
              "p99", "gap of step");
  for (const bool spins : {false, true}) {
    Timed timed = make_timed(spins);
    measure_gaps(spins ? "2 ms, keeping a processor" : "2 ms, asleep", std::move(timed.model),
                 std::move(timed.device), seconds);
  }
  HostModel demo = load_demo_model(kRows);
  measure_gaps("demo model, 256 rows", std::move(demo.model), std::move(demo.device), seconds);
  HostModel llama = make_random_llama(16, 512);
  measure_gaps("random llama 1.1 B, 16 rows", std::move(llama.model), std::move(llama.device),
               3 * seconds);
}
