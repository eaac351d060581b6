#include "weft/schedule/memory/prefix/prefix_cache.h"

#include <algorithm>

namespace weft {

PrefixCache::PrefixCache(const PlanClock& clock, const PrefixCacheSizes& sizes,
                         std::vector<PlanCopy>* copies)
    : keeps_(sizes.keeps),
      has_tails_(sizes.keeps && sizes.places == 0 && sizes.hollow == 0 &&
                 sizes.snapshot_pages == 0),
      nodes_(clock, sizes, copies) {
  brought_.reserve(1);
}

bool PrefixCache::take(std::int32_t count, std::vector<PageId>& out) {
  if (count > free()) return false;
  const DevicePages& device = tiers().device;
  while (spare() < count) {
    const PageId oldest = device.oldest();
    if (oldest == kNoPage && nodes_.snapshots().on_device() > 0) {
      nodes_.snapshots().drop(nodes_.snapshots().oldest());
    } else if (oldest == kNoPage) {
      loans_.call_back();
    } else if (device.tails().has(oldest)) {
      // It had one reference, the cache's own, and has one now.
      out.push_back(device.tails().last(oldest));  // may throw, and the page is still kept then
      nodes_.give_up_end(oldest);
      --count;
    } else {
      nodes_.give_up(oldest);
      if (device.idle() > 0) nodes_.tree().prefetch_to_erase(device.oldest());
    }
  }
  return nodes_.tiers().device.pool().take(count, out);
}

/// Moves a node from its place in host memory to a page that a table has then. False where no page
/// can be had.
bool PrefixCache::bring(PageId& node) {
  brought_.clear();
  if (!take(1, brought_)) return false;
  nodes_.bring(node, brought_.front());
  node = brought_.front();
  return true;
}

bool PrefixCache::share_path(std::span<PageId> path) {
  // All of it first, so that none has to go for another.
  for (const PageId node : path) nodes_.tiers().of(node).hold(node);
  const bool has_all = std::ranges::all_of(
      path, [this](PageId& node) { return tiers().is_here(node) || bring(node); });
  if (has_all) return true;
  // The last first, as in release().
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    nodes_.tiers().of(*node).let_go(*node);
  }
  return false;
}

bool PrefixCache::lend(std::int32_t count, std::vector<PageId>& out) {
  if (count > spare() + tiers().device.idle()) return false;
  // Not to host memory, as no plan may come that copies it before it is filled.
  while (spare() < count) nodes_.lose_page(tiers().device.oldest());
  if (!take(count, out)) return false;
  loans_.begin(std::span(out).last(static_cast<std::size_t>(count)), size());
  return true;
}

void PrefixCache::give_back(std::span<const PageId> pages) {
  for (const PageId page : pages) loans_.end(page);
  nodes_.tiers().device.pool().release(pages);
}

void PrefixCache::add_to(PrefixStats& stats) const noexcept {
  stats.given_up = nodes_.given_up();
  stats.pages = nodes_.kept();
  stats.idle = tiers().device.idle();
  stats.hollow = tiers().hollow.taken();
  stats.on_host = tiers().host.taken();
  stats.went_out = tiers().host.stored();
  stats.came_in = tiers().host.fetched();
  stats.snapshots = nodes_.snapshots().size();
}

}  // namespace weft
