#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/gpu/plan.h"
#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/prefix/prefix_cache.h"
#include "weft/schedule/memory/prefix/prefix_keeper.h"
#include "weft/schedule/memory/prefix/prefix_stats.h"
#include "weft/schedule/memory/states/state_keeper.h"
#include "weft/schedule/memory/tiers/swap_costs.h"
#include "weft/schedule/plan_clock.h"

namespace weft {

/// Tells how much of a sequence's beginning need not be computed, because pages with these tokens
/// are kept, and gives it those pages.
///
/// A look-up follows the path of full pages with the sequence's tokens through the tree. Where all
/// layers have a window, a sequence goes on from the end of a path whose last pages are there,
/// those that the window at its end reaches, in whichever memory: what leads to them may be hollow
/// (PrefixCache), and stays where it is. It begins with the holes that one has which came to that
/// place by itself. Where rows have state, a sequence goes on only from the end of a path whose
/// last node has a snapshot of it.
///
/// Behind the path a page of which only the beginning is right is copied, if it is worth it, but
/// not where rows have state.
///
/// Owner only; a part of KvMemory. It allocates in the constructor, and where a sequence's `pages`
/// has no room.
class PrefixFinder {
 public:
  /// Copies that plans have to make are appended to `copies`. `keeper` puts tails into the tree
  /// that a look-up comes to. All of them outlive it.
  PrefixFinder(const PlanClock& clock, const DeviceLimits& limits, PrefixCache& pages,
               PrefixKeeper& keeper, StateKeeper& states, std::vector<PlanCopy>& copies);

  /// What is in host memory is taken as `costs`, which outlive it, say; without any, always.
  void use(const SwapCosts& costs) noexcept { costs_ = &costs; }

  /// Gives a sequence without pages those with its first tokens, `most` tokens at most, and returns
  /// how many tokens that are. The last page may be its own copy of one that goes on differently.
  /// Some may come from host memory; then the sequence is_arriving().
  std::int32_t take(Group& group, Sequence& sequence, std::int32_t most);
  /// Whether pages of the sequence come from host memory with the plan in the making. It had better
  /// be fed in the next one: then the device may copy beside its step.
  [[nodiscard]] bool is_arriving(const Sequence& sequence) const noexcept {
    return sequence.table.arrives_in == clock_.making();
  }
  /// The nodes that lead along a sequence's first `most` tokens, as far as there are any.
  [[nodiscard]] std::vector<PageId> path(const Group& group, const Sequence& sequence,
                                         std::int32_t most);
  /// Of that path, how many pages the longest has that the sequence can go on from, in whichever
  /// memory and with those that are hollow.
  [[nodiscard]] std::int32_t count(const Group& group, const Sequence& sequence, std::int32_t most);
  /// Of these, how many some table has, so that having them costs no room.
  [[nodiscard]] std::int32_t count_in_use(const Group& group, const Sequence& sequence,
                                          std::int32_t most);

  /// Adds what became of the look-ups.
  void add_to(PrefixStats& stats) const noexcept;

 private:
  /// The longest path that a sequence can go on from, and how many pages that has of which all are
  /// on the device.
  struct Match {
    std::span<const PageId> path;
    std::int32_t here = 0;
  };

  [[nodiscard]] Match match(const Group& group, const Sequence& sequence, std::int32_t most);
  [[nodiscard]] bool copying_is_sooner(const Match& match) const;
  [[nodiscard]] bool take_path(Sequence& sequence, std::span<const PageId> path);
  [[nodiscard]] std::int32_t copy_beginning(const Group& group, Sequence& sequence,
                                            std::int32_t most);

  const PlanClock& clock_;
  const DeviceLimits limits_;
  PrefixCache& pages_;
  PrefixKeeper& keeper_;
  StateKeeper& states_;
  std::vector<PlanCopy>& copies_;
  const SwapCosts* costs_ = nullptr;
  std::vector<PageId> found_;  // by the last match()
  std::uint64_t lookups_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t looked_up_ = 0;
  std::uint64_t found_tokens_ = 0;
  std::uint64_t hollow_hits_ = 0;
};

}  // namespace weft
