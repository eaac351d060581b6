#include "weft/gpu/plan_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/system/system_error.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/gpu/device_error.h"
#include "weft/sampling/drafters/draft_text.h"
#include "weft/tests/fixture/recalling_drafter.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const DeviceLimits reader_limits{.rows = 4,
                                 .pages = 32,
                                 .page_tokens = 4,
                                 .step_tokens = 16,
                                 .context = 16,
                                 .cross_pages = 8,
                                 .vocabulary = 100};

class PlanReaderTest : public testing::Test {
 protected:
  explicit PlanReaderTest(const DeviceLimits& limits = reader_limits) : reader_(limits, 8) {}

  /// Reads what has been built; the next plan is empty.
  std::span<const SlotTokens> read() {
    plan_ = builder_.plan();
    builder_.plan().clear();
    reader_.change_rows(plan_);
    encodes_ = reader_.read_encodes(plan_);
    return reader_.read_entries(plan_);
  }

  [[nodiscard]] const SlotState& state_of_row(std::int32_t row) const {
    return reader_.slot(reader_.slot_of(row));
  }

  PlanBuilder builder_;
  Plan plan_;
  PlanReader reader_;
  std::span<const SlotTokens> encodes_;
};

/// The reader of a device that makes up to three guesses, which continue these texts.
class GuessingReaderTest : public PlanReaderTest {
 protected:
  GuessingReaderTest() : PlanReaderTest(limits()) {
    const std::vector<Tokens> texts = {{10, 11, 12, 13, 14, 15, 16, 17}, {30, 31, 32, 33, 34}};
    reader_.use(std::make_unique<RecallingDrafter>(texts, limits().vocabulary, 1, true));
  }
  static DeviceLimits limits() {
    DeviceLimits limits = reader_limits;
    limits.guesses = 3;
    return limits;
  }
};

TEST_F(PlanReaderTest, LaysTheTokensOfEntriesOneBehindTheOther) {
  builder_.start(0, greedy(), 3).table(0, 0, {7, 3}).feed(0, 0, {10, 11, 12});
  builder_.start(2, greedy(), 1).table(2, 0, {5}).feed(2, 0, {20});
  const std::span<const SlotTokens> entries = read();
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].slot, 0);
  EXPECT_EQ(entries[0].first, 0);
  EXPECT_THAT(entries[0].ids, ElementsAre(10, 11, 12));
  EXPECT_THAT(entries[0].pages, ElementsAre(7));
  EXPECT_EQ(entries[1].slot, 2);
  EXPECT_EQ(entries[1].first, 3);
  EXPECT_EQ(entries[1].count, 1);
  EXPECT_THAT(entries[1].pages, ElementsAre(5));
}

TEST_F(PlanReaderTest, MovesWhatStandsInARowWithItsSlot) {
  builder_.start(0, greedy(), 1).table(0, 0, {7}).feed(0, 0, {10}).sample();
  read();
  StepResult result;
  reader_.begin_results(result);
  reader_.tell(result, 0, SampleResult{.token = 42});
  builder_.plan().moves = {{0, 3}, {3, 1}};
  builder_.feed_last(1, 1);
  const std::span<const SlotTokens> entries = read();
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].slot, 0);
  EXPECT_EQ(reader_.slot_of(1), 0);
  EXPECT_THAT(entries[0].ids, IsEmpty());
  EXPECT_THAT(reader_.known_ids(entries[0]), ElementsAre(42));
  EXPECT_THAT(entries[0].pages, ElementsAre(7));
}

TEST_F(PlanReaderTest, FeedsAnyTokenWhereNoneCouldBeChosen) {
  builder_.start(0, greedy(), 1).table(0, 0, {7}).feed_last(0, 0);
  EXPECT_THAT(reader_.known_ids(read()[0]), ElementsAre(0));
}

TEST_F(PlanReaderTest, CountsWhatASamplerHasSeen) {
  builder_.start(1, greedy(), 4, {1, 2, 3}).table(1, 0, {7, 8}).feed(1, 3, {4, 5});
  const std::span<const SlotTokens> entries = read();
  EXPECT_THAT(PlanReader::history(plan_, plan_.starts[0]), ElementsAre(1, 2, 3));
  EXPECT_EQ(entries[0].observed, 3);
  EXPECT_EQ(entries[0].start, 3);
  EXPECT_THAT(entries[0].pages, ElementsAre(7, 8));
  EXPECT_EQ(state_of_row(1).observed, 5);
  EXPECT_EQ(state_of_row(1).prompt_tokens, 4);
}

