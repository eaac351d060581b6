#include "weft/measure/steps/shuffle_timer.h"

#include <chrono>

namespace weft::measure {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

}  // namespace

void ShuffleTimer::run(const Plan& plan, StepResult& result) {
  const bool shuffles = !plan.moves.empty() || !plan.slab_copies.empty();
  Step step;
  step.began = SteadyClock::now();
  if (shuffles) {
    part(plan);
    const auto began = SteadyClock::now();
    device().run(moves_, nothing_);
    step.shuffle = seconds_since(began);
  }
  const auto began = SteadyClock::now();
  device().run(shuffles ? rest_ : plan, result);
  step.all = step.shuffle + seconds_since(began);
  steps_->push_back(step);
}

void ShuffleTimer::part(const Plan& plan) {
  moves_.clear();
  moves_.tick = plan.tick;
  moves_.first_row = plan.first_row;
  moves_.rows = plan.rows;
  moves_.slab_copies = plan.slab_copies;
  moves_.moves = plan.moves;
  rest_ = plan;
  rest_.slab_copies.clear();
  rest_.moves.clear();
  nothing_.clear();
}

}  // namespace weft::measure
