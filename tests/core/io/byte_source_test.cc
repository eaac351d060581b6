#include "weft/core/io/byte_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "weft/tests/fixture/expect_bug.h"
#include "weft/tests/fixture/files/byte_writer.h"

namespace weft {
namespace {

using testing::ElementsAre;

TEST(MemorySourceTest, ReadsItsBytes) {
  const MemorySource source("made", test::ByteWriter().text("abcd").bytes());
  EXPECT_EQ(source.size(), 4u);
  EXPECT_EQ(source.name(), "made");
  std::vector<std::byte> two(2);
  EXPECT_TRUE(source.read(2, two));
  EXPECT_THAT(two, ElementsAre(std::byte{'c'}, std::byte{'d'}));
  EXPECT_TRUE(source.read(4, {}));
}

TEST(ByteSourceTest, TakesBytesOutsideForABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const MemorySource source("made", std::vector<std::byte>(4));
  std::vector<std::byte> two(2);
  WEFT_EXPECT_BUG(static_cast<void>(source.read(3, two)), "outside their source");
  WEFT_EXPECT_BUG(static_cast<void>(source.read(5, {})), "outside their source");
  WEFT_EXPECT_BUG(static_cast<void>(source.read(UINT64_MAX, two)), "outside their source");
}

}  // namespace
}  // namespace weft
