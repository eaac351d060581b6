#include "weft/schedule/memory/page_pool.h"

#include <cstddef>
#include <limits>

#include "weft/core/error/internal_error.h"

namespace weft {

PagePool::PagePool(std::int32_t pages) {
  if (pages < 0) internal_error("a page pool of less than no pages");
  references_.resize(static_cast<std::size_t>(pages));
  free_.reserve(references_.size());
  for (PageId page = pages - 1; page >= 0; --page) free_.push_back(page);
}

bool PagePool::take(std::int32_t count, std::vector<PageId>& out) {
  if (count < 0) internal_error("less than no pages asked for");
  if (count > free()) return false;
  for (std::int32_t i = 0; i < count; ++i) {
    out.push_back(free_.back());  // may throw, and the page is still free then
    references_[static_cast<std::size_t>(free_.back())] = 1;
    free_.pop_back();
  }
  return true;
}

void PagePool::share(std::span<const PageId> pages) {
  for (const PageId page : pages) {
    std::int32_t& count = count_of_used(page);
    if (count == std::numeric_limits<std::int32_t>::max())
      internal_error("a page shared too often");
    ++count;
  }
}

void PagePool::release(std::span<const PageId> pages) {
  for (const PageId page : pages) {
    if (--count_of_used(page) == 0) free_.push_back(page);
  }
}

std::int32_t& PagePool::count_of_used(PageId page) {
  if (references(page) == 0) internal_error("a page that is free is shared or released");
  return references_[static_cast<std::size_t>(page)];
}

}  // namespace weft
