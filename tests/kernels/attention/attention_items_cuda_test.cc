#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "weft/kernels/attention/attention_slots_cuda.h"

namespace weft::cuda {
namespace {

AttentionShape shape_of(std::int32_t heads, std::int32_t kv_heads) {
  return {
      .processors = 132, .heads = heads, .kv_heads = kv_heads, .head_size = 128, .page_tokens = 16};
}

DeviceSequence decoding(std::int32_t context) {
  return {.count = 1, .start = context - 1, .context = context};
}

std::vector<DeviceSequence> all_decoding(const std::vector<std::int32_t>& contexts) {
  std::vector<DeviceSequence> sequences;
  for (const std::int32_t context : contexts) sequences.push_back(decoding(context));
  return sequences;
}

struct Plan {
  std::vector<DeviceSequence> sequences;
  AttentionShape shape;
  std::vector<CudaAttentionItem> items;
};

Plan plan_of(std::vector<DeviceSequence> sequences, AttentionShape shape) {
  std::int32_t tokens = 0;
  for (const DeviceSequence& sequence : sequences) tokens += sequence.count;
  shape.max_items = max_attention_items(static_cast<std::int32_t>(sequences.size()), tokens, shape);
  std::vector<CudaAttentionItem> items;
  items.reserve(static_cast<std::size_t>(shape.max_items));
  const CudaAttentionItem* memory = items.data();
  plan_attention(sequences, shape, items);
  EXPECT_EQ(items.data(), memory) << "the plan has allocated";
  return {std::move(sequences), shape, std::move(items)};
}

/// Every position of every token is in one item; parts are whole, have slots and counters of their
/// own and are within the workspace.
void expect_whole(const Plan& plan) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<CudaAttentionItem>> tokens;
  for (const CudaAttentionItem& item : plan.items)
    tokens[{item.sequence, item.token}].push_back(item);
  std::vector<int> slots(static_cast<std::size_t>(plan.shape.max_items));
  std::map<std::int32_t, int> counters;
  std::vector<std::int32_t> covered(plan.sequences.size());
  for (auto& [key, parts] : tokens) {
    std::ranges::sort(parts, {}, &CudaAttentionItem::part);
    const DeviceSequence& sequence = plan.sequences[static_cast<std::size_t>(key.first)];
    const CudaAttentionItem& first = parts.front();
    std::int32_t position = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const CudaAttentionItem& part = parts[p];
      EXPECT_EQ(part.part, static_cast<std::int32_t>(p));
      EXPECT_EQ(part.parts, static_cast<std::int32_t>(parts.size()));
      EXPECT_EQ(part.tokens, first.tokens);
      EXPECT_EQ(part.first_slot, first.first_slot);
      EXPECT_EQ(part.counter, first.counter);
      EXPECT_EQ(part.begin, position);
      EXPECT_TRUE(part.end > part.begin || parts.size() == 1);
      position = part.end;
    }
    EXPECT_EQ(position,
              plan.shape.causal ? sequence.start + key.second + first.tokens : sequence.context);
    covered[static_cast<std::size_t>(key.first)] += first.tokens;
    if (parts.size() == 1) continue;
    EXPECT_LT(first.counter, attention_counters(plan.shape.heads));
    EXPECT_EQ(counters[first.counter]++, 0);
    for (std::int32_t i = 0; i < first.parts * first.tokens; ++i) {
      EXPECT_EQ(slots.at(static_cast<std::size_t>(first.first_slot + i))++, 0);
    }
  }
  for (std::size_t s = 0; s < covered.size(); ++s) EXPECT_EQ(covered[s], plan.sequences[s].count);
  EXPECT_LE(static_cast<std::int32_t>(plan.items.size()), plan.shape.max_items);
}

/// The share of the time that the device's blocks are at work, if each takes the next piece when it
/// has ended one.
double busy(const Plan& plan) {
  const auto blocks =
      static_cast<std::size_t>(plan.shape.processors) * std::size_t{kBlocksPerProcessor};
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  for (std::size_t b = 0; b < blocks; ++b) ends.push(0);
  double work = 0;
  double last = 0;
  for (const CudaAttentionItem& item : plan.items) {
    for (std::int32_t head = 0; head < plan.shape.kv_heads; ++head) {
      const double end = ends.top() + item.end - item.begin;
      ends.pop();
      ends.push(end);
      last = std::max(last, end);
      work += item.end - item.begin;
    }
  }
  return work / (last * static_cast<double>(blocks));
}