TEST_F(PlanReaderTest, GivesEachChangedTableOnceWithWhatWasSaidLast) {
  builder_.table(0, 1, {7, 8}).table(3, 0, {9}).table(0, 0, {4, 5}).table(3, 2, {6});
  read();
  ASSERT_THAT(reader_.tables(), SizeIs(2));
  EXPECT_EQ(reader_.tables()[0].slot, 0);
  EXPECT_EQ(reader_.tables()[0].first, 0);
  EXPECT_THAT(reader_.tables()[0].pages, ElementsAre(4, 5, 8));
  EXPECT_EQ(reader_.tables()[1].slot, 3);
  // The range between two changed stretches is included.
  EXPECT_THAT(reader_.tables()[1].pages, ElementsAre(9, 0, 6));
  builder_.table(0, 3, {6});
  read();
  ASSERT_THAT(reader_.tables(), SizeIs(1));
  EXPECT_EQ(reader_.tables()[0].first, 3);
  EXPECT_THAT(reader_.tables()[0].pages, ElementsAre(6));
}

TEST_F(PlanReaderTest, GivesEncodersPagesOfTheirOwnAndKeepsWhereTheirOutputLies) {
  builder_.start(0, greedy(), 1).encode(0, {1, 2, 3, 4, 5}, {6, 2});
  builder_.start(1, greedy(), 1).encode(1, {8}, {3});
  read();
  ASSERT_THAT(encodes_, SizeIs(2));
  EXPECT_THAT(encodes_[0].pages, ElementsAre(0, 1));
  EXPECT_THAT(encodes_[1].pages, ElementsAre(2));
  EXPECT_EQ(encodes_[1].first, 5);
  EXPECT_THAT(encodes_[1].ids, ElementsAre(8));
  EXPECT_THAT(state_of_row(0).cross_pages, ElementsAre(6, 2));
  EXPECT_EQ(state_of_row(0).cross_context, 5);
  // A sequence that begins again without an encoder's output forgets the one before it.
  builder_.start(0, greedy(), 1);
  read();
  EXPECT_THAT(state_of_row(0).cross_pages, IsEmpty());
  EXPECT_EQ(state_of_row(0).cross_context, 0);
}

TEST_F(PlanReaderTest, WantsLogitsOfAnEntryOnceAndSaysWhoSharesThem) {
  builder_.start(0, greedy(), 2).table(0, 0, {7}).feed(0, 0, {10, 11}).sample().sample(3);
  builder_.start(1, greedy(), 1).table(1, 0, {8}).feed(1, 0, {12}).sample();
  builder_.plan().forks.push_back({.from = 0, .to = 3});
  read();
  EXPECT_THAT(reader_.outputs(), ElementsAre(1, 2));
  const std::span<const SlotChoice> choices = reader_.choices();
  ASSERT_THAT(choices, SizeIs(3));
  EXPECT_EQ(choices[0].output, 0);
  EXPECT_EQ(choices[1].output, 0);
  EXPECT_EQ(choices[1].slot, 3);
  EXPECT_EQ(choices[2].output, 1);
  EXPECT_TRUE(choices[0].shares_output);
  EXPECT_TRUE(choices[1].shares_output);
  EXPECT_FALSE(choices[2].shares_output);
}

TEST_F(PlanReaderTest, ForksWithTheTokensOfTheSamePlan) {
  builder_.table(2, 0, {20, 21}).start(0, greedy(), 2).encode(0, {1, 2}, {6});
  builder_.table(0, 0, {7, 8}).feed(0, 0, {10, 11, 12}).sample().sample(2);
  builder_.plan().forks.push_back({.from = 0, .to = 2, .copied_pages = 1});
  read();
  EXPECT_EQ(state_of_row(2).observed, 3);
  EXPECT_EQ(state_of_row(2).prompt_tokens, 2);
  EXPECT_THAT(state_of_row(2).cross_pages, ElementsAre(6));
  EXPECT_EQ(state_of_row(2).cross_context, 2);
  const std::span<const PlanCopy> copies = reader_.forked_pages(plan_.forks[0]);
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].from, 7);
  EXPECT_EQ(copies[0].to, 20);
}

