#include "weft/schedule/memory/prefix/page_tails.h"

namespace weft {

PageTails::PageTails(std::int32_t pages)
    : tails_(static_cast<std::size_t>(pages)), before_(static_cast<std::size_t>(pages), kOut) {}

void PageTails::leave(PageId head, std::span<const PageId> pages) {
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

}  // namespace weft
