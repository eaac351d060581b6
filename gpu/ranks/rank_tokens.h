#pragma once

#include <cstdint>
#include <vector>

#include "weft/gpu/plan_reader.h"
#include "weft/gpu/ranks/rank_link.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// What a rank tells and hears of chosen tokens through its link, plan by plan. A rank that is lost
/// throws as in RankLink. Owner only.
class RankTokens {
 public:
  /// `link` is borrowed.
  RankTokens(RankLink& link, const DeviceLimits& limits);

  /// Before each plan of a rank that is fed what another one chooses: notes the tokens of all plans
  /// that this one may rely on, and waits for them.
  void hear(PlanReader& reader);
  /// After each plan of the rank that chooses: tells the others what it chose.
  void tell(const PlanReader& reader, const StepResult& result);

 private:
  RankLink& link_;
  const std::uint64_t stages_;
  std::uint64_t plans_ = 0;  // that were begun, and of how many of them the tokens are known
  std::uint64_t heard_ = 0;
  std::vector<SlotToken> told_;
};

}  // namespace weft
