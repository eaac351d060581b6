#include "weft/schedule/prefix_leaders.h"

#include <algorithm>

namespace weft {
namespace {

/// Returns how many first pages two prompts have in common, within the first `most` tokens.
std::int32_t pages_alike(const Group& a, const Group& b, std::int32_t most,
                         std::int32_t page_tokens) {
  const auto [end, _] = std::ranges::mismatch(a.spec.prompt, b.spec.prompt);
  const auto tokens = static_cast<std::int32_t>(end - a.spec.prompt.begin());
  return std::min(tokens, most) / page_tokens;
}

}  // namespace

PrefixLeaders::PrefixLeaders(const SchedulerOptions& options, KvMemory& memory,
                             const RunningGroups& running, const StepTimeModel& times)
    : options_(options), memory_(memory), running_(running), times_(times) {}

bool PrefixLeaders::has_leader(Group& waiting) const {
  if (!can_wait(waiting) || running_.empty()) {
    waiting.leads = {};
  } else if (waiting.leads.group == nullptr || !still_leads(waiting.leads)) {
    waiting.leads = waiting.spec.encoder_input.empty() ? find(waiting) : find_encoder(waiting);
  }
  return waiting.leads.group != nullptr;
}

bool PrefixLeaders::can_wait(const Group& waiting) const {
  if (options_.policy != BatchPolicy::kFusion) return false;
  if (!waiting.spec.encoder_input.empty()) return memory_.encoder_outputs().keeps();
  // A leader leaves no snapshot at the position where the two prompts begin to differ.
  if (options_.limits.has_state()) return false;
  return memory_.prefixes().covers(waiting) && waiting.spec.may_skip_tokens();
}

bool PrefixLeaders::still_leads(const PrefixLeader& leader) const {
  return std::ranges::any_of(running_.all(), [&](const Group* group) {
    if (group != leader.group || group->order != leader.order) return false;
    if (!group->spec.encoder_input.empty()) return computes_output(*group);
    return group->leader().table.findable < leader.pages &&
           !memory_.prefixes().paths().is_lost(group->leader());
  });
}

/// Whether other groups cannot find the output of the group's encoder yet.
bool PrefixLeaders::computes_output(const Group& group) const {
  return !memory_.encoder_outputs().precedes(group.cross_pages);
}

PrefixLeader PrefixLeaders::find_encoder(const Group& waiting) const {
  const std::vector<TokenId>& input = waiting.spec.encoder_input;
  if (memory_.encoder_outputs().contains(memory_.encoder_key(waiting))) return {};
  const auto leads = [&](const Group* group) {
    return group->cls <= waiting.cls && group->prefix_scope == waiting.prefix_scope &&
           group->spec.encoder_input == input && computes_output(*group);
  };
  const auto leader = std::ranges::find_if(running_.all(), leads);
  const auto tokens = static_cast<std::int32_t>(input.size());
  if (leader == running_.all().end() || !is_worth_a_step(tokens)) return {};
  return {*leader, (*leader)->order, 0};
}

PrefixLeader PrefixLeaders::find(const Group& waiting) const {
  const std::int32_t size = options_.limits.page_tokens;
  const std::int32_t most = waiting.prompt_tokens() - 1;
  PrefixLeader best;
  // A prompt's pages can be found from the plan after its last piece on, so few groups qualify.
  for (const Group* const group : memory_.prefixes().computing()) {
    const std::int32_t findable = group->leader().table.findable;
    const std::int32_t comes = std::min(group->prompt_tokens(), most) / size;
    if (comes <= std::max(findable, best.pages) || group->cls > waiting.cls) continue;
    if (group->prefix_scope != waiting.prefix_scope) continue;
    if (memory_.prefixes().paths().is_lost(group->leader())) continue;
    const std::int32_t alike = pages_alike(*group, waiting, most, size);
    if (alike > std::max(findable, best.pages)) best = {group, group->order, alike};
  }
  if (best.group == nullptr) return best;
  const std::int32_t there = memory_.finder().count(waiting, waiting.leader(), most);
  return is_worth_a_step((best.pages - there) * size) ? best : PrefixLeader{};
}

/// Whether computing so many tokens is predicted to take longer than a step without them.
bool PrefixLeaders::is_worth_a_step(std::int32_t tokens) const {
  if (tokens <= 0) return false;
  const Duration without = times_.predict({.decode_tokens = 1});
  const Duration with = times_.predict({1, tokens, tokens});
  if (without <= Duration{0}) return tokens >= kWorthAStep;
  return with - without >= without;
}

}  // namespace weft
