#include "weft/schedule/step/chunk_planner.h"

#include <gtest/gtest.h>

#include <chrono>

#include "weft/tests/schedule/scheduler_parts.h"

namespace weft::test {
namespace {

struct ChunkParts : SchedulerParts {
  explicit ChunkParts(const SchedulerOptions& how = small_options())
      : SchedulerParts(how), chunks(how, running) {
    tick.plan.tick = 1;
  }

  void choose() {
    chunks.choose_decodes(tick);
    chunks.choose_prefills(tick);
  }
  /// Begins a group whose prompt is computed, and whose next token is under way.
  Group& begin_decoding(const GroupWish& wish) {
    Group& group = begin(wish);
    decode(group);
    return group;
  }

  ChunkPlanner chunks;
  Tick tick;
};

std::int32_t chunk_of(const Group& group, std::size_t sequence = 0) {
  return group.sequences[sequence].chunk;
}

TEST(ChunkPlanner, FeedsATokenOfEachSequenceThatDecodes) {
  ChunkParts parts;
  Group& two = parts.begin_decoding({.prompt = 3, .sequences = 2});
  parts.choose();
  EXPECT_EQ(chunk_of(two, 0), 1);
  EXPECT_EQ(chunk_of(two, 1), 1);
  EXPECT_EQ(parts.tick.shape.decode_tokens, 2);
  EXPECT_EQ(parts.tick.shape.context_tokens, 2 * 4);
}

TEST(ChunkPlanner, FeedsNothingOfASequenceThatIsInTheTickAlready) {
  ChunkParts parts;
  Group& group = parts.begin_decoding({});
  group.sequences[0].planned_in = parts.tick.plan.tick;
  parts.choose();
  EXPECT_EQ(chunk_of(group), 0);
}

TEST(ChunkPlanner, FeedsNoTokenBeyondTheLast) {
  ChunkParts parts;
  Group& group = parts.begin_decoding({.max_tokens = 1});
  parts.choose();
  EXPECT_EQ(chunk_of(group), 0) << "the one under way is the last";
}

TEST(ChunkPlanner, ComputesAPromptOnceForAllThatShareIt) {
  ChunkParts parts;
  Group& group = parts.begin({.prompt = 10, .sequences = 3});
  parts.choose();
  EXPECT_EQ(chunk_of(group, 0), 10);
  EXPECT_EQ(chunk_of(group, 1), 0);
  EXPECT_EQ(parts.tick.shape.prefill_tokens, 10);
}

TEST(ChunkPlanner, CutsPromptsToWhatIsLeftOfTheStepChatFirst) {
  ChunkParts parts;  // 16 tokens a step
  parts.begin_decoding({.prompt = 2});
  Group& batch = parts.begin({.prompt = 9, .cls = RequestClass::kBatch});
  Group& chat = parts.begin({.prompt = 12});
  parts.choose();
  EXPECT_EQ(chunk_of(chat), 12);
  EXPECT_EQ(chunk_of(batch), 16 - 1 - 12);
}

TEST(ChunkPlanner, KeepsAPromptsStepWithinTheTargetButForTheLeastChunk) {
  using std::chrono::milliseconds;
  SchedulerOptions options = small_options();
  options.limits.step_tokens = 64;
  options.limits.pages = 64;
  options.limits.context = 200;
  options.target_inter_token = milliseconds(30);
  const auto chunk_after = [&](milliseconds each) {
    ChunkParts parts(options);
    for (int i = 0; i < 500; ++i) {
      const std::int32_t tokens = 10 + i % 50;
      parts.chunks.learn({1, tokens, 0}, each * tokens);
    }
    parts.begin_decoding({.prompt = 2});
    Group& group = parts.begin({.prompt = 100});
    parts.choose();
    return chunk_of(group);
  };
  EXPECT_NEAR(chunk_after(milliseconds(1)), 30, 3);
  EXPECT_EQ(chunk_after(milliseconds(10)), ChunkPlanner::kLeastChunk);
}

TEST(ChunkPlanner, LetsPromptsGoBeforeDecodesForSoManyTicks) {
  SchedulerOptions options = small_options();
  options.decode_every = 3;
  ChunkParts parts(options);
  Group& decodes = parts.begin_decoding({.prompt = 2});
  parts.begin({.prompt = 20});
  for (const std::int32_t expected : {0, 0, 1}) {
    parts.chunks.choose_decodes(parts.tick);
    EXPECT_EQ(chunk_of(decodes), expected);
  }
}

TEST(ChunkPlanner, ReachesEverybodyThoughGroupsGiveWayMeanwhile) {
  ChunkParts parts;  // eight pages
  Group& batch = parts.begin_decoding({.prompt = 6 * 4, .cls = RequestClass::kBatch});
  Group& first = parts.begin_decoding({.prompt = 4});
  Group& second = parts.begin_decoding({.prompt = 4});
  ASSERT_EQ(parts.memory.free(), 0);
  parts.chunks.choose_decodes(parts.tick);
  EXPECT_FALSE(parts.runs(batch));
  EXPECT_EQ(chunk_of(first), 1);
  EXPECT_EQ(chunk_of(second), 1);
  EXPECT_EQ(parts.tick.shape.decode_tokens, 2);
  parts.check();
}

TEST(ChunkPlanner, DoesNotChooseAGroupThatGivesWayItself) {
  ChunkParts parts;
  Group& first = parts.begin_decoding({.prompt = 7 * 4 - 1});
  Group& second = parts.begin_decoding({.prompt = 4});
  ASSERT_EQ(parts.memory.free(), 0);
  parts.chunks.choose_decodes(parts.tick);
  EXPECT_EQ(chunk_of(first), 1);
  EXPECT_FALSE(parts.runs(second));
  EXPECT_EQ(parts.tick.shape.decode_tokens, 1);
}

TEST(ChunkPlanner, LetsAnEncodersInputWaitThatTheStepHasNoRoomFor) {
  SchedulerOptions options = small_options();
  options.limits.cross_pages = 8;
  ChunkParts parts(options);
  Group& first = parts.begin({.prompt = 1, .encoder_input = 10});
  Group& second = parts.begin({.prompt = 1, .encoder_input = 10});
  parts.choose();
  EXPECT_EQ(chunk_of(first), 1);
  EXPECT_EQ(chunk_of(second), 0);
  EXPECT_EQ(parts.tick.shape.prefill_tokens, 11);
}

TEST(ChunkPlanner, KnowsWhetherChatHasPrompts) {
  ChunkParts parts;
  parts.begin_decoding({.prompt = 2});
  parts.begin({.prompt = 6, .cls = RequestClass::kBatch});
  EXPECT_FALSE(parts.chunks.chat_has_prompts(parts.tick));
  parts.begin({.prompt = 6});
  EXPECT_TRUE(parts.chunks.chat_has_prompts(parts.tick));
}

}  // namespace
}  // namespace weft::test
