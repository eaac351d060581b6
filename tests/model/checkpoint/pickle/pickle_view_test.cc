#include "weft/model/checkpoint/pickle/pickle_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace weft {
namespace {

using testing::ElementsAre;

/// The view's elements of a storage that holds 0, 1, 2, ...
std::vector<std::int32_t> copy_of(const StridedView& view) {
  std::vector<std::int32_t> storage(static_cast<std::size_t>(*extent_of(view)));
  std::iota(storage.begin(), storage.end(), 0);
  std::vector<std::int32_t> target(static_cast<std::size_t>(*elements_of(view)));
  copy_row_major(view, sizeof(std::int32_t), std::as_bytes(std::span(storage)),
                 std::as_writable_bytes(std::span(target)));
  return target;
}

TEST(PickleViewTest, KnowsHowFarAViewReaches) {
  EXPECT_EQ(extent_of({0, {2, 3}, {3, 1}}), 6);
  EXPECT_EQ(extent_of({5, {2, 3}, {1, 2}}), 11);
  EXPECT_EQ(extent_of({7, {}, {}}), 8);
  EXPECT_EQ(extent_of({7, {2, 0}, {1, 1}}), 0);
  EXPECT_EQ(extent_of({0, {1, 2}, {INT64_MAX, 1}}), 2);
}

TEST(PickleViewTest, KnowsWhatCannotBeCounted) {
  EXPECT_EQ(extent_of({-1, {2}, {1}}), std::nullopt);
  EXPECT_EQ(extent_of({0, {-2}, {1}}), std::nullopt);
  EXPECT_EQ(extent_of({0, {2}, {-1}}), std::nullopt);
  EXPECT_EQ(extent_of({0, {INT64_MAX, 2}, {1, 1}}), std::nullopt);
  EXPECT_EQ(extent_of({0, {3}, {INT64_MAX}}), std::nullopt);
  EXPECT_EQ(extent_of({INT64_MAX, {2}, {1}}), std::nullopt);
  EXPECT_EQ(extent_of({INT64_MAX, {}, {}}), std::nullopt);
}

TEST(PickleViewTest, KnowsRowMajorOrder) {
  EXPECT_TRUE(is_row_major({0, {2, 3}, {3, 1}}));
  EXPECT_TRUE(is_row_major({4, {2, 1, 3}, {3, 99, 1}}));
  EXPECT_TRUE(is_row_major({0, {}, {}}));
  EXPECT_FALSE(is_row_major({0, {2, 3}, {1, 2}}));
  EXPECT_FALSE(is_row_major({0, {2, 3}, {4, 1}}));
  EXPECT_FALSE(is_row_major({0, {3}, {0}}));
}

TEST(PickleViewTest, CopiesIntoRowMajorOrder) {
  EXPECT_THAT(copy_of({0, {2, 3}, {1, 2}}), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(copy_of({1, {2, 2}, {4, 2}}), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(copy_of({0, {2, 1, 2}, {1, INT64_MAX, 2}}), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(copy_of({0, {2, 2, 2}, {1, 2, 4}}), ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  EXPECT_THAT(copy_of({3, {}, {}}), ElementsAre(3));
}

}  // namespace
}  // namespace weft
