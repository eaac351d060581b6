#include "weft/schedule/admission.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace weft {
namespace {

// How many groups of a class are tried when the first does not fit, and how many of one line:
// enough to find a small group behind large ones, at a cost that each tick pays.
constexpr std::size_t kCandidates = 8;
constexpr std::size_t kCandidatesOfOneLine = 4;

}  // namespace

struct Admission::Lacking {
  /// A group, and how many candidates go before it.
  struct One {
    Group* group = nullptr;
    std::size_t before = 0;
  };
  std::array<One, kCandidates> first{};
  std::size_t count = 0;  ///< also of those that are not in `first`

  /// The candidate of this index begins.
  void count_overtaking(std::size_t candidate) const {
    for (const One& one : std::span(first).first(std::min(count, first.size()))) {
      if (one.before <= candidate) ++one.group->overtaken;
    }
  }
};

Admission::Admission(const SchedulerOptions& options, const RowTable& rows, KvMemory& memory,
                     AdapterPlaces& adapters, const WaitingGroups& waiting,
                     const RunningGroups& running, const PrefixLeaders& leaders,
                     PageFetches* fetches, const TrainingPolicy* training)
    : options_(options),
      rows_(rows),
      memory_(memory),
      adapters_(adapters),
      waiting_(waiting),
      running_(running),
      leaders_(leaders),
      fetches_(fetches),
      training_(training) {}

std::string Admission::never_fits(const GroupSpec& spec) const {
  const DeviceLimits& limits = options_.limits;
  const auto number = [](auto value) { return std::to_string(value); };
  if (spec.sequences > limits.rows) {
    return number(spec.sequences) + " sequences, the engine has " + number(limits.rows) + " rows";
  }
  if (spec.traits.kv.adapter && limits.adapter_places == 0) {
    return "an adapter, the engine has no places for adapters";
  }
  if (memory_.slabs() && spec.beams()) return "a beam search needs kv_layout \"pages\"";
  if (limits.has_state() && spec.beams()) return "a beam search needs a model without state";
  const std::int64_t pages = memory_.most_pages(spec);
  if (!memory_.slabs() && pages > limits.pages) {
    return number(spec.sequences) + " sequences of " +
           number(spec.prompt.size() + static_cast<std::size_t>(spec.max_tokens)) +
           " tokens take " + number(pages) + " pages, the engine has " + number(limits.pages);
  }
  if (!limits.keeps_kv && std::cmp_greater(spec.prompt.size(), limits.step_tokens)) {
    return "an input of " + number(spec.prompt.size()) +
           " tokens, which the model reads in one step of " + number(limits.step_tokens);
  }
  if (std::cmp_greater(spec.encoder_input.size(), limits.step_tokens)) {
    return "an encoder's input of " + number(spec.encoder_input.size()) + " tokens, a step has " +
           number(limits.step_tokens);
  }
  return {};
}

bool Admission::is_open(TimePoint now) const {
  if (waiting_.empty()) return false;
  if (options_.policy == BatchPolicy::kFusion || options_.policy == BatchPolicy::kInstances) {
    return true;
  }
  if (!running_.empty()) return false;
  const auto until = opens_at();
  return !until || *until <= now || std::cmp_greater_equal(waiting_.size(), rows_.size());
}

std::optional<TimePoint> Admission::opens_at() const {
  if (options_.policy != BatchPolicy::kWindow || !running_.empty() || waiting_.empty()) return {};
  return waiting_.first_waits_since() + options_.window;
}

AdmissionChoice Admission::choose(RequestClass cls, TimePoint now) const {
  std::array<Group*, kCandidates> groups{};
  Lacking lacking;
  // The first of a line was submitted first: if it waits for training, then all of the line do.
  const std::size_t count =
      waiting_.candidates(cls, groups, kCandidatesOfOneLine, [&](Group& group, std::size_t before) {
        return !waits_for_training(group, now) && has_adapter(group, before, lacking);
      });
  for (std::size_t i = 0; i < count; ++i) {
    Group& group = *groups[i];
    if (!adapters_.has(group)) continue;  // more lack theirs than are passed over
    if (waits_for_training(group, now)) continue;
    if (!fits_in_any_way(group, i == 0)) {
      group.leads = {};
      if (group.overtaken >= kMaxOvertakes) return {.blocked = true};
    } else if (!leaders_.has_leader(group) && !waits_for_files(group)) {
      for (std::size_t j = 0; j < i; ++j) {
        const bool is_passed = groups[j]->leads.group == nullptr;
        if (is_passed && !waits_for_training(*groups[j], now)) ++groups[j]->overtaken;
      }
      lacking.count_overtaking(i);
      return {.group = &group};
    }
  }
  return {};
}

