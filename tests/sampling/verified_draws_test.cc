// Checks that guesses leave the distribution of drawn texts what it is without them, for each
// sampler setting, whatever is guessed.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "weft/sampling/token_constraint.h"
#include "weft/sampling/verify_guesses.h"
#include "weft/tests/sampling/chi_square.h"
#include "weft/tests/sampling/reference_sampler.h"
#include "weft/tests/sampling/sampler_fixture.h"

namespace weft::test {
namespace {

using Tokens = std::vector<TokenId>;

constexpr std::size_t kLetters = 6;
constexpr std::size_t kSpoken = 3;  ///< tokens of a text
constexpr std::size_t kTexts = kLetters * kLetters * kLetters;
/// Texts with each kind of guesses: 20,001 draws, and 100,005 of each setting.
constexpr std::size_t kSpeakers = 6667;
const Tokens spoken_prompt = {1, 4, 1};

std::size_t letter(TokenId token) { return static_cast<std::size_t>(token); }

/// Allows all tokens but the one behind the last token, at first all but 0.
class NotNextState final : public ConstraintState {
 public:
  explicit NotNextState(TokenId forbidden = 0) : forbidden_(forbidden) {}
  void advance(std::span<const TokenId> tokens) noexcept override {
    forbidden_ = forbidden_behind(tokens.back());
  }
  bool roll_back(std::size_t /*tokens*/) noexcept override { return false; }
  AllowedTokens allowed() noexcept override {
    bits_[0] = ((1U << kLetters) - 1) & ~(1U << letter(forbidden_));
    return {.bits = bits_, .count = kLetters - 1};
  }
  [[nodiscard]] std::unique_ptr<ConstraintState> clone() const override {
    return std::make_unique<NotNextState>(forbidden_);
  }
  static TokenId forbidden_behind(TokenId token) {
    return static_cast<TokenId>((letter(token) + 1) % kLetters);
  }

 private:
  TokenId forbidden_;
  std::array<std::uint32_t, 1> bits_{};
};

class NotNext final : public TokenConstraint {
 public:
  [[nodiscard]] std::unique_ptr<ConstraintState> begin() const override {
    return std::make_unique<NotNextState>();
  }
};

/// A sampler setting. The constraint of the reference is a list of tokens.
struct DrawSetting {
  std::string name;
  SamplingParams params;
  bool is_constrained = false;

  friend std::ostream& operator<<(std::ostream& to, const DrawSetting& setting) {
    return to << setting.name;
  }
};

std::vector<DrawSetting> draw_settings() {
  std::vector<DrawSetting> settings = {
      {"temperature", {.temperature = 1.7F}},
      {"top_k", {.top_k = 4}},
      {"top_p", {.top_p = 0.8F}},
      {"min_p", {.min_p = 0.15F}},
      {"typical_and_tail_free", {.tfs_z = 0.97F, .typical_p = 0.85F}},
      {"penalties", {.penalties = {.repetition = 1.4F, .frequency = 0.6F, .presence = -0.5F}}},
      {"dry", {.dry = {.multiplier = 0.9F, .allowed_length = 1}}},
      {"logit_bias", {.logit_bias = {{2, 1.5F}, {5, -2}}}},
      {"masks", {.bad_tokens = {3}, .min_tokens = 2, .stop_tokens = {2}}},
      {"constraint", {.temperature = 1.5F}, true},
      {"all",
       {.logit_bias = {{0, 1}},
        .bad_tokens = {5},
        .penalties = {.repetition = 1.2F, .presence = 0.4F},
        .temperature = 1.5F,
        .top_k = 5,
        .top_p = 0.95F,
        .min_p = 0.02F},
       true},
  };
  for (DrawSetting& one : settings) {
    if (one.is_constrained) one.params.constraint = std::make_shared<NotNext>();
  }
  return settings;
}

/// What is guessed of a text.
enum class Guessing : std::uint8_t {
  kNothing,
  kRight,   ///< the tokens that are chosen without guesses
  kWrong,   ///< other tokens than those
  kMixed,   ///< each by a coin: right, or any token
  kLikely,  ///< the most probable tokens, as a draft model guesses
};
constexpr std::array kGuessings = {Guessing::kNothing, Guessing::kRight, Guessing::kWrong,
                                   Guessing::kMixed, Guessing::kLikely};

/// A model whose logits depend on the newest token, and texts that it speaks.
class Speaker {
 public:
  explicit Speaker(const DrawSetting& setting)
      : setting_(setting), params_(std::make_shared<const SamplingParams>(setting.params)) {
    std::minstd_rand random(5);
    for (std::vector<float>& row : logits_) {
      row = random_logits(kLetters, random);
      for (float& logit : row) logit /= 2;  // so that many texts are probable
    }
  }

