#include "weft/schedule/memory/page_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

TEST(PagePool, BeginsWithAllPagesFree) {
  const PagePool pool(3);
  EXPECT_EQ(pool.size(), 3);
  EXPECT_EQ(pool.free(), 3);
  for (PageId page = 0; page < 3; ++page) EXPECT_EQ(pool.references(page), 0);
}

TEST(PagePool, AppendsThePagesItGives) {
  PagePool pool(4);
  std::vector<PageId> pages = {77};
  ASSERT_TRUE(pool.take(2, pages));
  EXPECT_THAT(pages, ElementsAre(77, 0, 1));
  EXPECT_EQ(pool.free(), 2);
  EXPECT_EQ(pool.references(0), 1);
  EXPECT_EQ(pool.references(2), 0);
}

TEST(PagePool, GivesAllThatWasAskedForOrNothing) {
  PagePool pool(4);
  std::vector<PageId> pages;
  ASSERT_TRUE(pool.take(2, pages));
  EXPECT_FALSE(pool.take(3, pages));
  EXPECT_EQ(pages.size(), 2U);
  EXPECT_EQ(pool.free(), 2);
  EXPECT_TRUE(pool.take(2, pages));
  EXPECT_EQ(pool.free(), 0);
  EXPECT_TRUE(pool.take(0, pages));
  EXPECT_FALSE(pool.take(1, pages));
}

TEST(PagePool, GivesThePageFreedLastFirst) {
  PagePool pool(4);
  std::vector<PageId> pages;
  ASSERT_TRUE(pool.take(4, pages));
  pool.release(std::vector<PageId>{1, 3});
  std::vector<PageId> again;
  ASSERT_TRUE(pool.take(1, again));
  EXPECT_THAT(again, ElementsAre(3));
}

TEST(PagePool, FreesAPageWhenTheLastOfThoseWhoShareItReleasesIt) {
  PagePool pool(2);
  std::vector<PageId> pages;
  ASSERT_TRUE(pool.take(2, pages));
  pool.share(pages);
  pool.share(std::vector<PageId>{1});
  EXPECT_EQ(pool.references(1), 3);
  pool.release(pages);
  EXPECT_EQ(pool.free(), 0);
  pool.release(pages);
  EXPECT_EQ(pool.free(), 1);
  EXPECT_EQ(pool.references(0), 0);
  pool.release(std::vector<PageId>{1});
  EXPECT_EQ(pool.free(), 2);
}

TEST(PagePool, WithoutPagesGivesNone) {
  PagePool pool(0);
  std::vector<PageId> pages;
  EXPECT_TRUE(pool.take(0, pages));
  EXPECT_FALSE(pool.take(1, pages));
}

/// Page tables of sequences that come, fork and go; the pool's counts are compared with theirs.
TEST(PagePool, LosesAndDoublesNoPageInAnyHistory) {
  constexpr std::int32_t kPages = 60;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t most) { return random() % most; };
    PagePool pool(kPages);
    std::vector<std::vector<PageId>> tables;
    for (int event = 0; event < 2000; ++event) {
      const auto kind = below(4);
      if (kind == 0) {
        std::vector<PageId> table;
        const auto count = static_cast<std::int32_t>(below(12));
        const bool fits = count <= pool.free();
        ASSERT_EQ(pool.take(count, table), fits);
        if (fits) tables.push_back(table);
      } else if (!tables.empty() && kind == 1) {
        tables.push_back(tables[below(tables.size())]);
        pool.share(tables.back());
      } else if (!tables.empty()) {
        std::swap(tables[below(tables.size())], tables.back());
        pool.release(tables.back());
        tables.pop_back();
      }
      std::vector<std::int32_t> expected(kPages);
      for (const auto& table : tables) {
        for (const PageId page : table) ++expected[static_cast<std::size_t>(page)];
      }
      for (PageId page = 0; page < kPages; ++page) {
        ASSERT_EQ(pool.references(page), expected[static_cast<std::size_t>(page)]) << seed;
      }
      ASSERT_EQ(pool.free(), std::ranges::count(expected, 0)) << seed;
    }
    for (const auto& table : tables) pool.release(table);
    std::vector<PageId> all;
    ASSERT_TRUE(pool.take(kPages, all));
    std::ranges::sort(all);
    for (PageId page = 0; page < kPages; ++page)
      EXPECT_EQ(all[static_cast<std::size_t>(page)], page);
  }
}

TEST(PagePoolDeathTest, KnowsMisuse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  PagePool pool(2);
  std::vector<PageId> pages;
  ASSERT_TRUE(pool.take(1, pages));
  const std::vector<PageId> twice = {0, 0};
  const std::vector<PageId> free_page = {1};
  const std::vector<PageId> beyond = {2};
  const std::vector<PageId> below = {-1};
  WEFT_EXPECT_BUG(pool.share(free_page), "is free");
  WEFT_EXPECT_BUG(pool.release(free_page), "is free");
  WEFT_EXPECT_BUG(pool.release(beyond), "not of this pool");
  WEFT_EXPECT_BUG(pool.release(below), "not of this pool");
  WEFT_EXPECT_BUG((void)pool.take(-1, pages), "less than no pages");
  WEFT_EXPECT_BUG(PagePool(-1), "less than no pages");
  WEFT_EXPECT_BUG(pool.release(twice), "is free");
}

}  // namespace
}  // namespace weft
