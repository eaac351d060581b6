// Tests of any history of calls: nothing is lost, and every token is right.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "weft/tests/schedule/scheduler_files_fixture.h"

namespace weft::test {
namespace {

/// Any calls in any order, over any kind of device; the fixture compares the results.
class SchedulerHistoryTest : public SchedulerFilesFixture {
 protected:
  void play(std::uint64_t seed);

  bool slides_ = false;      // each model has a small window, and less room than sequences get long
  bool has_places_ = false;  // of those, each has some in host memory
  bool has_files_ = false;   // of those, each has few, and starts again now and then
  std::uint64_t prefix_hits_ = 0;
  std::uint64_t hollow_hits_ = 0;  // of those, whose beginning was gone
  std::uint64_t pages_read_ = 0;
  std::uint64_t output_hits_ = 0;  // of encoders' outputs
  std::uint64_t given_up_ = 0;
  std::uint64_t came_in_ = 0;

 private:
  std::uint64_t random(std::uint64_t below) { return random_() % below; }
  bool chance(std::uint64_t percent) { return random(100) < percent; }
  SchedulerOptions random_options();
  SchedulerOptions random_sliding_options();
  Ask random_ask();
  void start_again(std::uint64_t seed);
  void act();
  void count();
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
  if (has_places_) {
    limits.host_pages =
        static_cast<std::int32_t>(1 + random(2 * static_cast<std::uint64_t>(least)));
  }
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

void SchedulerHistoryTest::start_again(std::uint64_t seed) {
  if (!has_files_) return start(options_);
  // A file is a page and some 100 bytes more.
  file_bytes_ = 120 * (8 + static_cast<std::int64_t>(random(100)));
  start_with_files(options_, folder_.path() / std::to_string(seed));
}

/// What has become of the scheduler's pages.
void SchedulerHistoryTest::count() {
  const SchedulerStats stats = scheduler_->stats();
  (options_.limits.cross_pages > 0 ? output_hits_ : prefix_hits_) += stats.prefixes.hits;
  hollow_hits_ += stats.prefixes.hollow_hits;
  given_up_ += stats.prefixes.given_up;
  came_in_ += stats.prefixes.came_in;
  pages_read_ += stats.files.read;
}

void SchedulerHistoryTest::play(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  random_.seed(seed);
  options_ = random_options();
  const int lives = has_files_ ? 3 : 1;
  for (int life = 0; life < lives && !HasFailure(); ++life) {
    start_again(seed);
    for (int i = 0; i < 600 / lives && !HasFailure(); ++i) act();
    if (HasFailure()) return;
    finish();
    count();
  }
  for (const GroupOutcome& outcome : outcomes_) EXPECT_TRUE(outcome.end) << outcome.number;
  TearDown();
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

TEST_F(SchedulerHistoryTest, AllComesBackThoughBeginningsAreGoneFromHostMemoryToo) {
  slides_ = true;
  has_places_ = true;
  for (std::uint64_t seed = 1; seed <= 50 && !HasFailure(); ++seed) play(seed);
  EXPECT_GT(hollow_hits_, 50U);
  EXPECT_GT(came_in_, 100U);
}

TEST_F(SchedulerHistoryTest, AllComesBackThoughBeginningsAreGoneFromFilesToo) {
  slides_ = true;
  has_files_ = true;
  for (std::uint64_t seed = 1; seed <= 40 && !HasFailure(); ++seed) {
    has_places_ = seed % 2 == 0;
    play(seed);
  }
  EXPECT_GT(hollow_hits_, 50U);
  EXPECT_GT(pages_read_, 100U);
}

}  // namespace
}  // namespace weft::test