class SilentReader final : public ActivationReader {
 public:
  void read(const TokenActivations& /*token*/) override {}
};

// Otherwise a fork would be read by whom its row had before, or by nobody, and go on choosing after
// its reader had thrown.
TEST_F(PlanReaderTest, ForksWithTheReaderAndItsFailure) {
  const auto reader = std::make_shared<SilentReader>();
  const auto another = std::make_shared<SilentReader>();
  builder_.start(2, greedy(), 1).table(2, 0, {9}).feed(2, 0, {30});
  builder_.plan().starts.back().reader = another;
  builder_.start(0, greedy(), 1).table(0, 0, {7}).feed(0, 0, {10}).sample();
  builder_.plan().starts.back().reader = reader;
  read();
  builder_.feed_last(0, 1).sample();
  builder_.plan().forks.push_back({.from = 0, .to = 2});
  read();
  EXPECT_EQ(state_of_row(2).reader, reader);
  EXPECT_EQ(state_of_row(2).failure, nullptr);

  StepResult result;
  reader_.begin_results(result);
  const auto failure = choice_failure(ChoiceFailure::Cause::kReaderThrew);
  reader_.fail(reader_.slot_of(0), failure, result);
  EXPECT_EQ(result.samples.at(0).failure, failure);
  builder_.plan().forks.push_back({.from = 0, .to = 1});
  builder_.feed_last(1, 2).table(1, 0, {8});
  read();
  EXPECT_EQ(state_of_row(1).reader, reader);
  EXPECT_EQ(state_of_row(1).failure, failure);
  builder_.feed_last(1, 3);
  read();
  ASSERT_THAT(reader_.readings(), SizeIs(1));
  EXPECT_EQ(reader_.readings()[0].reader, reader.get());
  EXPECT_TRUE(reader_.readings()[0].has_failed);
}

TEST_F(PlanReaderTest, TellsEachChoiceItsPlaceAmongTheMostProbable) {
  builder_.start(0, greedy(), 1).table(0, 0, {7}).feed(0, 0, {10}).sample();
  builder_.start(1, greedy(), 1).table(1, 0, {8}).feed(1, 0, {12}).sample();
  read();
  StepResult result;
  reader_.begin_results(result);
  const std::vector<TokenLogprob> top{{5, -0.5F}, {6, -1.0F}};
  reader_.tell(result, 1, SampleOutcome{.token = 5, .logprob = -0.5F, .top = top}, -0.25F);
  ASSERT_THAT(result.samples, SizeIs(2));
  EXPECT_EQ(result.samples[1].token, 5);
  EXPECT_EQ(result.samples[1].first_top, kMaxTopLogprobs);
  EXPECT_EQ(result.samples[1].top_count, 2);
  EXPECT_EQ(result.samples[1].logprob, -0.75F);
  EXPECT_EQ(result.top[kMaxTopLogprobs + 1].token, 6);
  EXPECT_EQ(result.top[kMaxTopLogprobs + 1].logprob, -1.25F);
  EXPECT_EQ(state_of_row(1).last_token, 5);
  EXPECT_EQ(state_of_row(0).last_token, kNoToken);
}

