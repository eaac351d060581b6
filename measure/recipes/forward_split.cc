#include "weft/measure/recipes/forward_split.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "weft/measure/report/report.h"

namespace weft::measure {
namespace {

double since(TimePoint from, TimePoint time) {
  return std::chrono::duration<double>(time - from).count();
}

}  // namespace

ForwardSplit split_forward(const EngineRun& run) {
  std::vector<double> whole;
  std::vector<double> forward;
  std::vector<double> others;
  std::vector<double> others_per_step;
  for (const Outcome& one : run.outcomes) {
    const double end = one.began + one.end;
    double inside = 0;
    std::size_t steps = 0;
    for (const StepRecord& step : run.steps) {
      const double from = std::max(one.began, since(run.began, step.began));
      const double to = std::min(end, since(run.began, step.ended));
      if (to <= from) continue;
      inside += to - from;
      ++steps;
    }
    whole.push_back(one.end);
    forward.push_back(inside);
    others.push_back(one.end - inside);
    others_per_step.push_back((one.end - inside) /
                              static_cast<double>(std::max<std::size_t>(steps, 1)));
  }
  if (whole.empty()) return {};
  return {median(whole), median(forward), median(others), median(others_per_step)};
}

std::string percent_text(double part) { return number(100 * part) + " %"; }

}  // namespace weft::measure
