#pragma once

#include <span>

#include "weft/core/token.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/tree/prefix_scope.h"

namespace weft {

/// Told what becomes of nodes of the prefix tree, from within the calls that change them.
class NodeListener {
 public:
  /// The node is in the tree from now on, behind `parent`, or as a first page (kNoPage).
  virtual void on_kept(const PrefixScope& scope, PageId parent, PageId node,
                       std::span<const TokenId> tokens) = 0;
  /// No sequence has the kept page any more.
  virtual void on_left(PageId page) = 0;
  /// The page is not kept any more.
  virtual void on_forgotten(PageId page) = 0;
  /// The node has another number from now on: it is in another tier.
  virtual void on_renumbered(PageId from, PageId to) = 0;

 protected:
  ~NodeListener() = default;
};

}  // namespace weft