TEST_F(GuessingReaderTest, PutsGuessesBehindAnEntryAndWantsTheLogitsOfEach) {
  builder_.start(2, greedy(), 2).table(2, 0, {5, 6, 7}).feed(2, 0, {10, 11}).sample();
  read();
  StepResult result;
  reader_.begin_results(result);
  reader_.tell(result, 0, SampleResult{.token = 12});
  reader_.end_results(result);
  ASSERT_THAT(result.samples, SizeIs(1));

  builder_.feed_guesses(2, 2, 3).sample();
  const std::span<const SlotTokens> entries = read();
  EXPECT_EQ(entries[0].count, 4);
  EXPECT_EQ(entries[0].start, 2);
  EXPECT_THAT(reader_.known_ids(entries[0]), ElementsAre(12));
  EXPECT_THAT(entries[0].guesses, ElementsAre(13, 14, 15));
  EXPECT_THAT(entries[0].pages, ElementsAre(5, 6));
  EXPECT_THAT(reader_.outputs(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(reader_.choices()[0].guesses, ElementsAre(13, 14, 15));
}

TEST_F(GuessingReaderTest, TheDrafterDoesNotFollowASequenceThatHasNoGuesses) {
  builder_.start(2, greedy(), 2).table(2, 0, {5, 6, 7}).feed(2, 0, {10, 11}).sample();
  builder_.plan().starts.back().may_guess = false;
  read();
  builder_.feed(2, 2, {12});
  builder_.plan().entries.back().guesses = 3;
  builder_.plan().entries.back().count = 4;
  EXPECT_THAT(read()[0].guesses, IsEmpty());
  // The next sequence in the row.
  builder_.start(2, greedy(), 2).feed(2, 0, {10, 11});
  builder_.plan().entries.back().guesses = 3;
  builder_.plan().entries.back().count = 5;
  EXPECT_THAT(read()[0].guesses, ElementsAre(12, 13, 14));
}

/// Notes what a drafter is told of a sequence's beginning.
class NotingDrafter final : public Drafter {
 public:
  struct Beginning {
    std::size_t prompt_tokens = 0;
    DraftSources sources{};
  };
  explicit NotingDrafter(Beginning& noted) : noted_(noted) {}

  void start(std::int32_t /*slot*/, std::span<const TokenId> /*tokens*/, std::size_t prompt_tokens,
             const DraftSources& sources) override {
    noted_ = {prompt_tokens, sources};
  }
  void observe(std::int32_t /*slot*/, std::span<const TokenId> /*tokens*/) override {}
  void fork(std::int32_t /*from*/, std::int32_t /*to*/) override {}
  [[nodiscard]] Draft guess(std::int32_t /*slot*/, std::span<TokenId> /*guesses*/) override {
    return {};
  }

 private:
  Beginning& noted_;
};

TEST_F(PlanReaderTest, TheDrafterHearsOfThePromptAndOfThePrediction) {
  NotingDrafter::Beginning noted;
  reader_.use(std::make_unique<NotingDrafter>(noted));
  builder_.start(2, greedy(), 2).table(2, 0, {5}).feed(2, 0, {10, 11}).sample();
  const std::array<TokenId, 2> predicted = {12, 13};
  const auto prediction = std::make_shared<const DraftText>(predicted, 100);
  builder_.plan().starts.back().drafts.prediction = prediction;
  read();
  EXPECT_EQ(noted.prompt_tokens, 2U);
  EXPECT_EQ(noted.sources.prediction, prediction);
}

/// Guesses one token for each sequence that a draft model may guess for, and notes what it is
/// asked.
class DraftingDrafter final : public Drafter {
 public:
  explicit DraftingDrafter(std::vector<GuessTask>& asked) : asked_(asked) {}
  void start(std::int32_t /*slot*/, std::span<const TokenId> /*tokens*/,
             std::size_t /*prompt_tokens*/, const DraftSources& /*sources*/) override {}
  void observe(std::int32_t /*slot*/, std::span<const TokenId> /*tokens*/) override {}
  void fork(std::int32_t /*from*/, std::int32_t /*to*/) override {}
  [[nodiscard]] Draft guess(std::int32_t /*slot*/, std::span<TokenId> /*guesses*/) override {
    return {};
  }
  void guess_all(std::span<GuessTask> tasks) override {
    for (GuessTask& task : tasks) {
      if (task.drafts > 0) task.room.front() = 77;
      task.draft = {.count = task.drafts > 0 ? 1U : 0U, .source = GuessSource::kModel};
    }
    asked_.assign(tasks.begin(), tasks.end());
  }
  [[nodiscard]] DraftTimes took() const noexcept override {
    return {.drafting = Duration{3}, .reading = Duration{4}};
  }

 private:
  std::vector<GuessTask>& asked_;
};

TEST_F(GuessingReaderTest, ADraftModelIsAskedOnceForAllEntriesOfAStep) {
  std::vector<GuessTask> asked;
  reader_.use(std::make_unique<DraftingDrafter>(asked));
  for (const std::int32_t row : {0, 1, 2}) {
    builder_.start(row, greedy(), 1).table(row, 0, {row, row + 8, row + 16}).feed(row, 0, {20});
    PlanEntry& entry = builder_.plan().entries.back();
    if (row > 0) entry.guesses = 3;
    entry.drafts = row == 2 ? 2 : 0;
    entry.count = 1 + entry.guesses;
    builder_.sample();
  }
  const std::span<const SlotTokens> entries = read();
  ASSERT_THAT(asked, SizeIs(2)) << "the first may have no guesses";
  EXPECT_EQ(asked[0].slot, 1);
  EXPECT_EQ(asked[0].drafts, 0);
  EXPECT_EQ(asked[1].slot, 2);
  EXPECT_EQ(asked[1].drafts, 2);
  EXPECT_THAT(asked[1].room, SizeIs(3));
  EXPECT_THAT(asked[1].pages, ElementsAre(2)) << "of the token and three guesses";
  EXPECT_THAT(entries[1].guesses, IsEmpty());
  EXPECT_THAT(entries[2].guesses, ElementsAre(77));
  EXPECT_EQ(entries[2].source, GuessSource::kModel);
  EXPECT_EQ(entries[2].first, 2) << "places follow what was guessed";
  StepResult result;
  reader_.begin_results(result);
  EXPECT_EQ(result.drafting.total(), Duration{7});
}

TEST_F(GuessingReaderTest, ADraftModelHearsHowTheTokensAreDrawn) {
  std::vector<GuessTask> asked;
  reader_.use(std::make_unique<DraftingDrafter>(asked));
  const auto drawn = std::make_shared<const SamplingParams>(
      SamplingParams{.temperature = 0.7F, .top_k = 5, .top_p = 0.9F, .min_p = 0.1F});
  builder_.start(0, drawn, 2, {}, 33).table(0, 0, {1, 2}).feed(0, 0, {20, 21});
  builder_.plan().forks.push_back({.from = 0, .to = 1, .seed = 44});
  builder_.sample().sample(1);
  read();
  builder_.feed_guesses(0, 2, 2).sample().feed_guesses(1, 2, 2).sample();
  read();
  ASSERT_THAT(asked, SizeIs(2));
  for (const GuessTask& task : asked) {
    EXPECT_EQ(task.draws.temperature, 0.7F);
    EXPECT_EQ(task.draws.top_k, 5);
    EXPECT_EQ(task.draws.top_p, 0.9F);
    EXPECT_EQ(task.draws.min_p, 0.1F);
    EXPECT_EQ(task.draws.draw, 3U) << "of the token behind the newest";
  }
  EXPECT_EQ(asked[0].draws.seed, 33U);
  EXPECT_EQ(asked[1].draws.seed, 44U);
}

TEST_F(GuessingReaderTest, GoesOnBehindTheLastRightGuess) {
  for (const std::int32_t row : {0, 2}) {
    const TokenId first = row == 0 ? 30 : 10;
    builder_.start(row, greedy(), 1).table(row, 0, {row, row + 8, row + 16}).feed(row, 0, {first});
    builder_.plan().entries.back().guesses = 3;
    builder_.plan().entries.back().count = 4;
    builder_.sample();
  }
  read();
  StepResult result;
  reader_.begin_results(result);
  reader_.tell(result, 0, SampleResult{.token = 40});
  for (const TokenId token : {11, 12, 41}) reader_.tell(result, 1, SampleResult{.token = token});
  reader_.end_results(result);
  ASSERT_THAT(result.samples, SizeIs(4));
  EXPECT_EQ(result.samples[0].token, 40);
  EXPECT_FALSE(result.samples[0].more);
  EXPECT_EQ(result.samples[0].guessed, 3);
  EXPECT_TRUE(result.samples[1].more);
  EXPECT_EQ(result.samples[1].guessed, 3);
  EXPECT_TRUE(result.samples[2].more);
  EXPECT_EQ(result.samples[3].token, 41);
  EXPECT_FALSE(result.samples[3].more);

  builder_.feed_guesses(0, 4, 0, 3).feed_guesses(2, 4, 0, 3);
  const std::span<const SlotTokens> entries = read();
  EXPECT_EQ(entries[0].start, 1) << "no guess was right";
  EXPECT_THAT(reader_.known_ids(entries[0]), ElementsAre(40));
  EXPECT_EQ(entries[1].start, 3) << "two were";
  EXPECT_EQ(entries[1].observed, 3);
  EXPECT_THAT(reader_.known_ids(entries[1]), ElementsAre(41));
}

TEST_F(GuessingReaderTest, RefusesAnEntryThatDoesNotBeginWhereItsTokensEnd) {
  builder_.start(2, greedy(), 1).table(2, 0, {5}).feed(2, 0, {20});
  read();
  builder_.feed_guesses(2, 5, 0, 3);
  EXPECT_THROW(read(), boost::system::system_error) << "at 2 at least, and it has one token";
  builder_.feed_guesses(2, 5, 0, 4);
  EXPECT_THROW(read(), boost::system::system_error) << "more than it guesses";
}

TEST_F(PlanReaderTest, RefusesAnEntryWithGuesses) {
  builder_.start(2, greedy(), 1).table(2, 0, {5}).feed(2, 0, {20, 21});
  builder_.plan().entries.back().guesses = 1;
  try {
    read();
    FAIL() << "nobody verifies them";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), DeviceErrc::kUnfit);
    EXPECT_THAT(error.what(), testing::HasSubstr("row 2 has guesses"));
  }
}

