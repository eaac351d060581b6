#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/token.h"
#include "weft/schedule/memory/idle_pages.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/prefix/prefix_stats.h"
#include "weft/schedule/memory/tree/prefix_scope.h"
#include "weft/schedule/plan_clock.h"

namespace weft {

/// What an encoder's output is found by: all of its input, in a scope. Refers to both.
struct EncoderKey {
  const PrefixScope& scope;
  std::span<const TokenId> input;
  std::uint32_t hash = 0;  ///< by EncoderOutputs::hash()
};

/// The pages of the cross KV, each of which is free or part of one encoder's output. An output is
/// known by the first of its pages. It is found by the whole input that it was computed of, in the
/// same scope, as each of its positions depends on all tokens: so groups with equal inputs have one
/// output in common. Once nobody has it, it stays findable, counts as free, and is given up when
/// its room is needed, the one left longest ago first.
///
/// It can be found as soon as the plan that computes it precedes the finder's for sure. The newest
/// plan may be amended, so an output of that is given up with the group that has it. Where two
/// compute the same beside each other, only the first one's is kept.
///
/// Without `keeps` nothing is found, and it is a PagePool. Owner only. The constructor allocates
/// everything; a call costs the pages and tokens that it is about. Misuse is an internal_error.
class EncoderOutputs {
 public:
  /// `clock` outlives it.
  EncoderOutputs(const PlanClock& clock, std::int32_t pages, std::int32_t page_tokens, bool keeps);

  [[nodiscard]] bool keeps() const noexcept { return keeps_; }
  [[nodiscard]] std::int32_t size() const noexcept { return pool_.size(); }
  /// Pages that can be taken: free ones, and those given up for it.
  [[nodiscard]] std::int32_t free() const noexcept { return pool_.free() + idle_pages_; }
  [[nodiscard]] PrefixStats stats() const noexcept;

  /// Takes the time of the input; so whoever asks for it again and again keeps what this returns.
  [[nodiscard]] std::uint32_t hash(const PrefixScope& scope, std::span<const TokenId> input) const {
    return hash_(scope, kNoPage, input);
  }
  /// Whether a group that begins now finds its input's output.
  [[nodiscard]] bool contains(const EncoderKey& key) const { return find(key) != kNoPage; }
  /// Whether it finds one that others have, which costs no room.
  [[nodiscard]] bool is_in_use(const EncoderKey& key) const {
    const PageId first = find(key);
    return first != kNoPage && at(first).users > 0;
  }

  enum class Taken : std::uint8_t {
    kFound,  ///< what is in these pages need not be computed
    kNew,
    kNoRoom,  ///< nothing has changed
  };
  /// Appends the pages of an input's output to `out`, for one group.
  [[nodiscard]] Taken take(const EncoderKey& key, std::vector<PageId>& out);
  /// Notes that the plan in the making computes an output into pages that a group has.
  void note_computed(std::span<const PageId> pages, const EncoderKey& key);
  /// Whether a plan before the one in the making computes what a group has in these pages.
  [[nodiscard]] bool precedes(std::span<const PageId> pages) const {
    return !pages.empty() && at(pages.front()).is_computed_by(clock_.preceding());
  }
  /// Whether what a group has in these pages is computed for sure, whatever becomes of plans.
  [[nodiscard]] bool is_sure(std::span<const PageId> pages) const {
    return !pages.empty() && at(pages.front()).is_computed_by(clock_.sure());
  }
  /// One group less has the output in these pages.
  void release(std::span<const PageId> pages);
  /// Finds nothing any more; only while no group has pages.
  void forget_all();

  /// Of an output that a group has, how many have it.
  [[nodiscard]] std::int32_t users(PageId first) const { return at(first).users; }
  /// Checks that no page is lost, with the number of groups that have pages; internal_error where
  /// one is. For tests.
  void check(std::int32_t groups) const;

 private:
  struct Output {
    std::uint64_t computed_in = 0;  // the tick; 0: none yet
    std::int32_t users = 0;
    std::int32_t tokens = 0;  // 0: no output begins with this page
    std::uint32_t hash = 0;
    PageId next_in_bucket = kUnlisted;

    [[nodiscard]] bool is_computed_by(std::uint64_t tick) const noexcept {
      return computed_in > 0 && computed_in <= tick;
    }
  };
  static constexpr PageId kUnlisted = -2;  // not to be found

  [[nodiscard]] const Output& at(PageId first) const {
    return outputs_.at(static_cast<std::size_t>(first));
  }
  [[nodiscard]] Output& at(PageId first) { return outputs_.at(static_cast<std::size_t>(first)); }
  [[nodiscard]] std::int32_t pages_of(const Output& output) const noexcept {
    return (output.tokens + page_tokens_ - 1) / page_tokens_;
  }
  [[nodiscard]] PageId& bucket_of(std::uint32_t hash) noexcept {
    return buckets_[std::size_t{hash} & (buckets_.size() - 1)];
  }
  [[nodiscard]] std::span<TokenId> tokens_of(PageId page) noexcept;
  [[nodiscard]] PageId find(const EncoderKey& key) const;
  [[nodiscard]] PageId find_listed(const EncoderKey& key) const;
  [[nodiscard]] bool is_of(PageId first, std::span<const TokenId> input) const;
  void list(PageId first, const EncoderKey& key);
  void unlist(PageId first);
  void share(PageId first, std::vector<PageId>& out);
  void drop(PageId first);
  void give_up_oldest();

  const PlanClock& clock_;
  const bool keeps_;
  const std::int32_t page_tokens_;
  PagePool pool_;
  const PrefixHash hash_;
  std::vector<Output> outputs_;      // by first page
  std::vector<PageId> next_;         // by page: the next one of its output, or kNoPage
  std::vector<TokenId> tokens_;      // by page: those of the input, of outputs that can be found
  std::vector<PrefixScope> scopes_;  // by first page, of the same
  std::vector<PageId> buckets_;      // the first of each; a power of two
  IdlePages idle_;                   // first pages
  std::int32_t idle_pages_ = 0;
  std::int32_t listed_pages_ = 0;
  PrefixStats stats_;
};

}  // namespace weft
