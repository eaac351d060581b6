#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/config/config.h"
#include "weft/gpu/plan.h"
#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/encoder_outputs.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/prefix/prefix_cache.h"
#include "weft/schedule/memory/prefix/prefix_finder.h"
#include "weft/schedule/memory/prefix/prefix_keeper.h"
#include "weft/schedule/memory/prefix/prefix_stats.h"
#include "weft/schedule/memory/states/state_keeper.h"
#include "weft/schedule/plan_clock.h"

namespace weft {

/// The KV cache's memory, as pages: only here are they taken and given back. It owns
/// `Sequence::table`, `Group::cross_pages` and `Group::reserved` of every group,
/// and knows nothing of rows, queues or plans beyond the copies that a plan must make.
///
/// Where all layers have a window, a sequence that goes on gives back the pages before it
/// (slide()): the entries of its table are kNoPage then, and its device is not told of them any
/// more.
///
/// In the layout kPages a page has as many references as page tables that name it. Sequences of a
/// group share the pages of their prompt, beams those of what they have in common; who writes to a
/// shared page copies it first (make_writable). Full pages are kept for others that begin with the
/// same tokens (prefixes(), finder()), if it is to keep them. In kSlab every row has its own pages,
/// row * pages_per_row and those after it, so nothing is shared or kept, nothing runs out, and a
/// row that moves copies its pages.
///
/// What holds: a page is free, kept or referred to; each is referred to as often as counted;
/// `reserved` is the sum of what groups have reserved. Pages are bounded by the device's limits,
/// and those that are kept alone count as free: they are given up before anybody goes without.
///
/// Owner only. It allocates in the constructor, and where a sequence's `pages` has no room.
class KvMemory {
 public:
  /// `keeps`: full pages stay findable, in kPages. In kSlab it is an internal_error if the device
  /// has fewer pages than its rows need. `clock` outlives it.
  KvMemory(const PlanClock& clock, const DeviceLimits& limits, KvLayout layout, bool keeps = false);
  KvMemory(const KvMemory&) = delete;
  KvMemory& operator=(const KvMemory&) = delete;

  [[nodiscard]] bool slabs() const noexcept { return layout_ == KvLayout::kSlab; }
  /// Finds pages by their tokens.
  [[nodiscard]] PrefixFinder& finder() noexcept { return finder_; }
  [[nodiscard]] const PrefixFinder& finder() const noexcept { return finder_; }
  /// Keeps pages, so that they are found by their tokens.
  [[nodiscard]] PrefixKeeper& prefixes() noexcept { return prefixes_; }
  [[nodiscard]] const PrefixKeeper& prefixes() const noexcept { return prefixes_; }
  /// Keeps and restores rows' states.
  [[nodiscard]] StateKeeper& states() noexcept { return states_; }
  /// The outputs of the encoder.
  [[nodiscard]] EncoderOutputs& encoder_outputs() noexcept { return encoder_outputs_; }
  [[nodiscard]] const EncoderOutputs& encoder_outputs() const noexcept { return encoder_outputs_; }
  /// The pages themselves, for who brings some from elsewhere.
  [[nodiscard]] PrefixCache& pages() noexcept { return pages_; }
  /// Copies of pages that have been decided and are in no plan yet.
  [[nodiscard]] const std::vector<PlanCopy>& copies() const noexcept { return copies_; }

  /// What became of look-ups, of pages that are kept, and of the encoder's outputs.
  [[nodiscard]] PrefixStats prefix_stats() const noexcept;

  /// Pages that sequences share out among them; none in kSlab.
  [[nodiscard]] std::int32_t size() const noexcept { return pages_.size(); }
  [[nodiscard]] std::int32_t free() const noexcept { return pages_.free(); }
  [[nodiscard]] std::int32_t free_cross() const noexcept { return encoder_outputs_.free(); }
  /// Pages that were promised to groups, whether taken yet or not.
  [[nodiscard]] std::int64_t reserved() const noexcept { return reserved_; }

  /// The pages that a group takes at most: all outputs at their longest, the prompt shared. The
  /// last token's keys and values are never needed.
  [[nodiscard]] std::int64_t most_pages(const GroupSpec& spec) const;
  /// The pages that a group needs to compute all that is known of it, and one token more.
  [[nodiscard]] std::int64_t pages_to_begin(const Group& group) const;
  /// The pages that a group needs for the encoder's output: none if it finds one that others have.
  [[nodiscard]] std::int64_t cross_pages_to_begin(const Group& group) const;
  /// The pages that would be free if all these groups of the class gave back theirs.
  [[nodiscard]] std::int64_t pages_held_by(std::span<Group* const> groups, RequestClass cls) const;