  /// Returns the probability of each text: the product of its tokens' by the reference.
  [[nodiscard]] std::vector<double> reference() const {
    std::vector<double> texts(kTexts, 0);
    Tokens tokens = spoken_prompt;
    add_reference(tokens, 1, texts);
    return texts;
  }
  /// Returns how often each text is spoken, with the seeds from `first` on.
  [[nodiscard]] std::vector<double> speak(Guessing guessing, std::uint64_t first) {
    std::vector<double> texts(kTexts, 0);
    for (std::uint64_t i = 0; i < kSpeakers; ++i) ++texts[speak_one(guessing, first + i)];
    return texts;
  }
  [[nodiscard]] std::size_t right() const noexcept { return right_; }

 private:
  [[nodiscard]] const std::vector<float>& logits_behind(TokenId token) const {
    return logits_[letter(token)];
  }
  static std::size_t index_of(std::span<const TokenId> tokens) {
    std::size_t index = 0;
    for (const TokenId token : tokens.last(kSpoken)) index = index * kLetters + letter(token);
    return index;
  }

  void add_reference(Tokens& tokens, double probability, std::vector<double>& texts) const {
    if (tokens.size() == spoken_prompt.size() + kSpoken) {
      texts[index_of(tokens)] = probability;
      return;
    }
    ReferenceCase sample = case_of(setting_.params, tokens, spoken_prompt.size());
    if (setting_.is_constrained) {
      const bool begins = tokens.size() == spoken_prompt.size();
      sample.params.constraint = nullptr;
      sample.params.bad_tokens.push_back(begins ? 0
                                                : NotNextState::forbidden_behind(tokens.back()));
    }
    const std::vector<double> next = reference_probabilities(logits_behind(tokens.back()), sample);
    for (std::size_t id = 0; id < kLetters; ++id) {
      if (next[id] == 0) continue;
      tokens.push_back(static_cast<TokenId>(id));
      add_reference(tokens, probability * next[id], texts);
      tokens.pop_back();
    }
  }

  std::size_t speak_one(Guessing guessing, std::uint64_t seed) {
    const bool peeks = guessing != Guessing::kNothing && guessing != Guessing::kLikely;
    if (peeks) say(Guessing::kNothing, seed, {});
    const std::array<TokenId, kSpoken> alone = said_;
    say(guessing, seed, alone);
    return index_of(said_);
  }
  /// Draws a text as a device does: in each step the newest token is observed, and the tokens
  /// behind it are guessed and verified.
  void say(Guessing guessing, std::uint64_t seed, std::span<const TokenId> alone) {
    sampler_.start(params_, {}, seed, spoken_prompt.size());
    sampler_.observe(spoken_prompt);
    for (std::size_t count = 0; count < kSpoken;) {
      if (count > 0) sampler_.observe(std::span(said_).subspan(count - 1, 1));
      const std::size_t guessed = guess(guessing, count, alone);
      const auto choose = [&](std::size_t /*right*/, TokenId guess) {
        const std::vector<float>& row =
            logits_behind(count == 0 ? spoken_prompt.back() : said_.at(count - 1));
        std::array<float, kLetters> logits{};
        std::ranges::copy(row, logits.begin());
        return said_.at(count++) = sampler_.sample(logits, scratch_, guess).token;
      };
      verify_guesses(std::span<const TokenId>(guesses_).first(guessed), choose, [&](TokenId guess) {
        ++right_;
        sampler_.observe({&guess, 1});
      });
    }
  }
  /// Writes guesses of the tokens from `count` on, and returns how many.
  std::size_t guess(Guessing guessing, std::size_t count, std::span<const TokenId> alone) {
    if (guessing == Guessing::kNothing) return 0;
    TokenId newest = count == 0 ? spoken_prompt.back() : said_.at(count - 1);
    const std::size_t guessed = kSpoken - count - 1;
    for (std::size_t i = 0; i < guessed; ++i) {
      newest = guesses_.at(i) = guess_one(guessing, newest, alone.empty() ? 0 : alone[count + i]);
    }
    return guessed;
  }
  TokenId guess_one(Guessing guessing, TokenId newest, TokenId chosen) {
    const auto any = static_cast<TokenId>(random_() % kLetters);
    const std::vector<float>& row = logits_behind(newest);
    switch (guessing) {
      case Guessing::kRight:
        return chosen;
      case Guessing::kWrong:
        return static_cast<TokenId>((letter(chosen) + 1) % kLetters);
      case Guessing::kMixed:
        return random_() % 2 == 0 ? chosen : any;
      default:
        return static_cast<TokenId>(std::ranges::max_element(row) - row.begin());
    }
  }

