#include "weft/gpu/drafting/model_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "weft/kernels/sample/sample.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kVocabulary = 50;
constexpr DeviceLimits kDraftedLimits{.rows = 4,
                                      .pages = 80,
                                      .page_tokens = 4,
                                      .step_tokens = 64,
                                      .context = 100,
                                      .vocabulary = kVocabulary,
                                      .guesses = 6,
                                      .draft_context = 100};

/// Returns what the fake draft model writes behind a text.
TokenId continuation(std::span<const TokenId> text) {
  std::uint64_t sum = 7;
  for (const TokenId token : text) {
    sum = (sum + static_cast<std::uint64_t>(token) + 1) * 0x9E3779B97F4A7C15;
    sum ^= sum >> 29U;
  }
  return static_cast<TokenId>((sum >> 32U) % kVocabulary);
}

Tokens continued(Tokens text, std::size_t count) {
  Tokens next;
  for (std::size_t i = 0; i < count; ++i) {
    next.push_back(continuation(text));
    text.push_back(next.back());
  }
  return next;
}

/// What a fake draft model was asked for.
struct Drafted {
  std::vector<std::size_t> steps;  ///< tokens of each step
  std::size_t fails_at = 0;        ///< the number of the step that throws, from 1 on; 0: none
  [[nodiscard]] std::size_t tokens() const {
    return std::accumulate(steps.begin(), steps.end(), std::size_t{0});
  }
};

/// A draft model whose KV cache holds tokens. What it writes depends on all tokens in a sequence's
/// pages, so a token that is missing there, or is another sequence's, changes it.
class FakeDraftModel final : public ModelDevice {
 public:
  FakeDraftModel(const DeviceOptions& options, std::int64_t vocabulary, Drafted& drafted)
      : options_(options),
        drafted_(drafted),
        kv_(static_cast<std::size_t>(options.pages) * static_cast<std::size_t>(options.page_tokens),
            kNoToken) {
    program_.vocabulary = vocabulary;
    program_.context = options.max_context;
  }

  void decode(const Step& step) override {
    drafted_.steps.push_back(step.ids.size());
    if (drafted_.steps.size() == drafted_.fails_at) throw std::runtime_error("a step failed");
    EXPECT_LE(step.ids.size(), static_cast<std::size_t>(options_.max_tokens));
    EXPECT_LE(step.outputs.size(), static_cast<std::size_t>(options_.max_outputs));
    std::map<std::int32_t, std::size_t> writers;  // by page
    for (std::size_t i = 0; i < step.sequences.size(); ++i) {
      const StepSequence& one = step.sequences[i];
      EXPECT_LE(one.start + one.count, options_.max_context);
      for (std::int32_t j = 0; j < one.count; ++j) {
        const std::int32_t position = one.start + j;
        const std::int32_t index = position / options_.page_tokens;
        const std::int32_t page = one.pages[static_cast<std::size_t>(index)];
        EXPECT_EQ(writers.try_emplace(page, i).first->second, i)
            << "two sequences write page " << page;
        at(one, position) =
            step.ids[static_cast<std::size_t>(one.first) + static_cast<std::size_t>(j)];
      }
    }
    logits_.assign(step.outputs.size() * static_cast<std::size_t>(program_.vocabulary), 0);
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      const auto next = static_cast<std::size_t>(next_of(step, step.outputs[i]));
      if (std::cmp_less(next, program_.vocabulary)) {
        logits_[i * static_cast<std::size_t>(program_.vocabulary) + next] = 1;
      }
    }
  }
  void encode(const Step& /*step*/) override {}
  [[nodiscard]] Rows results() override {
    return {logits_.data(), static_cast<std::int64_t>(logits_.size()) / program_.vocabulary,
            program_.vocabulary, program_.vocabulary};
  }
  [[nodiscard]] Rows hidden_states(std::int32_t /*first*/, std::int32_t /*count*/) override {
    return {};
  }
  [[nodiscard]] Rows logits_of(std::span<const std::int32_t> /*rows*/) override { return {}; }
  [[nodiscard]] const Program& program() const override { return program_; }
  [[nodiscard]] const DeviceOptions& options() const override { return options_; }

 private:
  TokenId& at(const StepSequence& sequence, std::int32_t position) {
    const auto page = static_cast<std::size_t>(position / options_.page_tokens);
    const std::int32_t place =
        sequence.pages[page] * options_.page_tokens + position % options_.page_tokens;
    return kv_[static_cast<std::size_t>(place)];
  }
  TokenId next_of(const Step& step, std::int32_t row) {
    for (const StepSequence& one : step.sequences) {
      if (row < one.first || row >= one.first + one.count) continue;
      Tokens text;
      const std::int32_t end = one.start + row - one.first;
      for (std::int32_t i = 0; i <= end; ++i) text.push_back(at(one, i));
      return continuation(text);
    }
    ADD_FAILURE() << "an output of no sequence";
    return 0;
  }

  Program program_;
  const DeviceOptions options_;
  Drafted& drafted_;
  std::vector<TokenId> kv_;
  std::vector<float> logits_;
};

