// What PrefixCache::check() looks at.

#include <cstdint>

#include "weft/core/error/internal_error.h"
#include "weft/schedule/memory/prefix/prefix_cache.h"

namespace weft {
namespace {

void check_page(const PrefixCache& cache, PageId page) {
  const PrefixNodes& nodes = cache.nodes();
  const DevicePages& device = cache.tiers().device;
  const bool has_hollow = cache.tiers().has_hollow();
  const bool is_in_tail = device.is_in_idle_tail(page);
  if (is_in_tail && nodes.tree().contains(page)) internal_error("a page is kept twice");
  if (device.tails().count(page) > 0 && !(device.is_idle(page) && device.tails().has(page))) {
    internal_error("an idle tail hangs at a page that is not idle");
  }
  const PageId parent = is_in_tail ? device.tails().before(page) : nodes.tree().parent(page);
  if (parent == kNoPage) return;
  if (!nodes.is_kept(parent) || (!has_hollow && cache.tiers().is_on_host(parent))) {
    internal_error("a page is kept without those that lead to it");
  }
  if (!has_hollow && cache.references(parent) < cache.references(page))
    internal_error("a page outlives one before it");
}

void check_pages(const PrefixCache& cache) {
  const DevicePages& device = cache.tiers().device;
  std::int32_t idle = 0;
  for (PageId page = 0; page < cache.size(); ++page) {
    const bool is_kept = cache.nodes().is_kept(page);
    const bool is_idle = is_kept && cache.references(page) == 0;
    if (is_idle != device.is_idle(page)) internal_error("an idle page is not listed as such");
    idle += is_idle ? 1 : 0;
    if (is_kept) check_page(cache, page);
  }
  if (idle != device.idle()) internal_error("idle pages are miscounted");
}

/// `held`: places that are a snapshot's.
void check_places(const PrefixCache& cache, const NodePlaces& places, std::int32_t held) {
  const PrefixTree& tree = cache.nodes().tree();
  places.check(held);
  for (PageId node = places.first(); node < places.end(); ++node) {
    if (tree.contains(node) != places.is_taken(node)) {
      internal_error("a node's place is taken without it, or the reverse");
    }
    if (!tree.contains(node)) continue;
    const PageId parent = tree.parent(node);
    const bool leads_nowhere = cache.tiers().is_hollow(node) && !tree.has_children(node);
    if (leads_nowhere || (parent != kNoPage && !tree.contains(parent))) {
      internal_error("a node below the device leads to nothing, or nothing to it");
    }
  }
}

void check_snapshots(const PrefixCache& cache) {
  const PrefixNodes& nodes = cache.nodes();
  const StateSnapshots& snapshots = nodes.snapshots();
  snapshots.check();
  for (PageId page = 0; page < cache.size(); ++page) {
    const bool is_others = nodes.is_kept(page) || cache.tiers().device.pool().references(page) != 1;
    if (snapshots.has_page(page) && is_others) {
      internal_error("a snapshot's page is another's as well");
    }
  }
  for (PageId node = 0; snapshots.each() > 0 && node < cache.tiers().hollow.end(); ++node) {
    if (snapshots.of(node) != StateSnapshots::kNone && !nodes.tree().contains(node)) {
      internal_error("a node has a snapshot that is not kept");
    }
  }
}

}  // namespace

void PrefixCache::check() const {
  if (!keeps_) return;
  const StateSnapshots& snapshots = nodes_.snapshots();
  check_pages(*this);
  check_places(*this, tiers().host, (snapshots.size() - snapshots.on_device()) * snapshots.each());
  check_places(*this, tiers().hollow, 0);
  check_snapshots(*this);
}

}  // namespace weft