  const DrawSetting& setting_;
  const std::shared_ptr<const SamplingParams> params_;
  std::array<std::vector<float>, kLetters> logits_;
  Sampler sampler_{kLetters, spoken_prompt.size() + kSpoken};
  SamplerScratch scratch_{kLetters};
  std::minstd_rand random_{9};
  std::array<TokenId, kSpoken> said_{};
  std::array<TokenId, kSpoken> guesses_{};
  std::size_t right_ = 0;
};

std::string name_of(const testing::TestParamInfo<DrawSetting>& info) { return info.param.name; }

/// Compares texts with their probabilities.
void expect_target(const std::vector<double>& probabilities, const std::vector<double>& seen) {
  for (std::size_t text = 0; text < kTexts; ++text) {
    if (probabilities[text] > 0) continue;
    EXPECT_EQ(seen[text], 0) << "a text taken out: " << text;
  }
  const ChiSquare found = chi_square(probabilities, seen);
  EXPECT_GT(found.cells, 20);
  EXPECT_LT(found.statistic, found.limit) << "with " << found.cells << " cells";
}

/// Some guesses of a text are right, and some are not.
void expect_some(std::size_t right) {
  constexpr std::size_t kMost = kSpeakers * (kSpoken - 1);
  EXPECT_GT(right, kMost / 20);
  EXPECT_LT(right, kMost * 19 / 20);
}

class VerifiedDraws : public testing::TestWithParam<DrawSetting> {};

TEST_P(VerifiedDraws, FollowTheTargetWhateverIsGuessed) {
  const std::vector<double> probabilities = Speaker(GetParam()).reference();
  std::vector<double> all(kTexts, 0);
  std::array<std::size_t, kGuessings.size()> right{};
  for (std::size_t i = 0; i < kGuessings.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "guesses of kind " << i);
    Speaker speaker(GetParam());
    const std::vector<double> seen = speaker.speak(kGuessings.at(i), i * kSpeakers);
    expect_target(probabilities, seen);
    std::ranges::transform(all, seen, all.begin(), std::plus());
    right.at(i) = speaker.right();
  }
  expect_target(probabilities, all);
  EXPECT_EQ(right[0], 0U);
  EXPECT_EQ(right[1], kSpeakers * (kSpoken - 1));
  EXPECT_EQ(right[2], 0U);
  expect_some(right[3]);
  expect_some(right[4]);
}

INSTANTIATE_TEST_SUITE_P(, VerifiedDraws, testing::ValuesIn(draw_settings()), name_of);

/// The test above would see a rule that takes more guesses than it should.
TEST(LossyDraws, DoNotFollowTheTargetButKeepItsPool) {
  DrawSetting setting{"lossy", {.top_p = 0.8F}};
  setting.params.guess_acceptance = GuessAcceptance::kLossyTop;
  Speaker speaker(setting);
  const std::vector<double> probabilities = speaker.reference();
  const std::vector<double> seen = speaker.speak(Guessing::kLikely, 0);
  for (std::size_t text = 0; text < kTexts; ++text) {
    if (probabilities[text] > 0) continue;
    EXPECT_EQ(seen[text], 0) << "a text taken out: " << text;
  }
  const ChiSquare found = chi_square(probabilities, seen);
  EXPECT_GT(found.statistic, 10 * found.limit);
}

constexpr std::size_t kPoolLetters = 8;
/// The samplers below leave tokens 0 to 3 or fewer.
const std::vector<float> pool_logits = {4, 3.5F, 3, 2, -4, -5, -6, -7};

std::vector<SamplingParams> pool_settings() {
  return {{.top_k = 4},
          {.top_p = 0.99F},
          {.min_p = 0.05F, .logprobs = true, .logprobs_after_samplers = true},
          {.tfs_z = 0.95F},
          {.typical_p = 0.99F},
          {.mirostat = {.version = 2, .tau = 2}},
          {.temperature = 1.2F, .top_k = 3, .logprobs = true}};
}

SampleOutcome chosen_with(const SamplingParams& params, TokenId guess, std::uint64_t seed) {
  SamplerScratch scratch(kPoolLetters);
  Sampler sampler = sampler_of(case_of(params), kPoolLetters, seed);
  std::vector<float> logits = pool_logits;
  SampleOutcome outcome = sampler.sample(logits, scratch, guess);
  outcome.top = {};
  return outcome;
}

TEST(LossyDraws, TakeAGuessThatCanBeDrawnAndDrawElse) {
  for (SamplingParams params : pool_settings()) {
    params.guess_acceptance = GuessAcceptance::kLossyTop;
    std::size_t taken = 0;
    std::vector<bool> is_drawn(kPoolLetters);
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      is_drawn[letter(chosen_with(params, kNoToken, seed).token)] = true;
    }
    for (TokenId guess = 0; letter(guess) < kPoolLetters; ++guess) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const TokenId alone = chosen_with(params, kNoToken, seed).token;
        const TokenId token = chosen_with(params, guess, seed).token;
        EXPECT_EQ(token, is_drawn[letter(guess)] ? guess : alone);
        taken += token != alone ? 1 : 0;
      }
    }
    EXPECT_GT(taken, 20U);
    EXPECT_FALSE(is_drawn[7]);
  }
}