  /// What the output of a group's encoder is found by. Its input is hashed when somebody asks for
  /// the first time: a group that waits is looked up in each tick.
  [[nodiscard]] EncoderKey encoder_key(const Group& group) const;

  /// The same of pages of the encoder's outputs.
  [[nodiscard]] std::int64_t cross_pages_held_by(std::span<Group* const> groups, RequestClass cls);

  /// Gives a group that begins the pages of its encoder's output, and returns how many tokens of
  /// the input need not be read: then it is `encoded`. There must be room.
  std::int32_t begin_encoder(Group& group);
  /// Notes that the plan in the making has the encoder read the group's input.
  void note_encoded(Group& group);
  /// Whether the group's output is there whatever becomes of plans, or it has no encoder.
  [[nodiscard]] bool is_encoded(const Group& group) const;

  /// How many of a sequence's first `tokens` tokens, which are known, are to have pages before they
  /// are computed, so that others do not take these: where layers have a window, as many as it may
  /// hold at once.
  [[nodiscard]] std::int32_t tokens_to_hold(const Sequence& sequence, std::int32_t tokens) const;
  /// Gives back the pages that tokens of the sequence from its next one on do not need. Plans that
  /// precede the one in the making may still read them, so that has to come to be.
  void slide(Sequence& sequence);

  /// Makes the sequence's table long enough for its first `tokens` tokens. False when too few pages
  /// are free; then nothing changes.
  [[nodiscard]] bool extend(Sequence& sequence, std::int32_t tokens);
  /// For how many tokens of the sequence there are pages, its own or ones that nobody has and that
  /// keep nothing for others.
  [[nodiscard]] std::int64_t tokens_with_spare_pages(const Sequence& sequence) const noexcept {
    if (slabs()) return limits_.context;
    return (std::ssize(sequence.table.pages) + pages_.spare()) * limits_.page_tokens;
  }
  /// Makes the table's page at `index`, if there is one, the sequence's alone: a shared one is
  /// replaced by a copy. False when no page is free.
  [[nodiscard]] bool make_writable(Sequence& sequence, std::size_t index);
  /// Gives `to`, which has no pages, the table of `from`: the same pages in kPages. In kSlab these
  /// are pages of its own, as many as its computed tokens need, and the returned number of them
  /// must get what those of `from` hold.
  [[nodiscard]] std::int32_t fork(const Sequence& from, Sequence& to);
  /// Gives back the pages behind all planned tokens: wrong guesses had them.
  void trim(Sequence& sequence);
  /// Promises the group its most_pages().
  void reserve(Group& group);

  /// Gives back the pages of a sequence of the group.
  void release(Group& group, Sequence& sequence);
  /// Gives back what the group has beside its sequences: the encoder's pages and the promise.
  void release(Group& group);

  /// In kSlab, lets the sequence have the pages of the row that it stands in now, and notes which
  /// have to be copied. Nothing in kPages.
  void follow_row(Sequence& sequence);
  /// Appends the copies and restores that were noted since the last call to the plan, which carries
  /// them out before it computes anything.
  void write_copies(Plan& plan);

  /// Checks the invariants above against all groups; internal_error where one is broken. For tests:
  /// it counts every page.
  void check(std::span<Group* const> groups) const;

 private:
  [[nodiscard]] std::int64_t held_pages_for(std::int64_t tokens) const noexcept;
  void extend_in_slab(Sequence& sequence, std::size_t pages) const;
  void check_references(std::span<Group* const> groups) const;
  void check_slabs(std::span<Group* const> groups) const;

  const DeviceLimits limits_;
  const KvLayout layout_;
  PrefixCache pages_;
  EncoderOutputs encoder_outputs_;
  std::int64_t reserved_ = 0;
  std::vector<PlanCopy> copies_;       // of shared pages, not in a plan yet
  std::vector<PlanCopy> slab_copies_;  // of rows that have moved, not in a plan yet
  StateKeeper states_;
  PrefixKeeper prefixes_;
  PrefixFinder finder_;
  mutable std::vector<std::int32_t> held_;  // by page: how many tables name it; 0 between calls
  std::vector<std::int32_t> cross_held_;    // by first page of an output: the same of groups
};

}  // namespace weft
