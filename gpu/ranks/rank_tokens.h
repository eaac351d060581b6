#pragma once

#include <cstdint>
#include <vector>

#include "weft/gpu/plan_reader.h"
#include "weft/gpu/ranks/rank_link.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// Sends and receives chosen tokens through a rank's link, plan by plan. A lost rank throws as in
/// RankLink. Owner only.
class RankTokens {
 public:
  /// `link` is borrowed.
  RankTokens(RankLink& link, const DeviceLimits& limits);

  /// Call it before each plan on a rank that is fed another rank's tokens. It waits for the tokens
  /// of all plans that the next plan may rely on, and stores them.
  void hear(PlanReader& reader);
  /// Call it after each plan on the rank that chooses. It sends the chosen tokens to the others.
  void tell(const PlanReader& reader, const StepResult& result);

 private:
  RankLink& link_;
  const std::uint64_t stages_;
  std::uint64_t plans_ = 0;  // plans that were begun; next: plans whose tokens are known
  std::uint64_t heard_ = 0;
  std::vector<SlotToken> told_;
};

}  // namespace weft
