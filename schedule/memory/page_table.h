#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/states/new_snapshot.h"

namespace weft {

/// The pages of a sequence, in the order of its tokens. KvMemory and its parts change the
/// table; others read it. `sent` alone is changed by PlanWriter, too.
struct PageTable {
  /// The first `gone` are kNoPage: those before the sequence's window, which it gave back.
  std::vector<PageId> pages;
  std::int32_t gone = 0;
  std::size_t sent = 0;          ///< first entries that the device has, or will have with its plans
  std::int32_t findable = 0;     ///< first pages, which others can find by their tokens
  std::int32_t tail_from = 0;    ///< the first findable page that is not in the tree; 0: all are
  std::uint64_t arrives_in = 0;  ///< the tick whose plan brings pages of it from host memory
  /// Of its state, that no node of the prefix tree has yet (StateKeeper).
  std::vector<NewSnapshot> snapshots{};

  /// The pages that the sequence has.
  [[nodiscard]] std::span<const PageId> held() const {
    return std::span(pages).subspan(static_cast<std::size_t>(gone));
  }
  /// Has the next plan tell the device the entry at `index`, which has changed, and all behind it.
  void resend_from(std::size_t index) noexcept {
    if (index < sent) sent = index;
  }
  /// Empties the table of a sequence that has given back its pages. Its memory stays.
  void clear() noexcept {
    pages.clear();
    gone = 0;
    sent = 0;
    findable = 0;
    arrives_in = 0;
  }
};

}  // namespace weft
