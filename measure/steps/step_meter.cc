#include "weft/measure/steps/step_meter.h"

#include <utility>

namespace weft::measure {

void StepMeter::run(const Plan& plan, StepResult& result) {
  StepRecord record;
  record.moved_rows = static_cast<std::int32_t>(plan.moves.size());
  record.moved_pages = static_cast<std::int32_t>(plan.slab_copies.size());
  for (const PlanMove& move : plan.moves) {
    std::swap(prompts_[static_cast<std::size_t>(move.from)],
              prompts_[static_cast<std::size_t>(move.to)]);
  }
  for (const PlanStart& start : plan.starts) {
    prompts_[static_cast<std::size_t>(start.row)] = start.prompt_tokens;
  }
  for (const PlanEntry& entry : plan.entries) {
    if (continues(entry)) {
      ++record.decodes;
    } else {
      ++record.prefills;
      record.prefill_tokens += entry.count;
    }
  }
  record.began = std::chrono::steady_clock::now();
  device().run(plan, result);
  record.ended = std::chrono::steady_clock::now();
  records_.push_back(record);
}

// An entry also continues when its last token is given. That happens when its result came before
// the plan was made.
bool StepMeter::continues(const PlanEntry& entry) const {
  return entry.first_id == kLastToken ||
         (entry.count == 1 && entry.start >= prompts_[static_cast<std::size_t>(entry.row)]);
}

}  // namespace weft::measure
