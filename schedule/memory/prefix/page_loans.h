#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/schedule/memory/page_pool.h"

namespace weft {

/// Which pages are lent to whoever fills them before they are kept. Lent pages count as free: they
/// are called back when there are no others. Owner only; a part of PrefixCache. Misuse is an
/// internal_error.
class PageLoans {
 public:
  /// `call_back` is to give back all pages that are lent.
  void use(std::function<void()> call_back) { call_back_ = std::move(call_back); }
  void call_back() const { call_back_(); }

  [[nodiscard]] std::int32_t count() const noexcept { return count_; }
  [[nodiscard]] bool has(PageId page) const noexcept {
    return count_ > 0 && is_lent_[static_cast<std::size_t>(page)];
  }
  /// Lends pages, of `size` that there are.
  void begin(std::span<const PageId> pages, std::int32_t size) {
    is_lent_.resize(static_cast<std::size_t>(size));
    for (const PageId page : pages) is_lent_[static_cast<std::size_t>(page)] = true;
    count_ += static_cast<std::int32_t>(pages.size());
  }
  /// A lent page is like one that a table has.
  void end(PageId page) {
    if (!has(page)) internal_error("a page comes back that is not lent");
    is_lent_[static_cast<std::size_t>(page)] = false;
    --count_;
  }

 private:
  std::function<void()> call_back_;
  std::vector<bool> is_lent_;  // by page; empty until one is lent
  std::int32_t count_ = 0;
};

}  // namespace weft
