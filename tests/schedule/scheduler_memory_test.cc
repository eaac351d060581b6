// Tests of rows and pages: who shares them, who moves, and that all are given back.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

class SchedulerMemoryTest : public SchedulerFixture {
 protected:
  static SchedulerOptions slab(std::int32_t rows) {
    SchedulerOptions options = roomy();
    options.layout = KvLayout::kSlab;
    options.limits.rows = rows;
    options.limits.context = 64;
    options.limits.pages = rows * options.limits.pages_per_row();
    return options;
  }
  void expect_all_alone() const {
    for (const GroupOutcome& one : outcomes_) {
      if (one.end == GroupEnd::kDone && one.ask.sequences == 1 && one.ask.beams == 1) {
        EXPECT_EQ(one.outputs[0], alone(one)) << one.number;
      }
    }
  }
};

TEST_F(SchedulerMemoryTest, SeveralOutputsShareThePromptAndCopyItsLastPageOnly) {
  start(roomy());
  GroupOutcome& one = submit({.prompt = 10, .max_tokens = 3, .sequences = 3});
  ASSERT_TRUE(plan());
  EXPECT_EQ(pages_used(), 3);  // two whole ones, one in part
  EXPECT_EQ(tokens_of(newest()), 10);
  EXPECT_EQ(newest().forks.size(), 2U);
  EXPECT_EQ(newest().samples.size(), 3U);
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().copies.size(), 2U);  // the third has it to itself then
  EXPECT_EQ(pages_used(), 5);
  finish_all();
  for (const auto& output : one.outputs) EXPECT_EQ(output.size(), 3U);
  EXPECT_EQ(pages_used(), 0);
  EXPECT_EQ(device_->tokens(), 10U + 3 * 2);
}

TEST_F(SchedulerMemoryTest, AGroupHasRoomForItsOutputsFromItsFirstRowsOn) {
  SchedulerOptions options = roomy();
  options.limits.rows = 2;
  start(options);
  GroupOutcome& runs_first = submit({.max_tokens = 2, .sequences = 2});
  GroupOutcome& waits = submit({.prompt = 5, .max_tokens = 3, .sequences = 2});
  ASSERT_TRUE(tick());
  for (const Sequence& one : waits.group->sequences) EXPECT_EQ(one.outputs.capacity(), 0U);
  while (!runs_first.end) ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  std::vector<std::size_t> room;
  for (const Sequence& one : waits.group->sequences) {
    room.push_back(one.outputs.capacity());
    room.push_back(one.pages.capacity());
  }
  EXPECT_GE(room[0], 3U);
  while (waits.outputs[0].size() < 2) {
    ASSERT_TRUE(tick());
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(waits.group->sequences[i].outputs.capacity(), room[2 * i]);
      EXPECT_EQ(waits.group->sequences[i].pages.capacity(), room[2 * i + 1]);
    }
  }
}

TEST_F(SchedulerMemoryTest, NothingIsCopiedWhereThePromptEndsWithAPage) {
  start(roomy());
  submit({.prompt = 8, .max_tokens = 3, .sequences = 3});
  ASSERT_TRUE(plan());
  EXPECT_EQ(pages_used(), 2);
  ASSERT_TRUE(plan());
  EXPECT_TRUE(newest().copies.empty());
  EXPECT_EQ(pages_used(), 5);
  finish_all();
}

TEST_F(SchedulerMemoryTest, PagesOfOneTokenAreNeverCopied) {
  SchedulerOptions options = roomy();
  options.limits.page_tokens = 1;
  start(options);
  submit({.prompt = 7, .max_tokens = 4, .sequences = 3});
  while (plan()) {
    EXPECT_TRUE(newest().copies.empty());
    run();
  }
}

TEST_F(SchedulerMemoryTest, SequencesOfAGroupThatGaveWayShareItsPromptAgain) {
  SchedulerOptions options = roomy();
  options.limits.rows = 4;
  start(options);
  GroupOutcome& batch =
      submit({.prompt = 10, .max_tokens = 12, .sequences = 3, .cls = RequestClass::kBatch});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(tick());
  GroupOutcome& chat = submit({.prompt = 4, .max_tokens = 3, .sequences = 2});
  ASSERT_TRUE(tick());
  EXPECT_FALSE(runs(batch));
  EXPECT_EQ(batch.outputs[0].size(), 5U);
  finish_all();
  EXPECT_EQ(chat.end, GroupEnd::kDone);
  for (const auto& output : batch.outputs) EXPECT_EQ(output.size(), 12U);
}

