#include "weft/gpu/ranks/rank_tokens.h"

#include <cstddef>

namespace weft {

RankTokens::RankTokens(RankLink& link, const DeviceLimits& limits)
    : link_(link), stages_(static_cast<std::uint64_t>(limits.stages)) {
  told_.reserve(static_cast<std::size_t>(limits.rows));
}

void RankTokens::hear(PlanReader& reader) {
  ++plans_;
  while (heard_ + stages_ < plans_) {
    for (const SlotToken& one : link_.hear_tokens()) reader.hear(one.slot, one.token);
    ++heard_;
  }
}

void RankTokens::tell(const PlanReader& reader, const StepResult& result) {
  told_.clear();
  const auto choices = reader.choices();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    told_.push_back({choices[i].slot, result.samples[i].token});
  }
  link_.tell_tokens(told_);
}

}  // namespace weft
