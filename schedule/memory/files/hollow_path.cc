#include "weft/schedule/memory/files/hollow_path.h"

#include <cstddef>
#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {

/// What is there of a path counts as used; returns how many pages it lacks.
std::int32_t HollowPath::use(const PrefixScope& scope, std::span<const TokenId> tokens) {
  const std::size_t size = nodes_.tree().page_tokens();
  PageId last = kNoPage;
  while (!tokens.empty()) {
    const PageId next = nodes_.tree().find(scope, last, tokens.first(size));
    if (next == kNoPage) break;
    last = next;
    tokens = tokens.subspan(size);
  }
  nodes_.leave_path(last, 0);
  return static_cast<std::int32_t>(tokens.size() / size);
}

void HollowPath::prepare(const PrefixScope& scope, std::span<const TokenId> tokens) {
  const NodePlaces& hollow = nodes_.tiers().hollow;
  if (hollow.size() == 0) return;
  if (std::cmp_greater(tokens.size() / nodes_.tree().page_tokens(), hollow.size())) {
    internal_error("a path has more pages than there are hollow nodes");
  }
  // What is there of it goes last, but for an end that leads to what goes before.
  for (std::int32_t lacks = use(scope, tokens); hollow.free() < lacks; lacks = use(scope, tokens)) {
    while (hollow.free() < lacks) nodes_.forget(hollow.oldest());
  }
}

PageId HollowPath::lead_to(const PrefixScope& scope, PageId parent,
                           std::span<const TokenId> tokens) {
  const PageId found = nodes_.tree().find(scope, parent, tokens);
  if (found != kNoPage || !nodes_.tiers().has_hollow()) return found;
  const PageId hollow = nodes_.tiers().hollow.take();
  if (hollow == kNoPage) internal_error("a path is longer than was prepared");
  nodes_.keep_hollow(scope, parent, hollow, tokens);
  return hollow;
}

}  // namespace weft
