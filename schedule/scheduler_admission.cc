// Who may begin, and who gives way for it.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/schedule/scheduler.h"

namespace weft {
namespace {

// How many of a class are looked at in one tick when the first does not fit.
constexpr std::size_t kCandidates = 8;
constexpr std::size_t kCandidatesOfOneClient = 4;

}  // namespace

std::string Scheduler::never_fits(const GroupSpec& spec) const {
  const DeviceLimits& limits = options_.limits;
  const auto number = [](auto value) { return std::to_string(value); };
  if (spec.sequences > limits.rows) {
    return number(spec.sequences) + " sequences, the engine has " + number(limits.rows) + " rows";
  }
  if (options_.layout == KvLayout::kSlab && spec.beams()) {
    return "a beam search needs kv_layout \"pages\"";
  }
  if (options_.layout == KvLayout::kPages && pages_at_most(spec) > limits.pages) {
    return number(spec.sequences) + " sequences of " +
           number(spec.prompt.size() + static_cast<std::size_t>(spec.max_tokens)) +
           " tokens take " + number(pages_at_most(spec)) + " pages, the engine has " +
           number(limits.pages);
  }
  if (std::cmp_greater(spec.encoder_input.size(), limits.step_tokens)) {
    return "an encoder's input of " + number(spec.encoder_input.size()) + " tokens, a step has " +
           number(limits.step_tokens);
  }
  return {};
}

// The last token's keys and values are never needed.
std::int64_t Scheduler::pages_at_most(const GroupSpec& spec) const {
  const auto prompt = static_cast<std::int64_t>(spec.prompt.size());
  const std::int64_t each = options_.limits.pages_for(prompt + spec.max_tokens - 1);
  const std::int64_t shared = prompt / options_.limits.page_tokens;
  return spec.sequences * each - (spec.sequences - 1) * shared;
}

// What it needs to compute all that is known and one token more.
std::int64_t Scheduler::pages_to_begin(const Group& group) const {
  const std::int64_t shared = group.prompt_tokens() / options_.limits.page_tokens;
  std::int64_t pages = shared;
  for (const Sequence& sequence : group.sequences) {
    if (!sequence.ended()) pages += options_.limits.pages_for(group.known(sequence) + 1) - shared;
  }
  return std::min(pages, pages_at_most(group.spec));
}

Scheduler::Room Scheduler::room() const {
  return {free_rows_, pages_.free(), cross_pages_.free(), reserved_, running_.empty()};
}

Scheduler::Room Scheduler::room_without_batch() const {
  Room all = room();
  all.idle = true;
  double pages = 0;
  for (const Group* group : running_) {
    if (group->cls != RequestClass::kBatch) {
      all.idle = false;
      continue;
    }
    all.cross_pages += static_cast<std::int64_t>(group->cross_pages.size());
    all.reserved -= group->reserved;
    for (const Sequence& sequence : group->sequences) {
      all.rows += sequence.row < 0 ? 0 : 1;
      if (options_.layout == KvLayout::kSlab) continue;
      // Pages are shared inside a group, so each of those who have it counts its part.
      for (const PageId page : sequence.pages) pages += 1.0 / pages_.references(page);
    }
  }
  all.pages += std::llround(pages);
  return all;
}

bool Scheduler::fits(const Group& group, const Room& room) const {
  if (group.alive > room.rows) return false;
  const auto cross = static_cast<std::int64_t>(group.spec.encoder_input.size());
  if (cross > 0 && options_.limits.pages_for(cross) > room.cross_pages) return false;
  if (options_.layout == KvLayout::kSlab) return true;
  if (options_.admission == AdmissionMode::kReserve) {
    return room.reserved + pages_at_most(group.spec) <= pages_.size();
  }
  const auto watermark =
      room.idle
          ? std::int64_t{0}
          : static_cast<std::int64_t>(options_.watermark * static_cast<double>(pages_.size()));
  return pages_to_begin(group) + watermark <= room.pages;
}

bool Scheduler::may_admit(TimePoint now) const {
  if (waiting_.empty()) return false;
  if (options_.policy == BatchPolicy::kFusion || options_.policy == BatchPolicy::kInstances) {
    return true;
  }
  if (!running_.empty()) return false;
  const auto until = wake_at();
  return !until || *until <= now || std::cmp_greater_equal(waiting_.size(), options_.limits.rows);
}

std::optional<TimePoint> Scheduler::wake_at() const {
  if (options_.policy != BatchPolicy::kWindow || !running_.empty() || waiting_.empty()) return {};
  return *first_waits_since_ + options_.window;
}

// A batch is filled from all that wait; fusion does the same with what is free.
void Scheduler::admit(TimePoint now) {
  if (!may_admit(now)) return;
  for (const RequestClass cls : kRequestClasses) {
    bool more = true;
    while (more) {
      more = false;
      std::array<WaitItem*, kCandidates> items{};
      const std::size_t count = waiting_.candidates(cls, served_[static_cast<std::size_t>(cls)],
                                                    items, kCandidatesOfOneClient);
      for (std::size_t i = 0; i < count; ++i) {
        Group& group = *static_cast<Group*>(items[i]);
        if (try_admit(group)) {
          for (std::size_t j = 0; j < i; ++j) ++static_cast<Group*>(items[j])->overtaken;
          more = true;
          break;  // the order may be another now
        }
        if (group.overtaken >= kMaxOvertakes) return;  // nothing goes before it any more
      }
    }
  }
}

bool Scheduler::try_admit(Group& group) {
  if (!fits(group, room()) && !make_room(group)) return false;
  begin(group);
  return true;
}

// For chat, batch sequences give way, those that lose least first; but only when that is enough.
bool Scheduler::make_room(const Group& group) {
  if (group.cls != RequestClass::kChat || options_.policy != BatchPolicy::kFusion) return false;
  if (!fits(group, room_without_batch())) return false;
  while (!fits(group, room())) {
    Group* other = victim(&group);
    if (other == nullptr || other->cls != RequestClass::kBatch) return false;
    preempt(*other);
  }
  return true;
}

// Of the running groups the one that gives way for `for_whom`: of batch the one that loses least.
// Chat gives way only to chat that comes before it, the last first, so that the first always ends;
// to batch it never does.
Group* Scheduler::victim(const Group* for_whom) const {
  Group* best = nullptr;
  std::int64_t least = 0;
  for (Group* group : running_) {
    if (group == for_whom || group->cls != RequestClass::kBatch) continue;
    std::int64_t loss = 0;
    for (const Sequence& sequence : group->sequences) loss += sequence.computed;
    if (best != nullptr && loss >= least) continue;
    best = group;
    least = loss;
  }
  if (best != nullptr || for_whom->cls == RequestClass::kBatch) return best;
  const auto turn = [](const Group& group) { return std::pair(group.priority, group.order); };
  for (Group* group : running_) {
    if (best == nullptr || turn(*group) > turn(*best)) best = group;
  }
  return best != nullptr && turn(*best) > turn(*for_whom) ? best : nullptr;
}

/// Room for all that it may come to, so that its ticks allocate nothing. Those who wait have none
/// yet: they may be many, and each may ask for the whole context.
void Scheduler::reserve_outputs(Group& group) const {
  const auto outputs = static_cast<std::size_t>(group.spec.max_tokens);
  const std::int64_t tokens = std::int64_t{group.prompt_tokens()} + group.spec.max_tokens;
  // One more: a page that was shared is copied behind the table's end.
  const auto pages = static_cast<std::size_t>(options_.limits.pages_for(tokens)) + 1;
  for (Sequence& sequence : group.sequences) {
    sequence.outputs.reserve(outputs);
    sequence.pages.reserve(pages);
  }
  if (!group.spec.beams() || group.beams) return;
  group.beams.emplace(group.spec.sequences, outputs);
  group.beams->start(group.spec.sampling->beams, outputs, group.spec.end_tokens);
  group.candidates.resize(group.sequences.size());
}

void Scheduler::begin(Group& group) {
  // Rows and pages of those that gave way for it may stand in the plan that is amended.
  if (amending_) drop_stale();
  waiting_.remove(group);
  served(group).leave(group.client);
  reserve_outputs(group);
  group.overtaken = 0;
  group.encoded = group.spec.encoder_input.empty();
  if (!group.charged) {
    served(group).charge_prompt(group.client, group.prompt_tokens());
    group.charged = true;
  }
  if (options_.admission == AdmissionMode::kReserve) {
    group.reserved = pages_at_most(group.spec);
    reserved_ += group.reserved;
  }
  group.phase = GroupPhase::kPrompt;
  for (std::size_t i = 0; i < group.sequences.size(); ++i) {
    Sequence& sequence = group.sequences[i];
    if (!sequence.ended()) sequence.row = take_row(group, static_cast<std::int32_t>(i));
  }
  // The prompt's pages are taken now, so that those who begin side by side do not take them from
  // one another; fits() has counted them.
  Sequence& leader = group.leader();
  const bool alone = group.alive == 1;
  const std::int32_t tokens = alone ? group.known(leader) : group.prompt_tokens();
  if (!take_pages(group, leader, tokens)) internal_error("pages that were counted are not there");
  running_.push_back(&group);
  listener_.on_begin(group);
}

// Its tokens stay; keys and values are computed again when it goes on.
void Scheduler::preempt(Group& group) {
  release_all(group);
  std::erase(running_, &group);
  group.phase = GroupPhase::kWaiting;
  ++stats_.preemptions;
  served(group).arrive(group.client);
  waiting_.push(group);
}

}  // namespace weft
