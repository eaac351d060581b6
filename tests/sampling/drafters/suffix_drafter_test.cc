#include "weft/sampling/drafters/suffix_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    guesses.resize(drafter_.guess(slot, guesses));
    return guesses;
  }

  SuffixDrafter drafter_{2, 100, 200};
};

TEST_F(SuffixDrafterTest, GuessesThatATextGoesOnAsItDidBefore) {
  drafter_.start(0, Tokens{1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_THAT(guess(4), IsEmpty()) << "nothing stood there before";
  drafter_.observe(0, Tokens{2, 3, 4});
  EXPECT_THAT(guess(2), ElementsAre(5, 6));
}

TEST_F(SuffixDrafterTest, GuessesNoMoreThanIsTheSameBefore) {
  drafter_.start(0, Tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 2, 3, 4});
  EXPECT_THAT(guess(8), ElementsAre(5, 6, 7));
}

TEST_F(SuffixDrafterTest, NeedsThreeTokensThatAreTheSame) {
  drafter_.start(0, Tokens{1, 2, 3, 4, 5, 6, 20, 3, 4});
  EXPECT_THAT(guess(8), IsEmpty());
}

TEST_F(SuffixDrafterTest, PrefersThePlaceBeforeWhichTheMostIsTheSame) {
  drafter_.start(0, Tokens{1, 2, 3, 50, 9, 2, 3, 60, 1, 2, 3});
  EXPECT_THAT(guess(1), ElementsAre(50)) << "the other place is newer";
}

TEST_F(SuffixDrafterTest, GuessesWhatCameMostOften) {
  drafter_.start(0, Tokens{7, 1, 2, 50, 7, 1, 2, 50, 7, 1, 2, 60, 70, 7, 1, 2});
  EXPECT_THAT(guess(1), ElementsAre(50)) << "and 60 once, later";
}

TEST_F(SuffixDrafterTest, StopsWherePlacesPart) {
  drafter_.start(0, Tokens{1, 2, 3, 9, 50, 20, 1, 2, 3, 9, 60, 21, 1, 2, 3, 9, 70, 22, 1, 2, 3});
  EXPECT_THAT(guess(8), ElementsAre(9)) << "three places name three tokens behind it";
}

TEST_F(SuffixDrafterTest, GuessesOnInWhatItGuessesWhereATextRepeatsItself) {
  drafter_.start(0, Tokens{5, 6, 7, 6, 7, 6, 7, 6, 7});
  EXPECT_THAT(guess(5), ElementsAre(6, 7, 6, 7, 6));
}

TEST_F(SuffixDrafterTest, NeedsLongerMatchesAfterWrongGuesses) {
  drafter_.start(0, Tokens{1, 2, 3, 4, 5, 6, 20, 2, 3, 4});
  EXPECT_THAT(guess(1), ElementsAre(5));
  drafter_.observe(0, Tokens{30, 2, 3, 4});
  EXPECT_THAT(guess(1), IsEmpty()) << "three that are the same were not enough";
  drafter_.observe(0, Tokens{31, 1, 2, 3, 4});
  EXPECT_THAT(guess(1), ElementsAre(5));
  drafter_.observe(0, Tokens{5, 40, 2, 3, 4});
  EXPECT_THAT(guess(1), testing::Not(IsEmpty())) << "it was right";
}

TEST_F(SuffixDrafterTest, KeepsSlotsApartAndCopiesThemWhereTheyFork) {
  drafter_.start(0, Tokens{1, 2, 5, 3, 4, 1, 2, 5});
  drafter_.start(1, Tokens{1, 2, 5, 9, 9, 1, 2, 5});
  EXPECT_THAT(guess(1, 0), ElementsAre(3));
  EXPECT_THAT(guess(1, 1), ElementsAre(9));
  drafter_.fork(0, 1);
  EXPECT_THAT(guess(2, 1), ElementsAre(3, 4));
  drafter_.start(0, {});
  EXPECT_THAT(guess(1, 0), IsEmpty());
  EXPECT_THAT(guess(1, 1), ElementsAre(3));
}

}  // namespace
}  // namespace weft