bool Admission::waits_for_training(const Group& group, TimePoint now) const {
  return training_ != nullptr && !group.charged && !training_->joins(group.waits_since, now);
}

/// Whether a line's groups may begin as far as their adapter is concerned; if not, it is asked for.
bool Admission::has_adapter(Group& group, std::size_t before, Lacking& lacking) const {
  if (adapters_.has(group)) return true;
  adapters_.want(group, group.overtaken >= kMaxOvertakes);
  if (lacking.count < lacking.first.size()) lacking.first[lacking.count] = {&group, before};
  return ++lacking.count > kMostLacking;
}

/// Whether it waits for pages from files; never where batches are filled from all waiting groups.
bool Admission::waits_for_files(Group& group) const {
  return fetches_ != nullptr && options_.policy == BatchPolicy::kFusion && fetches_->delay(group);
}

/// Pages shared with other groups are looked up for the first in line only, since that takes time
/// in proportion to its prompt in each tick.
bool Admission::fits_in_any_way(const Group& group, bool first) const {
  if (first ? fits(group) : fits(group, room())) return true;
  const bool batch_gives_way =
      group.cls == RequestClass::kChat && options_.policy == BatchPolicy::kFusion;
  return batch_gives_way && fits(group, room_without_batch());
}

Admission::Room Admission::room() const {
  return {rows_.free(), memory_.free(), memory_.free_cross(), memory_.reserved(), running_.empty()};
}

Admission::Room Admission::room_without_batch() const {
  Room all = room();
  all.idle = true;
  all.pages += memory_.pages_held_by(running_.all(), RequestClass::kBatch);
  all.cross_pages += memory_.cross_pages_held_by(running_.all(), RequestClass::kBatch);
  for (const Group* group : running_.all()) {
    if (group->cls != RequestClass::kBatch) {
      all.idle = false;
      continue;
    }
    all.reserved -= group->reserved;
    for (const Sequence& sequence : group->sequences) all.rows += sequence.row < 0 ? 0 : 1;
  }
  return all;
}

bool Admission::fits(const Group& group) const {
  const Room now = room();
  return fits(group, now) || fits_by_sharing(group, now);
}

/// Whether the group fits because it shares pages with running groups.
bool Admission::fits_by_sharing(const Group& group, Room room) const {
  if (memory_.slabs() || options_.admission == AdmissionMode::kReserve) return false;
  const Sequence& leader = group.leader();
  const std::int32_t tokens = group.alive == 1 ? leader.progress.known() : group.prompt_tokens();
  // It would share only the last of the other groups' pages.
  if (options_.limits.first_page_needed(tokens) > 0) return false;
  room.pages += tokens / options_.limits.page_tokens;
  if (!fits(group, room)) return false;  // not even if all of the prompt's pages were shared
  room.pages -= tokens / options_.limits.page_tokens;
  room.pages += memory_.finder().count_in_use(group, leader, tokens - 1);
  return fits(group, room);
}

bool Admission::fits(const Group& group, const Room& room) const {
  if (group.alive > room.rows) return false;
  if (memory_.cross_pages_to_begin(group) > room.cross_pages) return false;
  if (memory_.slabs()) return true;
  if (options_.admission == AdmissionMode::kReserve) {
    return room.reserved + memory_.most_pages(group.spec) <= memory_.size();
  }
  const double watermark = room.idle ? 0 : options_.watermark * memory_.size();
  return memory_.pages_to_begin(group) + static_cast<std::int64_t>(watermark) <= room.pages;
}

}  // namespace weft
