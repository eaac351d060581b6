#include "weft/schedule/memory/tree/page_tails.h"

#include <algorithm>

namespace weft {

PageTails::PageTails(PrefixTree& tree, std::int32_t pages)
    : tree_(tree),
      tails_(static_cast<std::size_t>(pages)),
      before_(static_cast<std::size_t>(pages), kOut) {
  taken_.reserve(static_cast<std::size_t>(pages));
}

void PageTails::link(PageId head, std::span<const PageId> pages) {
  Tail& tail = at(head);
  if (tail.count > 0 || pages.empty()) internal_error("a page gets a second tail, or an empty one");
  PageId before = head;
  for (const PageId page : pages) {
    if (std::exchange(before_[static_cast<std::size_t>(page)], before) != kOut) {
      internal_error("a page is in two tails");
    }
    before = page;
  }
  tail = {{}, before, static_cast<std::int32_t>(pages.size())};
  idle_ += tail.count;
}

std::span<const PageId> PageTails::take_all(PageId head) {
  taken_.clear();
  while (has(head)) taken_.push_back(pop(head));
  std::ranges::reverse(taken_);
  return taken_;
}

}  // namespace weft
