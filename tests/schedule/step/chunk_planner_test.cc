#include "weft/schedule/step/chunk_planner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "weft/sampling/token_constraint.h"
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
  group.sequences[0].under_way.feed(parts.tick.plan.tick);
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

SchedulerOptions options_with_target(std::chrono::milliseconds target) {
  SchedulerOptions options = small_options();
  options.limits.step_tokens = 128;
  options.limits.pages = 64;
  options.limits.context = 200;
  options.target_inter_token = target;
  return options;
}

/// Lets it know what a token costs.
void teach(ChunkPlanner& chunks, std::chrono::milliseconds each) {
  for (int i = 0; i < 500; ++i) chunks.learn({1, 10 + i % 50, 0}, each * (10 + i % 50));
}

TEST(ChunkPlanner, KeepsAPromptsStepWithinTheTargetButForTheLeastChunk) {
  using std::chrono::milliseconds;
  const auto chunk_after = [&](milliseconds each) {
    ChunkParts parts(options_with_target(milliseconds(30)));
    teach(parts.chunks, each);
    parts.begin_decoding({.prompt = 2});
    Group& group = parts.begin({.prompt = 100});
    parts.choose();
    return chunk_of(group);
  };
  EXPECT_NEAR(chunk_after(milliseconds(1)), 30, 3);
  EXPECT_EQ(chunk_after(milliseconds(10)), ChunkPlanner::kLeastChunk);
}

TEST(ChunkPlanner, CountsOfAContextWhatTheWindowLetsATokenSee) {
  SchedulerOptions options = options_with_target({});
  options.limits.window = 8;
  ChunkParts parts(options);
  Group& early = parts.begin_decoding({.prompt = 5});
  Group& late = parts.begin_decoding({.prompt = 100});
  Group& prompt = parts.begin({.prompt = 90});
  prompt.sequences[0].progress.begin(60);
  parts.choose();
  EXPECT_EQ(chunk_of(early) + chunk_of(late), 2);
  EXPECT_EQ(chunk_of(prompt), 30);
  EXPECT_EQ(parts.tick.shape.context_tokens, (5 + 1) + 8 + (7 + 30));
}

TEST(ChunkPlanner, ALongContextBehindAWindowTakesNoTimeFromItsChunk) {
  using std::chrono::microseconds;
  const auto chunk_with = [](std::int64_t window) {
    SchedulerOptions options = options_with_target(std::chrono::milliseconds(8));
    options.limits.window = window;
    options.limits.context = 10'000;
    options.limits.pages = 3'000;
    ChunkParts parts(options);
    // A microsecond for each token of the context, and ten for one of a prompt.
    for (int i = 0; i < 500; ++i) {
      const std::int32_t tokens = 10 + i % 50;
      const std::int64_t context = tokens + 1000 * (i % 7);
      parts.chunks.learn({1, tokens, context}, microseconds(std::int64_t{10} * tokens + context));
    }
    parts.begin_decoding({.prompt = 2});
    Group& group = parts.begin({.prompt = 8'000});
    group.sequences[0].progress.begin(7'000);
    parts.choose();
    return chunk_of(group);
  };
  EXPECT_NEAR(chunk_with(0), 91, 10) << "of 8 ms the context takes 7, and a token 11 us";
  EXPECT_EQ(chunk_with(16), 118) << "twice what was measured, as there is time for more";
}

/// Of a sequence whose tokens a test puts in by itself.
class NothingForced final : public ForcedTokens {
 public:
  void advance(std::span<const TokenId> /*tokens*/) noexcept override {}
  std::span<const TokenId> next() noexcept override { return {}; }
};

/// A group that decodes, behind whose newest token so many others were put in.
Group& begin_jump(ChunkParts& parts, std::size_t tokens) {
  Group& group = parts.begin({.prompt = 2, .max_tokens = 100});
  ChunkParts::decode(group);
  Sequence& sequence = group.sequences[0];
  sequence.under_way.take_result();
  for (std::size_t i = 0; i < 1 + tokens; ++i) sequence.add(TokenId{5});
  sequence.forced = std::make_unique<NothingForced>();
  return group;
}

TEST(ChunkPlanner, KeepsAJumpsStepWithinTheTargetButForTheLeastChunk) {
  using std::chrono::milliseconds;
  for (const auto& [target, expected] :
       {std::pair(40, 31), std::pair(20, 20), std::pair(2, 1 + ChunkPlanner::kLeastChunk)}) {
    ChunkParts parts(options_with_target(milliseconds(target)));
    teach(parts.chunks, milliseconds(1));
    Group& other = parts.begin_decoding({.prompt = 2});
    Group& jump = begin_jump(parts, 30);
    parts.choose();
    EXPECT_NEAR(chunk_of(jump), expected, 2) << target;
    EXPECT_EQ(chunk_of(other), 1);
    EXPECT_EQ(parts.tick.shape.decode_tokens, 1);
    EXPECT_EQ(parts.tick.shape.prefill_tokens, chunk_of(jump));
    EXPECT_EQ(parts.tick.shape.context_tokens, 3 + 2 + chunk_of(jump));
  }
}

TEST(ChunkPlanner, LetsAJumpTakeLongerThatNobodyElseWaitsFor) {
  ChunkParts parts(options_with_target(std::chrono::milliseconds(8)));
  teach(parts.chunks, std::chrono::milliseconds(1));
  Group& jump = begin_jump(parts, 30);
  parts.choose();
  EXPECT_EQ(chunk_of(jump), 31);
}

TEST(ChunkPlanner, SharesTheLeastChunkAmongJumps) {
  ChunkParts parts(options_with_target(std::chrono::milliseconds(1)));
  teach(parts.chunks, std::chrono::milliseconds(1));
  Group& first = begin_jump(parts, 10);
  Group& second = begin_jump(parts, 10);
  Group& third = begin_jump(parts, 10);
  parts.choose();
  EXPECT_EQ(chunk_of(first), 1 + 10);
  EXPECT_EQ(chunk_of(second), 1 + ChunkPlanner::kLeastChunk - 10);
  EXPECT_EQ(chunk_of(third), 1);
}

TEST(ChunkPlanner, APromptBesideAJumpKeepsToTheTarget) {
  ChunkParts parts(options_with_target(std::chrono::milliseconds(30)));
  teach(parts.chunks, std::chrono::milliseconds(1));
  begin_jump(parts, 4);
  Group& prompt = parts.begin({.prompt = 100});
  parts.choose();
  EXPECT_NEAR(chunk_of(prompt), 30 - 5, 3);
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
