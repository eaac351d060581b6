#include "weft/sampling/drafters/suffix_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Tokens = std::vector<TokenId>;

class SuffixDrafterTest : public testing::Test {
 protected:
  Tokens guess(std::size_t most, std::int32_t slot = 0) {
    Tokens guesses(most);
    const Draft draft = drafter_.guess(slot, guesses);
    source_ = draft.source;
    guesses.resize(draft.count);
    return guesses;
  }
  /// Begins a sequence of which all tokens so far are its prompt.
  void start(std::int32_t slot, const Tokens& tokens) {
    drafter_.start(slot, tokens, tokens.size(), {});
  }
  /// Begins a sequence of a request that predicts its output.
  void start_predicted(const Tokens& prompt, const Tokens& prediction) {
    prediction_ = std::make_shared<const DraftText>(prediction, kVocabulary);
    drafter_.start(0, prompt, prompt.size(), {prediction_});
  }

  static constexpr std::size_t kVocabulary = 100;

  SuffixDrafter drafter_{2, kVocabulary, 200};
  std::shared_ptr<const DraftText> prediction_;
  GuessSource source_ = GuessSource::kOwn;
};

TEST_F(SuffixDrafterTest, GuessesThatATextGoesOnAsItDidBefore) {
  start(0, Tokens{1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_THAT(guess(4), IsEmpty()) << "nothing stood there before";
  drafter_.observe(0, Tokens{2, 3, 4});
  EXPECT_THAT(guess(2), ElementsAre(5, 6));
}

TEST_F(SuffixDrafterTest, GuessesNoMoreThanIsTheSameBefore) {
  start(0, Tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 2, 3, 4});
  EXPECT_THAT(guess(8), ElementsAre(5, 6, 7));
}

TEST_F(SuffixDrafterTest, NeedsThreeTokensThatAreTheSame) {
  start(0, Tokens{1, 2, 3, 4, 5, 6, 20, 3, 4});
  EXPECT_THAT(guess(8), IsEmpty());
}

TEST_F(SuffixDrafterTest, PrefersThePlaceBeforeWhichTheMostIsTheSame) {
  start(0, Tokens{1, 2, 3, 50, 9, 2, 3, 60, 1, 2, 3});
  EXPECT_THAT(guess(1), ElementsAre(50)) << "the other place is newer";
}

TEST_F(SuffixDrafterTest, GuessesWhatCameMostOften) {
  start(0, Tokens{7, 1, 2, 50, 7, 1, 2, 50, 7, 1, 2, 60, 70, 7, 1, 2});
  EXPECT_THAT(guess(1), ElementsAre(50)) << "and 60 once, later";
}

TEST_F(SuffixDrafterTest, StopsWherePlacesPart) {
  start(0, Tokens{1, 2, 3, 9, 50, 20, 1, 2, 3, 9, 60, 21, 1, 2, 3, 9, 70, 22, 1, 2, 3});
  EXPECT_THAT(guess(8), ElementsAre(9)) << "three places name three tokens behind it";
}

TEST_F(SuffixDrafterTest, GuessesOnInWhatItGuessesWhereATextRepeatsItself) {
  start(0, Tokens{5, 6, 7, 6, 7, 6, 7, 6, 7});
  EXPECT_THAT(guess(5), ElementsAre(6, 7, 6, 7, 6));
}

TEST_F(SuffixDrafterTest, NeedsLongerMatchesAfterWrongGuesses) {
  start(0, Tokens{1, 2, 3, 4, 5, 6, 20, 2, 3, 4});
  EXPECT_THAT(guess(1), ElementsAre(5));
  drafter_.observe(0, Tokens{30, 2, 3, 4});
  EXPECT_THAT(guess(1), IsEmpty()) << "three that are the same were not enough";
  drafter_.observe(0, Tokens{31, 1, 2, 3, 4});
  EXPECT_THAT(guess(1), ElementsAre(5));
  drafter_.observe(0, Tokens{5, 40, 2, 3, 4});
  EXPECT_THAT(guess(1), testing::Not(IsEmpty())) << "it was right";
}

TEST_F(SuffixDrafterTest, KeepsSlotsApartAndCopiesThemWhereTheyFork) {
  start(0, Tokens{1, 2, 5, 3, 4, 1, 2, 5});
  start(1, Tokens{1, 2, 5, 9, 9, 1, 2, 5});
  EXPECT_THAT(guess(1, 0), ElementsAre(3));
  EXPECT_THAT(guess(1, 1), ElementsAre(9));
  drafter_.fork(0, 1);
  EXPECT_THAT(guess(2, 1), ElementsAre(3, 4));
  start(0, {});
  EXPECT_THAT(guess(1, 0), IsEmpty());
  EXPECT_THAT(guess(1, 1), ElementsAre(3));
}

TEST_F(SuffixDrafterTest, GuessesAWholePredictionFromItsFirstTokenOn) {
  start_predicted({1, 2, 3}, {40, 41, 42, 43, 44, 45, 46});
  EXPECT_THAT(guess(8), IsEmpty()) << "no token of the output is known";
  drafter_.observe(0, Tokens{40});
  EXPECT_THAT(guess(4), ElementsAre(41, 42, 43, 44));
  EXPECT_EQ(source_, GuessSource::kPrediction);
  drafter_.observe(0, Tokens{41, 42, 43, 44, 45});
  EXPECT_THAT(guess(4), ElementsAre(46)) << "the prediction ends there";
}

TEST_F(SuffixDrafterTest, FindsItsWayBackIntoAPrediction) {
  start_predicted({1}, {40, 41, 42, 43, 44, 45, 46, 47});
  drafter_.observe(0, Tokens{40, 41, 90, 43, 44});
  EXPECT_THAT(guess(4), IsEmpty()) << "two tokens are the same";
  drafter_.observe(0, Tokens{45});
  EXPECT_THAT(guess(4), ElementsAre(46, 47));
}

TEST_F(SuffixDrafterTest, DoesNotTakeAPromptForAPrediction) {
  start_predicted({40, 41, 42}, {40, 41, 42, 43, 44, 45});
  EXPECT_THAT(guess(4), IsEmpty());
  drafter_.observe(0, Tokens{43});
  EXPECT_THAT(guess(4), IsEmpty()) << "one token of output is the same, and not the first";
}

TEST_F(SuffixDrafterTest, TakesTheLongerMatchOfPredictionAndSequence) {
  const Tokens said = {10, 11, 12, 13, 14, 50, 51};
  start_predicted(said, {11, 12, 13, 14, 60, 61});
  drafter_.observe(0, Tokens{99, 12, 13, 14});
  EXPECT_THAT(guess(1), ElementsAre(60)) << "as long as the sequence's own";
  EXPECT_EQ(source_, GuessSource::kPrediction);
  start_predicted({20, 11, 12, 13, 50, 51}, {99, 11, 12, 13, 60});
  drafter_.observe(0, Tokens{20, 11, 12, 13});
  EXPECT_THAT(guess(1), ElementsAre(50)) << "one token more is the same";
  EXPECT_EQ(source_, GuessSource::kOwn);
}

TEST_F(SuffixDrafterTest, LooksIntoRecentOutputsForALongerMatchThanItsOwn) {
  const auto text = [](const Tokens& tokens) {
    return std::make_shared<const DraftText>(tokens, kVocabulary);
  };
  const auto recent = std::make_shared<const DraftTexts>(DraftTexts{
      text({90, 11, 12, 13, 60, 61}), text({91, 10, 11, 12, 13, 70, 71, 72, 73, 74, 75})});
  drafter_.start(0, Tokens{5, 10, 11, 12}, 4, {.recent = recent});
  EXPECT_THAT(guess(8), ElementsAre(13, 70, 71)) << "three tokens are the same, in one of them";
  EXPECT_EQ(source_, GuessSource::kRecent);
  drafter_.observe(0, Tokens{13});
  EXPECT_THAT(guess(2), ElementsAre(70, 71)) << "the newer text has three tokens, the other four";
  drafter_.start(0, Tokens{11, 12, 13, 50, 51, 11, 12, 13}, 8, {.recent = recent});
  EXPECT_THAT(guess(2), ElementsAre(50, 51)) << "as long in the sequence itself";
  EXPECT_EQ(source_, GuessSource::kOwn);
}

TEST_F(SuffixDrafterTest, ForksWithThePrediction) {
  start_predicted({1}, {40, 41, 42});
  drafter_.fork(0, 1);
  drafter_.observe(1, Tokens{40});
  EXPECT_THAT(guess(2, 1), ElementsAre(41, 42));
  start(1, {1});
  drafter_.observe(1, Tokens{40});
  EXPECT_THAT(guess(2, 1), IsEmpty()) << "the next sequence in the slot predicts nothing";
}

TEST_F(SuffixDrafterTest, APredictionGoesWithItsRequest) {
  start_predicted({1}, {40, 41, 42});
  drafter_.observe(0, Tokens{40});
  prediction_.reset();
  EXPECT_THAT(guess(2), IsEmpty());
}

TEST_F(SuffixDrafterTest, APredictionHasNoTokensOutsideOfTheVocabulary) {
  start_predicted({1}, {40, 100, -1, 41});
  drafter_.observe(0, Tokens{40});
  EXPECT_THAT(guess(4), ElementsAre(41));
}

}  // namespace
}  // namespace weft
