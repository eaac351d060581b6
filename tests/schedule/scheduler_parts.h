#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "weft/schedule/admission.h"
#include "weft/schedule/group_table.h"
#include "weft/schedule/running_groups.h"
#include "weft/schedule/scheduler_options.h"

namespace weft::test {

/// The request of a group of these tests.
struct GroupWish {
  std::int32_t prompt = 4;  ///< tokens
  std::int32_t max_tokens = 8;
  std::int32_t sequences = 1;
  std::int32_t encoder_input = 0;
  RequestClass cls = RequestClass::kChat;
  std::int32_t priority = 0;
  std::uint64_t client = 0;
};

/// A group as the scheduler has it from its submission on.
inline std::unique_ptr<Group> make_group(const GroupWish& wish) {
  GroupSpec spec;
  spec.prompt.assign(static_cast<std::size_t>(wish.prompt), TokenId{7});
  spec.encoder_input.assign(static_cast<std::size_t>(wish.encoder_input), TokenId{9});
  spec.sampling = std::make_shared<const SamplingParams>();
  spec.sequences = wish.sequences;
  spec.max_tokens = wish.max_tokens;
  auto group = std::make_unique<Group>(std::move(spec));
  group->cls = wish.cls;
  group->priority = wish.priority;
  group->client = ClientId(wish.client);
  group->make_sequences();
  return group;
}

/// Few rows and pages, so that tests count with small numbers: pages of 4 tokens.
inline SchedulerOptions small_options() {
  SchedulerOptions options;
  options.limits.rows = 4;
  options.limits.pages = 8;
  options.limits.page_tokens = 4;
  options.limits.step_tokens = 16;
  options.limits.context = 32;
  options.limits.vocabulary = 1000;
  options.watermark = 0;
  return options;
}

/// The parts of a scheduler below the one that a test is about, joined as the scheduler joins them.
struct SchedulerParts {
  explicit SchedulerParts(const SchedulerOptions& how = small_options())
      : options(how),
        rows(how.limits.rows),
        memory(clock, how.limits, how.layout, how.cache),
        adapters(clock, how.limits.adapter_places),
        waiting(adapters),
        running(how.limits, how.admission, rows, memory, adapters, waiting) {}

  /// Adds a group that waits.
  Group& arrive(const GroupWish& wish) {
    Group& group = groups.add(make_group(wish));
    group.order = ++arrivals;
    waiting.arrive(group, now);
    return group;
  }
  /// Adds a group that runs. There must be room for it.
  Group& begin(const GroupWish& wish) {
    Group& group = arrive(wish);
    running.begin(group);
    return group;
  }
  /// Puts the group's sequences into the state after their prompt, with one pending token each.
  static void decode(Group& group) {
    group.phase = GroupPhase::kForked;
    for (Sequence& sequence : group.sequences) {
      sequence.progress.begin(sequence.progress.known());
      sequence.under_way.expect_result();
      sequence.fresh = false;
    }
  }
  [[nodiscard]] bool runs(const Group& group) const {
    return std::ranges::count(running.all(), &group) == 1;
  }
  void check() const {
    const auto all = groups.all();
    rows.check(all);
    memory.check(all);
  }

  SchedulerOptions options;
  TimePoint now{Duration(1)};
  std::uint64_t arrivals = 0;
  PlanClock clock;
  GroupTable groups;
  RowTable rows;
  KvMemory memory;
  AdapterPlaces adapters;
  WaitingGroups waiting;
  RunningGroups running;
};

}  // namespace weft::test
