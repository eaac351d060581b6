// What each running sequence feeds in a tick.

#include <algorithm>

#include "weft/schedule/scheduler.h"

namespace weft {
namespace {

// Where no stream waits for its next token, a step may take this many times the target: longer
// chunks use the device better, and what arrives meanwhile still waits for no longer than this.
constexpr std::int32_t kNobodyWaits = 4;

}  // namespace

/// How many tokens the sequence could feed now: those that are known and not computed yet, or the
/// one that the step under way will give it.
std::int32_t Scheduler::wanted(const Group& group, const Sequence& sequence) const {
  if (sequence.row < 0 || sequence.planned_in == tick_->plan.tick) return 0;
  const std::int32_t known = group.known(sequence);
  if (group.phase == GroupPhase::kPrompt && group.alive > 1) {
    return &group.leader() == &sequence ? group.prompt_tokens() - sequence.computed : 0;
  }
  if (sequence.computed < known) return known - sequence.computed;
  const auto planned = static_cast<std::int32_t>(sequence.outputs.size()) + sequence.in_flight;
  const bool next_is_coming = sequence.computed == known && sequence.in_flight == 1;
  // Which tokens a beam goes on with is known only after the step.
  return next_is_coming && !group.beams && planned < group.spec.max_tokens ? 1 : 0;
}

/// Pages for the sequence's chunk, taken from others if need be. False when it had to give way
/// itself.
bool Scheduler::room_for(Group& group, Sequence& sequence) {
  const std::int32_t tokens = sequence.computed + sequence.chunk;
  const auto first = static_cast<std::size_t>(sequence.computed / options_.limits.page_tokens);
  while (!take_pages(group, sequence, tokens) || !own_page(sequence, first)) {
    Group* other = victim(&group);
    preempt(other != nullptr ? *other : group);
    if (other == nullptr) return false;
  }
  return true;
}

void Scheduler::choose_decodes() {
  StepShape& shape = tick_->shape;
  const bool prefills_wait =
      options_.decode_every > 1 && std::ranges::any_of(running_, [this](const Group* group) {
        return group->phase == GroupPhase::kPrompt &&
               std::ranges::any_of(group->sequences, [&](const Sequence& sequence) {
                 return wanted(*group, sequence) > 0;
               });
      });
  if (prefills_wait && ++ticks_without_decode_ < options_.decode_every) return;
  ticks_without_decode_ = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Group& group = *running_[i];
    if (group.phase != GroupPhase::kForked) continue;
    for (Sequence& sequence : group.sequences) {
      if (sequence.chunk > 0 || wanted(group, sequence) != 1) continue;
      sequence.chunk = 1;
      const std::uint64_t before = stats_.preemptions;
      const bool stays = room_for(group, sequence);
      if (stays) {
        ++shape.decode_tokens;
        shape.context_tokens += sequence.computed + 1;
      }
      if (stats_.preemptions == before) continue;
      // Others have gone from the list: from its beginning again, without those that are chosen.
      i = static_cast<std::size_t>(-1);
      break;
    }
  }
}

/// What the first that would compute a prompt attends to already: a step's prefill is mostly its.
std::int64_t Scheduler::context_of_next_prefill() const {
  for (const RequestClass cls : kRequestClasses) {
    for (const Group* group : running_) {
      if (group->cls != cls) continue;
      for (const Sequence& sequence : group->sequences) {
        if (sequence.chunk == 0 && wanted(*group, sequence) > 1) return sequence.computed;
      }
    }
  }
  return 0;
}

std::int32_t Scheduler::prefill_budget() const {
  const StepShape& shape = tick_->shape;
  const std::int32_t taken = shape.decode_tokens + shape.prefill_tokens;
  const std::int32_t most = options_.limits.step_tokens - taken;
  if (options_.target_inter_token <= Duration{0}) return most;
  const std::int32_t times = shape.decode_tokens > 0 ? 1 : kNobodyWaits;
  const StepShape without{shape.decode_tokens, 0, shape.context_tokens + context_of_next_prefill()};
  const std::int32_t within = times_.prefill_tokens_within(times * options_.target_inter_token,
                                                           without, most + shape.prefill_tokens) -
                              shape.prefill_tokens;
  return std::min(most, std::max(within, kLeastChunk));
}

void Scheduler::choose_prefills() {
  std::int32_t budget = prefill_budget();
  std::int32_t encoder_room = options_.limits.step_tokens;
  for (const PlanEncode& one : tick_->plan.encodes) encoder_room -= one.count;
  for (const RequestClass cls : kRequestClasses) {
    for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
      Group& group = *running_[i];
      if (group.cls != cls) continue;
      const auto input = static_cast<std::int32_t>(group.spec.encoder_input.size());
      if (!group.encoded && input > encoder_room) continue;
      for (Sequence& sequence : group.sequences) {
        const std::int32_t most = sequence.chunk > 0 ? 0 : wanted(group, sequence);
        const bool decodes = most == 1 && group.phase == GroupPhase::kForked;
        if (most == 0 || decodes || budget <= 0) continue;
        sequence.chunk = std::min(most, budget);
        const std::int32_t chunk = sequence.chunk;
        const std::uint64_t before = stats_.preemptions;
        if (room_for(group, sequence)) {
          budget -= chunk;
          tick_->shape.prefill_tokens += chunk;
          tick_->shape.context_tokens += sequence.computed + chunk;
          if (!group.encoded) {
            encoder_room -= input;
            budget -= input;
            tick_->shape.prefill_tokens += input;
          }
        }
        if (stats_.preemptions == before) continue;
        i = static_cast<std::size_t>(-1);
        break;
      }
    }
  }
}

}  // namespace weft
