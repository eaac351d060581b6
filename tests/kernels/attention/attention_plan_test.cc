#include "weft/kernels/attention/attention_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace weft {
namespace {

using Key = std::tuple<const SequenceSpan*, std::int32_t, std::int32_t>;

AttentionParams step(std::int32_t heads, std::int32_t kv_heads,
                     const std::vector<SequenceSpan>& spans) {
  AttentionParams params;
  params.heads = heads;
  params.kv.kv_heads = kv_heads;
  params.spans = spans;
  return params;
}

/// Every token of every span and KV head that the items of all threads have, and how often.
std::map<Key, int> covered(const AttentionParams& params, int threads) {
  std::map<Key, int> seen;
  for (int index = 0; index < threads; ++index) {
    AttentionPlan plan(params, Share{index, threads});
    while (const auto item = plan.next()) {
      for (std::int32_t i = 0; i < item->tokens; ++i) {
        ++seen[{item->span, item->kv_head, item->first_token + i}];
      }
    }
  }
  return seen;
}

TEST(AttentionPlanTest, GivesEachTokenOfEachHeadToOneThread) {
  const std::vector<SequenceSpan> spans{{.count = 1, .start = 4000},
                                        {.count = 0, .start = 9},
                                        {.count = 300, .start = 0},
                                        {.count = 1, .start = 0},
                                        {.count = 70, .start = 1000}};
  for (const auto& [heads, kv_heads] :
       std::vector<std::pair<std::int32_t, std::int32_t>>{{1, 1}, {32, 4}, {12, 12}, {100, 1}}) {
    for (const int threads : {1, 2, 3, 7, 64, 1000}) {
      AttentionParams params = step(heads, kv_heads, spans);
      const auto seen = covered(params, threads);
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(372 * kv_heads)) << threads << " threads";
      EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& one) { return one.second == 1; }));
    }
  }
}

TEST(AttentionPlanTest, GivesNothingToAnyoneWhenThereIsNothing) {
  const std::vector<SequenceSpan> spans{{.count = 0, .start = 9}};
  EXPECT_TRUE(covered(step(4, 2, spans), 3).empty());
  EXPECT_TRUE(covered(step(4, 2, {}), 3).empty());
}

TEST(AttentionPlanTest, GivesThreadsEqualParts) {
  // One long prompt: its last tokens see as much as all before them together.
  const std::vector<SequenceSpan> spans{{.count = 4096, .start = 0}};
  constexpr int kThreads = 8;
  const AttentionParams params = step(32, 4, spans);
  std::vector<double> work(kThreads);
  for (int index = 0; index < kThreads; ++index) {
    AttentionPlan plan(params, Share{index, kThreads});
    while (const auto item = plan.next()) {
      for (std::int32_t i = 0; i < item->tokens; ++i) {
        work[static_cast<std::size_t>(index)] += item->first_token + i + 1;
      }
    }
  }
  const auto [least, greatest] = std::ranges::minmax(work);
  EXPECT_LT(greatest / least, 1.1);
}

TEST(AttentionPlanTest, SeesWhatMasksLeave) {
  AttentionParams params;
  const SequenceSpan span{.context = 90};
  const auto seen = [&](std::int32_t position) {
    const KeyRange range = visible_keys(params, span, position);
    return std::pair(range.begin, range.end);
  };
  EXPECT_EQ(seen(0), std::pair(0, 1));
  EXPECT_EQ(seen(70), std::pair(0, 71));
  params.spec.window = 8;
  EXPECT_EQ(seen(3), std::pair(0, 4));
  EXPECT_EQ(seen(70), std::pair(63, 71));
  params.spec.causal = false;
  EXPECT_EQ(seen(3), std::pair(0, 11)) << "a window to both sides";
  EXPECT_EQ(seen(85), std::pair(78, 90));
  params.spec.causal = true;
  params.spec.window = 0;
  params.spec.chunk = 32;
  EXPECT_EQ(seen(31), std::pair(0, 32));
  EXPECT_EQ(seen(32), std::pair(32, 33));
  params.spec.causal = false;
  EXPECT_EQ(seen(32), std::pair(32, 64));
  EXPECT_EQ(seen(70), std::pair(64, 90));
  params.spec.chunk = 0;
  EXPECT_EQ(seen(5), std::pair(0, 90));
}

}  // namespace
}  // namespace weft
