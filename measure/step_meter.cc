#include "weft/measure/step_meter.h"

namespace weft::measure {

void StepMeter::run(const Plan& plan, StepResult& result) {
  StepRecord record;
  record.moved_rows = static_cast<std::int32_t>(plan.moves.size());
  record.moved_pages = static_cast<std::int32_t>(plan.slab_copies.size());
  for (const PlanEntry& entry : plan.entries) {
    if (entry.first_id == kLastToken) {
      ++record.decodes;
    } else {
      ++record.prefills;
      record.prefill_tokens += entry.count;
    }
  }
  record.began = std::chrono::steady_clock::now();
  device_->run(plan, result);
  record.ended = std::chrono::steady_clock::now();
  records_.push_back(record);
}

}  // namespace weft::measure