/// Looks up a fixed text.
class FixedLookUps final : public Drafter {
 public:
  explicit FixedLookUps(std::size_t matched) : matched_(matched) {}
  void start(std::int32_t /*slot*/, std::span<const TokenId> /*tokens*/,
             std::size_t /*prompt_tokens*/, const DraftSources& /*sources*/) override {}
  void observe(std::int32_t /*slot*/, std::span<const TokenId> tokens) override {
    observed += tokens.size();
  }
  void fork(std::int32_t /*from*/, std::int32_t /*to*/) override {}
  [[nodiscard]] Draft guess(std::int32_t /*slot*/, std::span<TokenId> guesses) override {
    guesses.front() = 49;
    return {.count = 1, .source = GuessSource::kOwn, .matched = matched_};
  }
  std::size_t observed = 0;

 private:
  std::size_t matched_;
};

class ModelDrafterTest : public testing::Test {
 protected:
  explicit ModelDrafterTest(const DeviceLimits& limits = kDraftedLimits) : limits_(limits) {
    use(kVocabulary, limits.context);
  }
  /// Takes a draft model with this vocabulary and context, and look-ups beside it.
  void use(std::int64_t vocabulary, std::int64_t context,
           std::unique_ptr<Drafter> look_ups = nullptr) {
    Program program;
    program.context = context;
    const DeviceOptions options = ModelDrafter::options_for(program, limits_, DType::kF32, 1);
    drafter_ = std::make_unique<ModelDrafter>(
        std::make_unique<FakeDraftModel>(options, vocabulary, drafted_), limits_,
        std::move(look_ups));
  }
  /// A sequence begins whose pages are `first_page` and those behind it.
  void start(std::int32_t slot, const Tokens& tokens, std::int32_t first_page) {
    texts_[slot] = tokens;
    set_pages(slot, first_page);
    drafter_->start(slot, tokens, tokens.size(), {});
  }
  void set_pages(std::int32_t slot, std::int32_t first_page) {
    tables_[slot].resize(static_cast<std::size_t>(limits_.pages_per_row()));
    std::iota(tables_[slot].begin(), tables_[slot].end(), first_page);
  }
  void add(std::int32_t slot, const Tokens& tokens) {
    texts_[slot].insert(texts_[slot].end(), tokens.begin(), tokens.end());
    drafter_->observe(slot, tokens);
  }
  /// Guesses for several slots in one step; returns the guesses of each.
  std::vector<Tokens> guess_all(const std::vector<std::int32_t>& slots, std::size_t most,
                                std::int32_t drafts) {
    std::vector<Tokens> rooms(slots.size(), Tokens(most, kNoToken));
    std::vector<GuessTask> tasks;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      tasks.push_back(
          {.slot = slots[i], .room = rooms[i], .drafts = drafts, .pages = tables_[slots[i]]});
    }
    drafter_->guess_all(tasks);
    sources_.clear();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      rooms[i].resize(tasks[i].draft.count);
      sources_.push_back(tasks[i].draft.source);
    }
    return rooms;
  }
  Tokens guess(std::int32_t slot, std::size_t most = 4) {
    return guess_all({slot}, most, static_cast<std::int32_t>(most)).front();
  }
  [[nodiscard]] Tokens right(std::int32_t slot, std::size_t count = 4) {
    return continued(texts_[slot], count);
  }

  const DeviceLimits limits_;
  Drafted drafted_;
  std::map<std::int32_t, Tokens> texts_;
  std::map<std::int32_t, Pages> tables_;
  std::vector<GuessSource> sources_;
  std::unique_ptr<ModelDrafter> drafter_;
};

Tokens text_of(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Tokens text(count);
  std::ranges::generate(text, [&] { return static_cast<TokenId>(random() % kVocabulary); });
  return text;
}

