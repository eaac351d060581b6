#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/prefix/page_offers.h"
#include "weft/schedule/memory/prefix/prefix_cache.h"
#include "weft/schedule/memory/prefix/prefix_stats.h"
#include "weft/schedule/memory/prefix/running_tails.h"
#include "weft/schedule/memory/prefix/sequence_path.h"
#include "weft/schedule/memory/states/state_keeper.h"
#include "weft/schedule/plan_clock.h"

namespace weft {

/// Makes the full pages of sequences findable by their tokens (PrefixFinder).
///
/// A page can be found as soon as the plan that fills it precedes the finder's own for sure:
/// devices carry out plans in their order, in each stage. A plan can be amended while it is the
/// newest. So offer() is for the time in which the next one is in the making: what it makes
/// findable holds if that plan comes to be, and does not if there is nothing to plan, as then the
/// plan before may still change (settle_offers). That is for prompts, whose pages
/// others may wait for. What is decoded is kept when results say that it is written: so a plan
/// looks at the groups alone that filled a page with known tokens, not at all that run.
///
/// Where another has filled a page with the same tokens already, the sequence takes that one and
/// frees its own, so that its path (SequencePath) goes on there.
///
/// Most texts are never looked for. So of a group of one sequence only the first page that nobody
/// else had is put into the tree, and the rest is its tail (RunningTails): findable as well, but
/// put into the tree when somebody looks behind that page, then as far as it is written. Outputs
/// join the tail by themselves. Groups of several sequences, and all where pages go to host memory
/// or files, keep page by page.
///
/// Without reuse: groups with an encoder's input, whose keys and values depend on it as well, and
/// of which the decoder's prompt is a token or two. What the encoder made of that input is found by
/// EncoderOutputs.
///
/// Owner only; a part of KvMemory. It allocates in the constructor, and where a sequence's `pages`
/// has no room.
class PrefixKeeper {
 public:
  /// `clock`, `pages` and `states` outlive it.
  PrefixKeeper(const PlanClock& clock, const DeviceLimits& limits, PrefixCache& pages,
               StateKeeper& states);

  /// Whether the group's full pages are kept.
  [[nodiscard]] bool covers(const Group& group) const noexcept {
    return pages_.keeps() && group.spec.encoder_input.empty();
  }

  /// The group begins, and may come to have pages to offer.
  void begin(Group& group) { note(group); }
  /// Returns the page that continues `parent` with the sequence's tokens, those of its page at
  /// `index`; kNoPage where there is none. A tail that hangs at `parent` is put into the tree for
  /// that.
  [[nodiscard]] PageId find_next(const Group& group, const Sequence& sequence, PageId parent,
                                 std::int32_t index);
  /// Returns the page behind `parent` that begins with the most of the sequence's `count` tokens
  /// from the one at `first` on, in the same way.
  [[nodiscard]] PrefixTree::Beginning find_beginning(const Group& group, const Sequence& sequence,
                                                     PageId parent, std::int32_t first,
                                                     std::int32_t count);
  /// The paths of sequences.
  [[nodiscard]] const SequencePath& paths() const noexcept { return paths_; }

  /// A plan has been written that computes known tokens of the sequence.
  void note_computed(Group& group, const Sequence& sequence) {
    if (sequence.progress.planned() < paths_.end_of_next(sequence) || !covers(group)) return;
    note(group);
    if (sequence.table.tail_from == 0) prefetch_next(sequence);
  }
  /// The groups, in no order, whose full pages of known tokens are not all findable yet: those that
  /// are in their prompt, and those of which a plan, after which none has been made, computes some.
  [[nodiscard]] std::span<Group* const> computing() const noexcept { return noted_; }
  /// The group gives back its pages, and may be gone soon.
  void forget_computed(const Group& group) noexcept { std::erase(noted_, &group); }
  /// Makes findable what the plans before the one in the making compute of known tokens.
  void offer();
  /// That holds if the plan in the making has come to be, as the clock says; else it is taken back.
  /// To be called before the plan is written: those of its tables that change are told then.
  void settle_offers();
  /// Makes findable for good what the results of a sequence tell is written. Where another has
  /// filled a page with the same tokens, the sequence takes it with the next plan: the newest one
  /// still reads the sequence's own, which is free then, and may be amended.
  void keep(Group& group, Sequence& sequence) {
    const std::int32_t missing = paths_.end_of_next(sequence) - sequence.progress.planned();
    if (missing <= 0) {
      keep_pages(group, sequence);
    } else if (missing == 1) {  // a step is time enough
      prefetch_next(sequence);
    }
  }

  /// The same with the result of a step, which most sequences need nothing to be done for: what
  /// they write is in their tail.
  void keep_after_step(Group& group, Sequence& sequence) {
    if (tails_.covers(group)) return;
    keep(group, sequence);
    states_.give(sequence);
  }
  /// The sequence is about to release its pages. Those of its tail are left, and not in its table
  /// any more.
  void leave(Group& group, Sequence& sequence);

  /// Forgets all pages: what they hold is not sure any more. Only while no group has rows.
  void forget_all() { pages_.nodes().forget_all(); }

  /// Adds what running sequences' tails have.
  void add_to(PrefixStats& stats) const noexcept { stats.pages += tails_.pages(); }

  /// Checks that the sequence's findable pages are a path of its scope with its tokens;
  /// internal_error where they are not. For tests.
  void check(const Group& group, const Sequence& sequence) const {
    paths_.check(group, sequence);
    tails_.check(sequence);
  }

 private:
  struct Duplicate {
    Group* group = nullptr;
    Sequence* sequence = nullptr;
  };

  void note(Group& group) {
    if (std::ranges::find(noted_, &group) == noted_.end()) noted_.push_back(&group);
  }
  void prefetch_next(const Sequence& sequence) const noexcept {
    paths_.prefetch(sequence, sequence.table.findable, sequence.table.findable + 1);
  }
  [[nodiscard]] bool keep_more(Group& group, Sequence& sequence, std::int32_t tokens,
                               PageOffers* offers);
  void keep_pages(Group& group, Sequence& sequence);
  void adopt_pages(Group& group, Sequence& sequence, std::int32_t tokens);
  void offer_pages(Group& group, Sequence& sequence);
  void keep_offers();
  void take_back_offers();

  const PlanClock& clock_;
  const std::int32_t page_tokens_;
  PrefixCache& pages_;
  StateKeeper& states_;
  SequencePath paths_;
  PageOffers offers_;
  RunningTails tails_;
  std::vector<Group*> noted_;  // that may have pages to offer in one of the next plans
  std::vector<Duplicate> duplicates_;
};

}  // namespace weft
