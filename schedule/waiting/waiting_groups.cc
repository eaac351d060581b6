#include "weft/schedule/waiting/waiting_groups.h"

#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

// The most candidates of one look-up.
constexpr std::size_t kMostCandidates = 16;

}  // namespace

void WaitingGroups::arrive(Group& group, TimePoint now) {
  if (queue_.empty()) first_waits_since_ = now;
  come_back(group);
  group.waits_since = now;
  group.submitted_before = newest_;
  (newest_ == nullptr ? oldest_ : newest_->submitted_after) = &group;
  newest_ = &group;
}

void WaitingGroups::remove_from_new(Group& group) noexcept {
  if (group.submitted_before == nullptr && oldest_ != &group) return;  // it came back
  (group.submitted_before == nullptr ? oldest_ : group.submitted_before->submitted_after) =
      group.submitted_after;
  (group.submitted_after == nullptr ? newest_ : group.submitted_after->submitted_before) =
      group.submitted_before;
  group.submitted_before = group.submitted_after = nullptr;
}

void WaitingGroups::come_back(Group& group) {
  group.phase = GroupPhase::kWaiting;
  served(group).arrive(group.client);
  adapters_.arrive(group);
  queue_.push(group);
}

void WaitingGroups::leave(Group& group) {
  queue_.remove(group);
  remove_from_new(group);
  adapters_.leave(group);
  served(group).leave(group.client);
}

void WaitingGroups::admit(Group& group) {
  leave(group);
  group.overtaken = 0;
  if (group.charged) return;
  served(group).charge_prompt(group.client, group.prompt_tokens());
  group.charged = true;
}

void WaitingGroups::charge_output(const Group& group, std::int64_t tokens) {
  served(group).charge_output(group.client, tokens);
}

std::size_t WaitingGroups::candidates(RequestClass cls, std::span<Group*> out,
                                      std::size_t most_of_one_line, const TakesLine& takes) const {
  if (out.size() > kMostCandidates) internal_error("too many candidates are asked for");
  std::array<WaitItem*, kMostCandidates> items{};
  WaitQueue::TakesLine takes_line;
  if (takes) {
    takes_line = [&takes](WaitItem& first, std::size_t before) {
      return takes(static_cast<Group&>(first), before);
    };
  }
  const std::size_t count =
      queue_.candidates(cls, served_[static_cast<std::size_t>(cls)],
                        std::span(items).first(out.size()), most_of_one_line, takes_line);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Group*>(items[i]);
  return count;
}

}  // namespace weft
