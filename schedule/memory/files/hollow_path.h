#pragma once

#include <cstdint>
#include <span>

#include "weft/core/token.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/prefix/prefix_nodes.h"

namespace weft {

/// Puts hollow nodes into the tree that lead to pages from files: what is before the window may be
/// nowhere. Owner only; a part of PageFetches.
class HollowPath {
 public:
  /// `nodes` outlives it.
  explicit HollowPath(PrefixNodes& nodes) : nodes_(nodes) {}

  /// Gets ready for lead_to() of each page of a path with these tokens: what is there of it counts
  /// as used, and there are as many hollow nodes to be had as it lacks. Nothing where no node may
  /// be hollow. The path is no longer than a row.
  void prepare(const PrefixScope& scope, std::span<const TokenId> tokens);
  /// Returns the node with these tokens behind `parent`; where there is none a new hollow one,
  /// behind which something must be kept soon. kNoPage where no node may be hollow.
  [[nodiscard]] PageId lead_to(const PrefixScope& scope, PageId parent,
                               std::span<const TokenId> tokens);

 private:
  [[nodiscard]] std::int32_t use(const PrefixScope& scope, std::span<const TokenId> tokens);

  PrefixNodes& nodes_;
};

}  // namespace weft