TEST_F(ModelDrafterTest, GuessesWhatTheDraftModelWrites) {
  start(0, {3, 1, 4}, 0);
  EXPECT_EQ(guess(0), right(0));
  EXPECT_EQ(sources_.front(), GuessSource::kModel);
  EXPECT_THAT(drafted_.steps, ElementsAre(2, 1, 1, 1, 1)) << "two are read, then one a guess";
  EXPECT_GT(drafter_->took().total(), Duration{});
}

TEST_F(ModelDrafterTest, DrawsByTheNumbersOfTheModel) {
  start(0, {3, 1, 4}, 0);
  Tokens guesses(4, kNoToken);
  GuessTask task{.slot = 0, .room = guesses, .drafts = 4, .pages = tables_[0]};
  task.draws = {.temperature = 0.5F, .seed = 9, .draw = 3};
  drafter_->guess_all({&task, 1});
  Tokens text = texts_[0];
  std::vector<std::uint64_t> scratch(std::size_t{2 * kVocabulary});
  for (std::uint64_t i = 0; i < 4; ++i) {
    std::vector<float> logits(kVocabulary, 0);
    logits[static_cast<std::size_t>(continuation(text))] = 1;
    text.push_back(sample(logits, {.temperature = 0.5F, .seed = 9, .draw = 3 + i}, scratch));
  }
  EXPECT_EQ(guesses, Tokens(text.begin() + 3, text.end()));
  EXPECT_NE(guesses, right(0)) << "the most probable ones";
}

TEST_F(ModelDrafterTest, AllSequencesOfAStepAreDraftedForTogether) {
  for (const std::int32_t slot : {0, 1, 2}) start(slot, {3, slot}, slot * 25);
  const std::vector<Tokens> guesses = guess_all({0, 1, 2}, 3, 3);
  for (const std::int32_t slot : {0, 1, 2}) {
    EXPECT_EQ(guesses[static_cast<std::size_t>(slot)], right(slot, 3));
  }
  EXPECT_THAT(drafted_.steps, ElementsAre(6, 3, 3));
}

TEST_F(ModelDrafterTest, RightGuessesAreNotReadAgain) {
  start(0, {3, 1}, 0);
  const Tokens guesses = guess(0);
  add(0, guesses);
  add(0, {continuation(texts_[0])});
  drafted_.steps.clear();
  EXPECT_EQ(guess(0), right(0));
  EXPECT_EQ(drafted_.steps.front(), 2U) << "the last guess, and the token behind it";
}

