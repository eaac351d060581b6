#include "weft/gpu/ranks/step_ranks.h"

#include <exception>
#include <utility>

#include "weft/core/actor/supervision.h"

namespace weft {

StepRanks::StepRanks(DeviceRanks ranks)
    : ranks_(std::move(ranks)), results_(ranks_.size()), threads_(ranks_.size()) {}

void StepRanks::run(const Plan& plan, StepResult& result) {
  threads_.run([&](std::size_t rank) {
    StepResult& own = ranks_[rank]->samples() ? result : results_[rank];
    own.clear();
    try {
      ranks_[rank]->run(plan, own);
    } catch (...) {
      abandon();
      throw ActorFailure(ExitKind::kDeviceLost, exit_reason(std::current_exception()).what);
    }
  });
}

void StepRanks::abandon() noexcept {
  for (const auto& rank : ranks_) rank->abandon();
}

}  // namespace weft