TEST_F(SchedulerMemoryTest,
       ASequenceThatEndsBeforeItComputesThePromptForOthersTakesNothingFromThem) {
  SchedulerOptions options = roomy();
  options.limits.rows = 3;
  start(options);
  GroupOutcome& batch =
      submit({.prompt = 10, .max_tokens = 12, .sequences = 2, .cls = RequestClass::kBatch});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tick());
  GroupOutcome& chat = submit({.prompt = 4, .max_tokens = 2, .sequences = 2});
  while (!chat.end) ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().forks.size(), 1U);
  end_sequence(batch, 0);  // its text has hit a stop string by now
  amend();
  finish_all();
  EXPECT_EQ(batch.outputs[1].size(), 12U);
}

TEST_F(SchedulerMemoryTest, ASequenceThatEndsWithTheEncodersInputLeavesItForTheNextToEncode) {
  SchedulerOptions options = roomy();
  options.limits.rows = 3;
  options.limits.cross_pages = 48;
  options.limits.step_tokens = 24;
  options.cache = false;  // else it finds its output
  start(options);
  GroupOutcome& batch = submit({.prompt = 10,
                                .encoder_input = 20,
                                .max_tokens = 12,
                                .sequences = 2,
                                .cls = RequestClass::kBatch});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tick());
  ASSERT_FALSE(batch.outputs[0].empty());
  // It takes the pages of the encoder's input as well.
  GroupOutcome& chat = submit({.prompt = 4, .encoder_input = 20, .max_tokens = 3, .sequences = 2});
  ASSERT_TRUE(tick());
  ASSERT_FALSE(runs(batch));
  end(chat);
  // Beside this one there is time for a part of the prompt only.
  submit({.prompt = 20, .max_tokens = 1});
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().encodes.size(), 1U);
  ASSERT_TRUE(newest().forks.empty());
  end_sequence(batch, 0);  // its text has hit a stop string by now
  amend();
  finish_all();
  EXPECT_EQ(batch.outputs[1].size(), 12U);
}

TEST_F(SchedulerMemoryTest, ABeamSearchThatFindsNothingFails) {
  start(roomy());
  GroupOutcome& beams = submit({.prompt = 10, .max_tokens = 12, .beams = 3});
  GroupOutcome& plain = submit({.prompt = 10, .max_tokens = 12});
  ASSERT_TRUE(tick());
  device_->give_no_numbers();
  finish_all();
  EXPECT_EQ(beams.end, GroupEnd::kFailed);
  EXPECT_EQ(plain.end, GroupEnd::kFailed);
}

TEST_F(SchedulerMemoryTest, BeamsShareWhatTheyHaveInCommonAndEndAsAlone) {
  start(roomy());
  const Ask ask{.prompt = 10, .max_tokens = 12, .beams = 3, .text = 5};
  GroupOutcome& one = submit(ask);
  ASSERT_TRUE(tick());
  ASSERT_TRUE(tick());
  EXPECT_LE(pages_used(), 5);
  finish_all();
  ASSERT_EQ(one.outputs[0].size(), 12U);
  // The same again, beside others that come and go.
  submit({.prompt = 20, .max_tokens = 3});
  GroupOutcome& again = submit(ask);
  GroupOutcome& goes = submit({.prompt = 30, .max_tokens = 20});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(tick());
  end(goes);
  finish_all();
  EXPECT_EQ(again.outputs[0], one.outputs[0]);
}

TEST_F(SchedulerMemoryTest, ASlabMovesWithItsRow) {
  start(slab(6));
  std::vector<GroupOutcome*> all;
  for (int i = 0; i < 6; ++i) all.push_back(&submit({.prompt = 9, .max_tokens = 20}));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tick());
  for (const int gone : {1, 2, 4}) end(*all[static_cast<std::size_t>(gone)]);
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().moves.size(), 1U);
  EXPECT_EQ(newest().slab_copies.size(), 3U);  // 11 tokens
  finish_all();
  expect_all_alone();
}

TEST_F(SchedulerMemoryTest, AForkInSlabsHoldsThoughItsFirstSequenceEndsAtOnce) {
  start(slab(5));
  GroupOutcome& left = submit({.prompt = 4, .max_tokens = 20});
  Ask ask{.prompt = 9, .max_tokens = 6, .sequences = 2, .text = 77};
  GroupOutcome& whole = submit(ask);
  ask.end_tokens = {alone(whole)[0]};  // the first token of the first sequence
  end(whole);
  GroupOutcome& fork = submit(ask);
  GroupOutcome& right = submit({.prompt = 4, .max_tokens = 20});
  GroupOutcome& also = submit({.prompt = 4, .max_tokens = 20});
  ASSERT_TRUE(tick());
  EXPECT_EQ(fork.group->alive, 1);
  finish_all();
  EXPECT_EQ(left.end, GroupEnd::kDone);
  EXPECT_EQ(right.end, GroupEnd::kDone);
  EXPECT_EQ(also.end, GroupEnd::kDone);
  expect_all_alone();
}

