#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "weft/schedule/memory/prefix/prefix_cache.h"

namespace weft::test {

using Tokens = std::vector<TokenId>;

/// A cache of four pages of two tokens, and perhaps places in host memory or hollow nodes.
struct FourPages {
  explicit FourPages(std::int32_t places = 0, std::int32_t hollow = 0)
      : cache(clock,
              {.pages = 4, .page_tokens = 2, .keeps = true, .places = places, .hollow = hollow},
              &copies) {}

  void make_plan() {
    clock.begin_plan();
    clock.write();
  }
  /// Fills and keeps pages that lead from one to the next, and returns them.
  std::vector<PageId> keep_path(TokenId first, std::int32_t count) {
    std::vector<PageId> pages;
    EXPECT_TRUE(cache.take(count, pages));
    PageId parent = kNoPage;
    for (const PageId page : pages) {
      cache.nodes().keep({}, parent, page, Tokens{first, 0});
      parent = page;
    }
    return pages;
  }
  /// Leaves a page, which is given up for others then; these stay in use.
  void give_up(PageId page) {
    cache.release({&page, 1});
    std::vector<PageId> taken;
    EXPECT_TRUE(cache.take(cache.free(), taken));
  }
  /// Lets such pages go to host memory, after which all of the device's are free.
  void send_out(TokenId first, std::int32_t count) {
    cache.release(keep_path(first, count));
    std::vector<PageId> all;
    EXPECT_TRUE(cache.take(cache.size(), all));
    cache.release(all);
  }
  [[nodiscard]] PageId find(PageId parent, TokenId first) const {
    return cache.nodes().tree().find({}, parent, Tokens{first, 0});
  }

  PlanClock clock;
  std::vector<PlanCopy> copies;
  PrefixCache cache;
};

}  // namespace weft::test
