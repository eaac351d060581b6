#include "weft/schedule/memory/tiers/device_pages.h"

namespace weft {

DevicePages::DevicePages(std::int32_t pages, PrefixTree& tree, bool keeps)
    : PageTier(0, pages),
      keeps_(keeps),
      tree_(tree),
      pool_(pages),
      idle_(NodeLinks{tree}),
      tails_(tree, keeps ? pages : 0) {}

void DevicePages::share(std::span<const PageId> pages) {
  pool_.share(pages);
  if (idle_.size() == 0) return;
  for (const PageId page : pages) {
    if (!idle_.contains(page)) continue;
    if (tails_.has(page)) read_tail(page);
    idle_.remove(page);
  }
}

void DevicePages::release(std::span<const PageId> pages) {
  if (!keeps_) return pool_.release(pages);
  for (const PageId page : pages) tree_.prefetch_to_erase(page);
  // The last of a table first: it is to be given up before those that lead to it.
  for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
    pool_.release({&*page, 1});
    if (!tree_.contains(*page) || pool_.references(*page) != 1) continue;
    idle_.add(*page);
    if (listener_ != nullptr) listener_->on_left(*page);
  }
}

void DevicePages::read_tail(PageId head) {
  PageId parent = head;
  for (const PageId page : tails_.take_all(head)) {
    tree_.insert({}, parent, page, tree_.tokens(page));
    // The later one leads to the earlier, and was left after it.
    idle_.add_before(page, parent);
    parent = page;
  }
}

void DevicePages::touch(PageId page) {
  if (!idle_.contains(page)) return;
  idle_.remove(page);
  idle_.add(page);
}

void DevicePages::drop(PageId page) {
  if (idle_.contains(page)) idle_.remove(page);
  pool_.release({&page, 1});
}

}  // namespace weft