TEST_F(SchedulerMemoryTest, AForkThatIsCancelledInSlabsOverwritesNobody) {
  start(slab(6));
  GroupOutcome& first = submit({.prompt = 9, .max_tokens = 20});
  GroupOutcome& fork = submit({.prompt = 9, .max_tokens = 20, .sequences = 2});
  submit({.prompt = 4, .max_tokens = 20});
  submit({.prompt = 4, .max_tokens = 20});
  ASSERT_TRUE(plan());
  end(fork);
  run();
  finish_all();
  EXPECT_EQ(first.end, GroupEnd::kDone);
  expect_all_alone();
}

/// Any calls in any order, over any kind of device; the fixture compares the results.
class SchedulerHistoryTest : public SchedulerFixture {
 protected:
  void play(std::uint64_t seed);

  bool slides_ = false;  // each model has a small window, and less room than sequences get long
  std::uint64_t prefix_hits_ = 0;
  std::uint64_t hollow_hits_ = 0;  // of those, whose beginning was gone
  std::uint64_t output_hits_ = 0;  // of encoders' outputs
  std::uint64_t given_up_ = 0;
  std::uint64_t came_in_ = 0;

 private:
  std::uint64_t random(std::uint64_t below) { return random_() % below; }
  bool chance(std::uint64_t percent) { return random(100) < percent; }
  SchedulerOptions random_options();
  SchedulerOptions random_sliding_options();
  Ask random_ask();
  void act();
  GroupOutcome& any() {
    return outcomes_[outcomes_.size() - 1 - random(std::min<std::size_t>(12, outcomes_.size()))];
  }

  std::mt19937_64 random_;
};

SchedulerOptions SchedulerHistoryTest::random_sliding_options() {
  SchedulerOptions options = roomy();
  DeviceLimits& limits = options.limits;
  limits.rows = static_cast<std::int32_t>(1 + random(4));
  limits.page_tokens = std::array{1, 2, 4}[random(3)];
  limits.context = 120;
  limits.window = static_cast<std::int64_t>(1 + random(10));
  limits.step_tokens = limits.rows + static_cast<std::int32_t>(1 + random(6));
  const auto least = static_cast<std::int32_t>(limits.held_pages_for(limits.context));
  limits.pages = least + static_cast<std::int32_t>(random(3 * static_cast<std::uint64_t>(least)));
  if (chance(30)) options.admission = AdmissionMode::kReserve;
  limits.stages = static_cast<std::int32_t>(1 + random(2));
  return options;
}

SchedulerOptions SchedulerHistoryTest::random_options() {
  if (slides_) return random_sliding_options();
  SchedulerOptions options = roomy();
  DeviceLimits& limits = options.limits;
  limits.rows = static_cast<std::int32_t>(1 + random(8));
  limits.page_tokens = std::array{1, 2, 4, 16}[random(4)];
  limits.context = 48;
  limits.step_tokens = limits.rows + static_cast<std::int32_t>(1 + random(40));
  const std::int32_t whole = limits.pages_per_row();
  if (chance(40)) options.layout = KvLayout::kSlab;
  // It may be less than a page, or more than a context.
  if (chance(40)) limits.window = static_cast<std::int64_t>(1 + random(chance(80) ? 20 : 60));
  limits.pages = limits.rows * whole;
  if (options.layout == KvLayout::kPages) {
    const auto least = static_cast<std::int32_t>(limits.held_pages_for(limits.context));
    limits.pages =
        least + static_cast<std::int32_t>(random(static_cast<std::uint64_t>(limits.pages)));
  }
  // Inputs of an encoder are at most as long as a step.
  if (chance(30)) limits.cross_pages = limits.rows * whole;
  if (chance(30)) options.admission = AdmissionMode::kReserve;
  if (chance(50)) options.watermark = 0.1;
  options.decode_every = static_cast<std::int32_t>(1 + random(3));
  options.cache = !chance(15);
  if (chance(50)) {
    const auto places = static_cast<std::uint64_t>(limits.pages);
    limits.host_pages = static_cast<std::int32_t>(1 + random(places));
  }
  limits.stages = static_cast<std::int32_t>(1 + random(3));
  if (chance(15)) options.policy = BatchPolicy::kStatic;
  return options;
}

