#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/error/internal_error.h"

namespace weft {

/// The number of a page of the KV cache, 0 .. pages-1.
using PageId = std::int32_t;

inline constexpr PageId kNoPage = -1;

/// Which pages of the KV cache are free, and how many page tables refer to each of the others. A
/// page that several sequences share (n > 1, a common prefix) is counted once for each of them and
/// is free when the last has released it.
///
/// Owner only. Everything is allocated by the constructor; each call costs the pages it is about.
/// Misuse is an internal_error, after which the pool is not to be used.
class PagePool {
 public:
  explicit PagePool(std::int32_t pages);

  [[nodiscard]] std::int32_t size() const noexcept {
    return static_cast<std::int32_t>(references_.size());
  }
  [[nodiscard]] std::int32_t free() const noexcept {
    return static_cast<std::int32_t>(free_.size());
  }

  /// Appends `count` pages to `out`, with one reference each. Where fewer are free it changes
  /// nothing and returns false. The pages freed last go first; in a new pool, the lowest. Allocates
  /// only if `out` has no room reserved.
  [[nodiscard]] bool take(std::int32_t count, std::vector<PageId>& out);
  /// One reference more to each of the pages, none of which may be free.
  void share(std::span<const PageId> pages);
  /// One reference less; a page without any is free.
  void release(std::span<const PageId> pages);

  /// How many refer to the page; 0 when it is free.
  [[nodiscard]] std::int32_t references(PageId page) const {
    if (page < 0 || page >= size()) internal_error("a page that is not of this pool");
    return references_[static_cast<std::size_t>(page)];
  }

 private:
  [[nodiscard]] std::int32_t& count_of_used(PageId page);

  std::vector<std::int32_t> references_;
  std::vector<PageId> free_;  // the next one to be taken is the last
};

}  // namespace weft
