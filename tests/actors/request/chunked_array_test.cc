#include "weft/actors/request/chunked_array.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace weft {
namespace {

std::vector<int> from_to(int begin, int end) {
  std::vector<int> values(static_cast<std::size_t>(end - begin));
  std::iota(values.begin(), values.end(), begin);
  return values;
}

TEST(ChunkedArrayTest, GivesBackEveryRangeOfWhatWasAppended) {
  for (const std::size_t first : {0U, 1U, 3U, 16U}) {
    ChunkedArray<int> array(first);
    for (int i = 0; i < 50; i += 5) array.append(from_to(i, i + 5));
    ASSERT_EQ(array.size(), 50U);
    for (int begin = 0; begin <= 50; ++begin) {
      for (int end = begin; end <= 50; ++end) {
        std::vector<int> out;
        array.copy(static_cast<std::size_t>(begin), static_cast<std::size_t>(end), out);
        ASSERT_EQ(out, from_to(begin, end)) << "first chunk " << first;
      }
    }
  }
}

TEST(ChunkedArrayTest, AppendsToWhatItCopiesInto) {
  ChunkedArray<int> array(2);
  array.append(from_to(0, 9));
  std::vector<int> out{-1};
  array.copy(0, 9, out);
  EXPECT_EQ(out.front(), -1);
  EXPECT_EQ(out.size(), 10U);
}

TEST(ChunkedArrayTest, LetsOneThreadCopyWhileAnotherAppends) {
  constexpr int kValues = 20'000;
  ChunkedArray<int> array(1);
  std::atomic<std::size_t> published{0};
  const std::jthread writer([&] {
    for (int i = 0; i < kValues; ++i) {
      array.append(std::span(&i, 1));
      published.store(array.size());
    }
  });
  std::vector<int> out;
  while (out.size() < kValues) array.copy(out.size(), published.load(), out);
  EXPECT_EQ(out, from_to(0, kValues));
}

}  // namespace
}  // namespace weft