/// The reader of a device with two places for adapters.
class AdapterReaderTest : public PlanReaderTest {
 protected:
  AdapterReaderTest() : PlanReaderTest(limits()) {}
  static DeviceLimits limits() {
    DeviceLimits with_places = reader_limits;
    with_places.adapter_places = 2;
    return with_places;
  }
  static std::shared_ptr<const PreparedAdapter> adapter(std::uint8_t content) {
    PreparedAdapter made;
    made.id.bytes[3] = std::byte{content};
    return std::make_shared<const PreparedAdapter>(std::move(made));
  }
  void start(std::int32_t row, const std::shared_ptr<const PreparedAdapter>& adapter) {
    builder_.start(row, greedy(), 1).table(row, 0, {row});
    builder_.plan().starts.back().traits.kv.adapter = adapter->id;
  }
};

TEST_F(AdapterReaderTest, FindsARowsAdapterInThePlaceThatWasNamedLast) {
  const auto one = adapter(1);
  const auto two = adapter(2);
  start(0, one);
  start(1, two);
  builder_.start(2, greedy(), 1).table(2, 0, {2});
  builder_.feed(0, 0, {20}).feed(1, 0, {20}).feed(2, 0, {20});
  builder_.plan().adapters = {{0, one}, {1, two}};
  const std::span<const SlotTokens> entries = read();
  EXPECT_EQ(entries[0].adapter_place, 0);
  EXPECT_EQ(entries[1].adapter_place, 1);
  EXPECT_EQ(entries[2].adapter_place, -1) << "has none";
  EXPECT_EQ(state_of_row(0).traits.kv.adapter, one->id);
  builder_.plan().adapters = {{1, one}};
  builder_.feed(0, 1, {20});
  EXPECT_EQ(read()[0].adapter_place, 1);
  EXPECT_THAT(reader_.adapters(), ElementsAre(AdapterId{}, one->id));
}

TEST_F(AdapterReaderTest, RefusesARowWhoseAdapterIsInNoPlace) {
  start(0, adapter(1));
  builder_.feed(0, 0, {20});
  builder_.plan().adapters = {{0, adapter(2)}};
  EXPECT_THROW(read(), boost::system::system_error);
}

TEST_F(AdapterReaderTest, RefusesAPlaceThatTheDeviceLacks) {
  for (const std::int32_t place : {-1, 2}) {
    builder_.plan().adapters = {{place, adapter(1)}};
    EXPECT_THROW(read(), boost::system::system_error) << place;
    builder_.plan().clear();
  }
}

TEST_F(PlanReaderTest, RefusesSnapshotsOfRowsStates) {
  builder_.start(2, greedy(), 1).table(2, 0, {5}).feed(2, 0, {20, 21});
  builder_.plan().snapshots = {{.row = 2, .first_page = 0}};
  EXPECT_THROW(read(), boost::system::system_error);
  builder_.plan().snapshots.clear();
  builder_.plan().restores = {{.row = 2, .first_page = 0}};
  EXPECT_THROW(read(), boost::system::system_error);
}

}  // namespace
}  // namespace weft::test
