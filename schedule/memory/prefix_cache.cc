#include "weft/schedule/memory/prefix_cache.h"

#include <algorithm>

#include "weft/core/error/internal_error.h"

namespace weft {

PrefixCache::PrefixCache(std::int32_t pages, std::int32_t page_tokens, bool keeps)
    : keeps_(keeps),
      pool_(pages),
      tree_(keeps ? pages : 0, page_tokens),
      idle_(keeps ? pages : 0) {}

bool PrefixCache::take(std::int32_t count, std::vector<PageId>& out) {
  if (count > free()) return false;
  while (pool_.free() < count) {
    forget(idle_.oldest());
    ++given_up_;
    if (idle_.size() > 0) tree_.prefetch(idle_.oldest());
  }
  return pool_.take(count, out);
}

void PrefixCache::share(std::span<const PageId> pages) {
  pool_.share(pages);
  if (idle_.size() == 0) return;
  for (const PageId page : pages) {
    if (idle_.contains(page)) idle_.remove(page);
  }
}

void PrefixCache::release(std::span<const PageId> pages) {
  if (!keeps_) return pool_.release(pages);
  for (const PageId page : pages) tree_.prefetch(page);
  // The last of a table first: it is to be given up before those that lead to it.
  for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
    pool_.release({&*page, 1});
    if (is_kept(*page) && pool_.references(*page) == 1) idle_.add(*page);
  }
}

PageId PrefixCache::keep(const PrefixScope& scope, PageId parent, PageId page,
                         std::span<const TokenId> tokens) {
  const PageId kept = tree_.insert(scope, parent, page, tokens);
  if (kept == page) pool_.share({&page, 1});
  return kept;
}

void PrefixCache::forget(PageId page) {
  tree_.erase(page);
  if (idle_.contains(page)) idle_.remove(page);
  pool_.release({&page, 1});
}

void PrefixCache::forget_all() {
  while (idle_.size() > 0) forget(idle_.oldest());
  if (keeps_ && tree_.size() > 0) internal_error("a page is forgotten that sequences have");
}

void PrefixCache::check() const {
  if (!keeps_) return;
  std::int32_t idle = 0;
  for (PageId page = 0; page < size(); ++page) {
    const bool is_idle = is_kept(page) && references(page) == 0;
    if (is_idle != idle_.contains(page)) internal_error("an idle page is not listed as such");
    idle += is_idle ? 1 : 0;
    if (!is_kept(page)) continue;
    const PageId parent = tree_.parent(page);
    if (parent == kNoPage) continue;
    if (!is_kept(parent)) internal_error("a page is kept without those that lead to it");
    if (references(parent) < references(page)) internal_error("a page outlives one before it");
  }
  if (idle != idle_.size()) internal_error("idle pages are miscounted");
}

}  // namespace weft
