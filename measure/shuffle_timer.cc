#include "weft/measure/shuffle_timer.h"

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
  if (shuffles) {
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
    const auto began = SteadyClock::now();
    device_->run(moves_, nothing_);
    const double took = seconds_since(began);
    times_->shuffle += took;
    times_->all += took;
    ++times_->shuffles;
  }
  const auto began = SteadyClock::now();
  device_->run(shuffles ? rest_ : plan, result);
  times_->all += seconds_since(began);
}

}  // namespace weft::measure