TEST(LossyDraws, HaveTheLogprobAndTheSurpriseOfTheTokenThatIsTaken) {
  for (SamplingParams params : pool_settings()) {
    params.guess_acceptance = GuessAcceptance::kLossyTop;
    std::uint64_t seed = 0;
    while (chosen_with(params, kNoToken, seed).token != 1) ++seed;
    const SampleOutcome drawn = chosen_with(params, kNoToken, seed);
    while (chosen_with(params, kNoToken, seed).token == 1) ++seed;
    const SampleOutcome taken = chosen_with(params, 1, seed);
    EXPECT_EQ(taken.token, 1);
    EXPECT_EQ(taken.logprob, drawn.logprob);
    EXPECT_EQ(taken.mirostat_mu, drawn.mirostat_mu);
  }
}

TEST(LossyDraws, TakeNoGuessThatIsMasked) {
  SamplingParams params{.bad_tokens = {1}, .top_k = 4};
  params.guess_acceptance = GuessAcceptance::kLossyTop;
  EXPECT_NE(chosen_with(params, 1, 1).token, 1);
  params.constraint = std::make_shared<NotNext>();
  EXPECT_NE(chosen_with(params, 0, 1).token, 0);
  EXPECT_EQ(chosen_with(params, 2, 1).token, 2);
}

TEST(ExactDraws, DoNotLookAtTheGuess) {
  for (const SamplingParams& params : pool_settings()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      EXPECT_EQ(chosen_with(params, 2, seed).token, chosen_with(params, kNoToken, seed).token);
    }
  }
}

}  // namespace
}  // namespace weft::test