TEST(AttentionItems, CoverEverySequenceOnce) {
  for (const std::int32_t kv_heads : {1, 2, 8, 32}) {
    expect_whole(
        plan_of(all_decoding({1, 15, 16, 17, 64, 65, 1000, 4096, 100000}), shape_of(32, kv_heads)));
    expect_whole(plan_of({{.count = 100, .start = 0},
                          {.count = 0, .start = 7},
                          {.count = 1, .start = 3000},
                          {.count = 2000, .start = 4000},
                          {.count = 64, .start = 100000}},
                         shape_of(32, kv_heads)));
  }
}

TEST(AttentionItems, FillTheDeviceWithOneSequence) {
  for (const std::int32_t kv_heads : {1, 4, 8, 32}) {
    const Plan plan = plan_of(all_decoding({32768}), shape_of(32, kv_heads));
    EXPECT_GT(busy(plan), 0.85) << kv_heads << " KV heads";
  }
}

TEST(AttentionItems, FillTheDeviceWithSequencesOfOneLength) {
  for (const int rows : {2, 5, 8, 32, 33, 64, 100}) {
    const Plan plan =
        plan_of(all_decoding(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 4096)),
                shape_of(32, 8));
    expect_whole(plan);
    EXPECT_GT(busy(plan), 0.85) << rows << " rows";
  }
}

TEST(AttentionItems, FillTheDeviceWithLengthsThatDifferBy64) {
  for (const std::int32_t kv_heads : {1, 8, 32}) {
    std::vector<std::int32_t> contexts(31, 500);
    contexts.push_back(32000);
    EXPECT_GT(busy(plan_of(all_decoding(contexts), shape_of(32, kv_heads))), 0.85);
    for (std::size_t s = 0; s < 32; ++s) contexts[s] = s % 2 == 0 ? 8065 : 127;
    EXPECT_GT(busy(plan_of(all_decoding(contexts), shape_of(32, kv_heads))), 0.85);
  }
}

TEST(AttentionItems, LeaveALoneWhatFillsTheDevice) {
  const Plan plan = plan_of(all_decoding(std::vector<std::int32_t>(33, 4096)), shape_of(32, 8));
  for (const CudaAttentionItem& item : plan.items) EXPECT_EQ(item.parts, 1);
}

TEST(AttentionItems, HaveAsManyQueriesAsATileHasRows) {
  const Plan plan = plan_of({{.count = 2000, .start = 0}}, shape_of(32, 8));
  for (const CudaAttentionItem& item : plan.items) EXPECT_LE(item.tokens * 4, kItemQueries);
  const Plan shared = plan_of({{.count = 3, .start = 0}}, shape_of(71, 1));
  for (const CudaAttentionItem& item : shared.items) EXPECT_EQ(item.tokens, 1);
}

TEST(AttentionItems, CutThePromptsLastChunkAlongItsContext) {
  const Plan plan = plan_of({{.count = 64, .start = 100000}}, shape_of(32, 8));
  expect_whole(plan);
  EXPECT_GT(busy(plan), 0.8);
}

TEST(AttentionItems, BeginWithTheLongest) {
  const Plan plan = plan_of({{.count = 4096, .start = 0}}, shape_of(32, 8));
  EXPECT_EQ(plan.items.front().end, 4096);
  EXPECT_GT(busy(plan), 0.9);
  const Plan skewed = plan_of(all_decoding({10, 4000, 20, 30}), shape_of(32, 32));
  EXPECT_EQ(skewed.items.front().sequence, 1);
}

TEST(AttentionItems, SeeTheWholeContextWithoutCausality) {
  AttentionShape shape = shape_of(16, 16);
  shape.causal = false;
  expect_whole(plan_of({{.count = 100, .start = 0, .context = 100},
                        {.count = 1, .start = 40, .context = 1500},
                        {.count = 1, .start = 40, .context = 0}},
                       shape));
}

TEST(AttentionItems, AreNoneOfNoSequences) {
  EXPECT_TRUE(plan_of({}, shape_of(8, 8)).items.empty());
}

}  // namespace
}  // namespace weft::cuda
