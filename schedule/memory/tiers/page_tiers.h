#pragma once

#include <cstdint>

#include "weft/schedule/memory/tiers/device_pages.h"
#include "weft/schedule/memory/tiers/host_places.h"
#include "weft/schedule/memory/tiers/node_places.h"

namespace weft {

/// The tiers in which nodes of the prefix tree can be, from the top down. Their numbers follow one
/// another.
struct PageTiers {
  DevicePages device;
  HostPlaces host;    ///< without places in it, nothing is there
  NodePlaces hollow;  ///< nodes without a page

  /// In which tier a node is.
  [[nodiscard]] bool is_here(PageId node) const noexcept { return node < host.first(); }
  [[nodiscard]] bool is_on_host(PageId node) const noexcept {
    return !is_here(node) && !is_hollow(node);
  }
  [[nodiscard]] bool is_hollow(PageId node) const noexcept { return node >= hollow.first(); }
  [[nodiscard]] PageTier& of(PageId node) noexcept {
    if (is_here(node)) return device;
    return is_hollow(node) ? hollow : static_cast<PageTier&>(host);
  }
  /// Whether nodes may be hollow.
  [[nodiscard]] bool has_hollow() const noexcept { return hollow.size() > 0; }
  /// Numbers that nodes may have beside those of the device's pages, and behind them.
  [[nodiscard]] std::int32_t others() const noexcept { return host.size() + hollow.size(); }
};

}  // namespace weft