Ask SchedulerHistoryTest::random_ask() {
  Ask ask;
  ask.prompt = static_cast<std::int32_t>(1 + random(24));
  ask.max_tokens = static_cast<std::int32_t>(1 + random(24));
  const std::int32_t most_input = std::min(20, options_.limits.step_tokens);
  if (options_.limits.cross_pages > 0 && chance(60)) {
    ask.encoder_input =
        chance(50) ? std::min(7, most_input)
                   : static_cast<std::int32_t>(1 + random(static_cast<std::uint64_t>(most_input)));
  }
  // Many begin alike, with a few texts, or go on with what has come out before.
  if (chance(70)) ask.text = 1 + random(4);
  if (chance(slides_ ? 60 : 20) && !outcomes_.empty()) {
    const GroupOutcome& before = any();
    // With four more and all that it asks for, at most 24, it is a context at most.
    const auto most = static_cast<std::size_t>(options_.limits.context - 28);
    if (before.prompt.size() + before.outputs[0].size() < most) ask.continues = before.number;
    ask.prompt = static_cast<std::int32_t>(1 + random(4));
  }
  if (chance(30)) ask.domain = std::string(1 + random(2), 'd');
  ask.long_context = chance(10);
  ask.cls = chance(50) ? RequestClass::kChat : RequestClass::kBatch;
  ask.priority = static_cast<std::int32_t>(random(2));
  ask.client = random(3);
  ask.seed = random_();
  if (chance(30)) ask.sequences = static_cast<std::int32_t>(1 + random(3));
  if (chance(10) && options_.layout == KvLayout::kPages) {
    ask.sequences = 1;
    ask.beams = 2;
  }
  ask.has_forced = ask.beams == 1 && chance(30);
  // One of ten tokens ends an output.
  if (chance(50)) {
    const auto first = static_cast<TokenId>(random(10));
    for (TokenId token = first; token < kVocabulary; token += 10) ask.end_tokens.push_back(token);
  }
  return ask;
}

void SchedulerHistoryTest::act() {
  const std::uint64_t what = random(100);
  if (what < 15) {
    const Ask ask = random_ask();
    GroupSpec spec;
    spec.prompt.resize(static_cast<std::size_t>(ask.prompt));
    if (ask.continues > 0) {
      const GroupOutcome& before = outcomes_[ask.continues - 1];
      spec.prompt.resize(spec.prompt.size() + before.prompt.size() + before.outputs[0].size());
    }
    spec.max_tokens = ask.max_tokens;
    spec.sequences = std::max(ask.sequences, ask.beams);
    spec.sampling = std::make_shared<const SamplingParams>();
    if (scheduler_->never_fits(spec).empty()) submit(ask);
  } else if (what < 18 && !outcomes_.empty()) {
    end(any());
  } else if (what < 21 && !outcomes_.empty()) {
    GroupOutcome& one = any();
    if (one.ask.beams == 1 && runs(one)) {
      end_sequence(one, static_cast<std::int32_t>(random(one.outputs.size())));
    }
  } else if (what < 50) {
    if (std::cmp_less(planned(), options_.limits.stages + 1)) plan();
  } else if (what < 70) {
    if (planned() > 0 && scheduler_->changed()) amend();
  } else if (what < 71) {
    while (planned() > 0) lose();
  } else if (planned() > 0) {
    run();
  }
}

void SchedulerHistoryTest::play(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  random_.seed(seed);
  start(random_options());
  for (int i = 0; i < 600 && !HasFailure(); ++i) act();
  if (HasFailure()) return;
  finish_all();
  for (const GroupOutcome& outcome : outcomes_) EXPECT_TRUE(outcome.end) << outcome.number;
  (options_.limits.cross_pages > 0 ? output_hits_ : prefix_hits_) +=
      scheduler_->stats().prefixes.hits;
  hollow_hits_ += scheduler_->stats().prefixes.hollow_hits;
  given_up_ += scheduler_->stats().prefixes.given_up;
  came_in_ += scheduler_->stats().prefixes.came_in;
  SchedulerFixture::TearDown();
  outcomes_.clear();
  ended_ = 0;
}

TEST_F(SchedulerHistoryTest, AllComesBackAndEveryTokenIsRightAfterAnyHistory) {
  for (std::uint64_t seed = 1; seed <= 200 && !HasFailure(); ++seed) play(seed);
  EXPECT_GT(prefix_hits_, 1'000U);
  EXPECT_GT(output_hits_, 300U);
  EXPECT_GT(given_up_, 1'000U);
  EXPECT_GT(came_in_, 500U);
}

TEST_F(SchedulerHistoryTest, AllComesBackThoughTheBeginningsOfWhatIsFoundAreGone) {
  slides_ = true;
  for (std::uint64_t seed = 1; seed <= 50 && !HasFailure(); ++seed) play(seed);
  EXPECT_GT(hollow_hits_, 50U);
}

}  // namespace
}  // namespace weft::test
