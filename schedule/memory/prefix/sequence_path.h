#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/prefix/page_offers.h"
#include "weft/schedule/memory/prefix/prefix_cache.h"

namespace weft {

/// The path of a sequence in the prefix tree: the first `PageTable::findable` pages of its table,
/// up to its tail. Keeps the sequence's next page behind that path, and finds what others kept
/// there.
///
/// Owner only; a part of PrefixKeeper. It allocates in the constructor.
class SequencePath {
 public:
  /// `pages` outlives it.
  SequencePath(const DeviceLimits& limits, PrefixCache& pages);

  /// `count` tokens of the sequence, from the one at `first` on. Valid until the next call.
  [[nodiscard]] std::span<const TokenId> tokens(const Group& group, const Sequence& sequence,
                                                std::int32_t first, std::int32_t count) const;
  /// The tokens of its page at `index`, in the same way.
  [[nodiscard]] std::span<const TokenId> page_tokens(const Group& group, const Sequence& sequence,
                                                     std::int32_t index) const {
    return tokens(group, sequence, index * limits_.page_tokens, limits_.page_tokens);
  }

  /// How many tokens the sequence has where the first page ends that is not findable.
  [[nodiscard]] std::int32_t end_of_next(const Sequence& sequence) const noexcept {
    return (sequence.table.findable + 1) * limits_.page_tokens;
  }
  /// What the first page that is not findable continues.
  [[nodiscard]] PageId before_next(const Sequence& sequence) const {
    const auto index = static_cast<std::size_t>(sequence.table.findable);
    return index == 0 ? kNoPage : sequence.table.pages[index - 1];
  }
  /// Whether no more pages of the sequence can become findable, as one that leads to them is not
  /// kept any more: where layers have a window, a sequence gives back pages that others then take.
  [[nodiscard]] bool is_lost(const Sequence& sequence) const;
  /// What leads to the first page that a sequence has.
  struct Before {
    PageId last = kNoPage;  ///< a node of the tree; kNoPage where that page is not kept
    std::int32_t used = 0;  ///< its last nodes, of which who goes on where the sequence is has use
  };
  [[nodiscard]] Before before_window(const Sequence& sequence) const;

  /// Whether the sequence's first `tokens` tokens fill its next page, which can be kept.
  [[nodiscard]] bool has_next(const Sequence& sequence, std::int32_t tokens) const;
  /// Keeps that page, if nobody else has filled one alike; returns whether it is findable then. It
  /// is noted in `offers`, if there are any.
  [[nodiscard]] bool keep_next(const Group& group, Sequence& sequence, PageOffers* offers);
  /// Takes the page that another has filled with the same tokens instead of it.
  void adopt_next(const Group& group, Sequence& sequence);
  /// Has the processor fetch what is needed to keep its pages `first` .. `end`-1.
  void prefetch(const Sequence& sequence, std::int32_t first, std::int32_t end) const noexcept;

  /// Checks that the sequence's pages up to its tail are a path of its scope with its tokens;
  /// internal_error where they are not. For tests.
  void check(const Group& group, const Sequence& sequence) const;

 private:
  void check_page(const Group& group, const Sequence& sequence, std::int32_t index) const;

  const DeviceLimits limits_;
  PrefixCache& pages_;
  mutable std::vector<TokenId> scratch_;  // tokens that lie partly in the prompt
};

}  // namespace weft
