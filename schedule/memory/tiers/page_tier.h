#pragma once

#include <cstdint>

#include "weft/schedule/memory/page_pool.h"

namespace weft {

/// A memory in which nodes of the prefix tree have their pages. Each tier has numbers of its own,
/// and a node in the tier has one of them: so a node's number says where its page is. A tier knows
/// which of its numbers are taken, and in which order the nodes were used that nobody holds.
/// PrefixNodes moves nodes between tiers.
///
/// Owner only.
class PageTier {
 public:
  PageTier(PageId first, std::int32_t size) noexcept : first_(first), size_(size) {}
  PageTier(const PageTier&) = delete;
  PageTier& operator=(const PageTier&) = delete;
  virtual ~PageTier() = default;

  [[nodiscard]] PageId first() const noexcept { return first_; }
  [[nodiscard]] std::int32_t size() const noexcept { return size_; }
  /// The number behind the last one.
  [[nodiscard]] PageId end() const noexcept { return first_ + size_; }
  /// Whether the node is in this tier.
  [[nodiscard]] bool has(PageId node) const noexcept { return first_ <= node && node < end(); }

  /// The node that was used longest ago and that nobody holds; kNoPage where there is none.
  [[nodiscard]] virtual PageId oldest() const noexcept = 0;
  /// The node counts as used just now.
  virtual void touch(PageId node) = 0;
  /// The node is not the oldest as long as somebody holds it.
  virtual void hold(PageId node) = 0;
  /// One that held the node lets it go. If nobody holds it any more, it counts as used just now.
  virtual void let_go(PageId node) = 0;
  /// The node leaves the tier. Its number is free, unless tables have the page.
  virtual void drop(PageId node) = 0;

 private:
  const PageId first_;
  const std::int32_t size_;
};

}  // namespace weft