TEST_F(ModelDrafterTest, GoesBackToTheFirstWrongGuess) {
  start(0, {3, 1}, 0);
  const Tokens guesses = guess(0);
  add(0, {guesses[0], static_cast<TokenId>((guesses[1] + 1) % kVocabulary)});
  drafted_.steps.clear();
  EXPECT_EQ(guess(0), right(0));
  EXPECT_EQ(drafted_.steps.front(), 1U);
  add(0, {1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(guess(0), right(0)) << "more tokens than were guessed";
}

TEST_F(ModelDrafterTest, ReadsALongPromptInPieces) {
  start(0, text_of(90, 1), 0);
  constexpr auto kRead = static_cast<std::size_t>(ModelDrafter::kReadTokens);
  EXPECT_THAT(guess(0), IsEmpty());
  EXPECT_THAT(drafted_.steps, ElementsAre(kRead));
  EXPECT_THAT(guess(0), IsEmpty());
  EXPECT_EQ(guess(0), right(0)) << "the rest is read in this step";
  EXPECT_EQ(drafted_.tokens(), 90U + 3U);
}

TEST_F(ModelDrafterTest, ReadsNothingBeforeGuessesAreWanted) {
  start(0, text_of(20, 1), 0);
  EXPECT_THAT(guess_all({0}, 4, 0).front(), IsEmpty());
  EXPECT_THAT(drafted_.steps, IsEmpty());
  EXPECT_EQ(drafter_->took().total(), Duration{});
}

TEST_F(ModelDrafterTest, FindsWhatAnEarlierSequenceHasLeftInItsPages) {
  start(0, text_of(20, 1), 0);
  guess(0);
  drafted_.steps.clear();
  start(1, text_of(20, 1), 0);
  EXPECT_EQ(guess(1, 1), right(1, 1));
  EXPECT_EQ(drafted_.tokens(), 4U) << "all but the page with the newest token";

  drafted_.steps.clear();
  start(2, text_of(20, 2), 0);
  EXPECT_EQ(guess(2, 1), right(2, 1)) << "another text is read whole";
  EXPECT_EQ(drafted_.tokens(), 20U);
  start(3, text_of(20, 1), 0);
  EXPECT_EQ(guess(3, 1), right(3, 1)) << "and has overwritten the first";
}

TEST_F(ModelDrafterTest, APageOfWhichAPartWasOverwrittenIsReadAgain) {
  start(0, text_of(21, 1), 0);
  guess(0, 1);
  Tokens other = text_of(16, 1);
  other.insert(other.end(), {7, 8});
  start(1, other, 0);
  guess(1, 1);  // writes half of the fifth page
  start(2, text_of(21, 1), 0);
  EXPECT_EQ(guess(2, 1), right(2, 1));
}

TEST_F(ModelDrafterTest, ASequenceWhosePagesChangeIsReadAgain) {
  start(0, text_of(14, 1), 0);
  guess(0);
  set_pages(0, 40);
  add(0, {5});
  EXPECT_EQ(guess(0), right(0));
}

TEST_F(ModelDrafterTest, AForkSharesWholePages) {
  start(0, text_of(10, 1), 0);
  guess(0, 1);
  drafter_->fork(0, 1);
  texts_[1] = texts_[0];
  tables_[1] = tables_[0];
  std::iota(tables_[1].begin() + 2, tables_[1].end(), 40);
  add(0, {7});
  add(1, {8});
  drafted_.steps.clear();
  const std::vector<Tokens> guesses = guess_all({0, 1}, 2, 2);
  EXPECT_EQ(guesses[0], right(0, 2));
  EXPECT_EQ(guesses[1], right(1, 2));
  EXPECT_EQ(drafted_.tokens(), 1U + 3U + 2U) << "of the fork the tokens of its own page";
}

TEST_F(ModelDrafterTest, OneOfTheSequencesWithACommonBeginningReadsIt) {
  const Tokens beginning = text_of(12, 1);
  for (const std::int32_t slot : {0, 1, 2}) {
    start(slot, beginning, 0);
    std::iota(tables_[slot].begin() + 3, tables_[slot].end(), 3 + 25 * slot);
    add(slot, {slot, 1});
  }
  const std::vector<Tokens> first = guess_all({0, 1, 2}, 2, 2);
  EXPECT_EQ(first[0], right(0, 2));
  EXPECT_THAT(first[1], IsEmpty()) << "it waits for the step";
  drafted_.steps.clear();
  const std::vector<Tokens> then = guess_all({1, 2}, 2, 2);
  EXPECT_EQ(then[0], right(1, 2));
  EXPECT_EQ(then[1], right(2, 2));
  EXPECT_THAT(drafted_.steps, ElementsAre(4, 2)) << "their own pages alone";
}

TEST_F(ModelDrafterTest, ALongMatchSpeaksFirstAndAShortOneOnlyForTheDraftModel) {
  for (const std::size_t matched : {ModelDrafter::kLongMatch, ModelDrafter::kLongMatch - 1}) {
    auto look_ups = std::make_unique<FixedLookUps>(matched);
    const FixedLookUps& heard = *look_ups;
    use(kVocabulary, limits_.context, std::move(look_ups));
    start(0, text_of(60, 1), 0);
    EXPECT_EQ(heard.observed, 60U);
    EXPECT_THAT(guess_all({0}, 4, 0).front(), ElementsAre(49)) << "the model may not";
    EXPECT_THAT(guess(0), ElementsAre(49)) << "it is not ready, or need not be";
    const Tokens guesses = guess(0);
    const bool is_long = matched >= ModelDrafter::kLongMatch;
    EXPECT_EQ(guesses, is_long ? Tokens{49} : right(0)) << matched;
    EXPECT_EQ(sources_.front(), is_long ? GuessSource::kOwn : GuessSource::kModel);
  }
}

TEST_F(ModelDrafterTest, DraftsNoMoreThanAllowed) {
  start(0, {3, 1}, 0);
  EXPECT_EQ(guess_all({0}, 6, 2).front(), right(0, 2));
}

TEST_F(ModelDrafterTest, DraftsNothingBehindATokenThatTheDraftModelDoesNotKnow) {
  use(40, limits_.context);
  start(0, {3, 45}, 0);
  EXPECT_THAT(guess(0), IsEmpty());
  start(0, {3, 39}, 0);
  for (const TokenId token : guess(0)) EXPECT_LT(token, 40);
  EXPECT_FALSE(drafted_.steps.empty());
}

TEST_F(ModelDrafterTest, NamesOnlyTokensOfBothVocabularies) {
  use(70, limits_.context);
  start(0, {3, 1}, 0);
  EXPECT_EQ(guess(0), right(0)) << "they are below 50";
}

TEST_F(ModelDrafterTest, DraftsAsFarAsTheContextOfTheDraftModel) {
  use(kVocabulary, 10);
  start(0, text_of(9, 1), 0);
  EXPECT_EQ(guess(0), right(0, 2)) << "the ninth and the tenth token can be fed";
  add(0, {1});
  EXPECT_EQ(guess(0), right(0, 1));
  add(0, {2});
  EXPECT_THAT(guess(0), IsEmpty());
}

/// Three sequences, two of which have a long beginning in common, are guessed for while the n-th
/// step of the draft model throws, for every n.
TEST_F(ModelDrafterTest, AStepThatThrowsHasReadNothing) {
  const Tokens beginning = text_of(40, 1);
  bool has_failed = true;
  for (std::size_t n = 1; has_failed; ++n) {
    has_failed = false;
    use(kVocabulary, limits_.context);
    drafted_ = Drafted();
    drafted_.fails_at = n;
    for (const std::int32_t slot : {0, 1}) {
      start(slot, beginning, 0);
      std::iota(tables_[slot].begin() + 10, tables_[slot].end(), 10 + 25 * slot);
      add(slot, {slot, 1});
    }
    start(2, {3, 1}, 50);
    std::size_t guessed = 0;
    for (int step = 0; step < 8; ++step) {
      try {
        const std::vector<Tokens> guesses = guess_all({0, 1, 2}, 3, 3);
        for (const std::int32_t slot : {0, 1, 2}) {
          const Tokens& made = guesses[static_cast<std::size_t>(slot)];
          ASSERT_EQ(made, right(slot, made.size())) << "step " << n << " threw, slot " << slot;
          guessed += made.size();
          add(slot, {made.empty() ? slot : made.front(), slot + 4});
        }
      } catch (const std::runtime_error&) {
        has_failed = true;
      }
    }
    EXPECT_GT(guessed, 30U) << n;
  }
}

/// Sequences that begin, go on by right and wrong guesses, move to other pages, fork and end, in
/// any order: each guess is what a draft model writes that has read the text.
TEST_F(ModelDrafterTest, GuessesTheSameWhateverCameBefore) {
  std::mt19937 random(3);
  const auto below = [&](std::size_t end) { return random() % end; };
  std::size_t guessed = 0;
  // Beginnings that sequences have in common, in pages that they share then.
  const std::vector<Tokens> beginnings = {text_of(16, 1), text_of(8, 2), text_of(4, 3)};
  const std::vector<std::int32_t> places = {0, 4, 6};
  const auto begin = [&](std::int32_t slot) {
    const std::size_t which = below(beginnings.size());
    Tokens text = beginnings[which];
    const std::size_t shared = text.size() / 4;
    const Tokens own = text_of(below(12), static_cast<std::uint32_t>(random()));
    text.insert(text.end(), own.begin(), own.end());
    start(slot, text, places[which]);
    std::iota(tables_[slot].begin() + static_cast<std::ptrdiff_t>(shared), tables_[slot].end(),
              8 + 18 * slot);
    tables_[slot].resize(shared + 18);
  };
  for (std::int32_t slot = 0; slot < limits_.rows; ++slot) begin(slot);
  for (int step = 0; step < 3000; ++step) {
    std::vector<std::int32_t> slots;
    for (std::int32_t slot = 0; slot < limits_.rows; ++slot) {
      if (texts_[slot].size() > 56 || below(40) == 0) begin(slot);
      if (below(4) > 0) {
        slots.push_back(slot);
      } else {
        add(slot, text_of(below(8), static_cast<std::uint32_t>(random())));
      }
    }
    std::ranges::shuffle(slots, random);
    const std::size_t most = 1 + below(6);
    const std::vector<Tokens> guesses = guess_all(slots, most, static_cast<std::int32_t>(most));
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::int32_t slot = slots[i];
      const Tokens& made = guesses[i];
      ASSERT_EQ(made, right(slot, made.size())) << "step " << step << ", slot " << slot;
      guessed += made.size();
      const std::size_t accepted = below(made.size() + 1);
      add(slot, Tokens(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(accepted)));
      add(slot, {static_cast<TokenId>(below(kVocabulary))});
    }
  }
  EXPECT_GT(guessed, 10'000U);
}

}  // namespace
}  // namespace weft::test
