#include "weft/sampling/token_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "weft/tests/sampling/reference_sampler.h"

namespace weft::sampling {
namespace {

void expect_counts(const TokenHistory& history, const std::vector<TokenId>& tokens,
                   std::size_t prompt, std::size_t window) {
  ASSERT_TRUE(std::ranges::equal(history.tokens(), tokens));
  const std::size_t begin = window == 0 || window > tokens.size() ? 0 : tokens.size() - window;
  std::map<TokenId, TokenCount> want;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    TokenCount& count = want[tokens[i]];
    ++count.total;
    count.in_window += i >= begin ? 1 : 0;
    count.output_in_window += i >= begin && i >= prompt ? 1 : 0;
    const auto before =
        std::find(tokens.rend() - static_cast<std::ptrdiff_t>(i), tokens.rend(), tokens[i]);
    const auto place = before == tokens.rend() ? -1 : tokens.rend() - before - 1;
    ASSERT_EQ(history.previous(i), place);
  }
  ASSERT_EQ(history.counts().size(), want.size());
  for (const TokenCount& got : history.counts()) {
    ASSERT_EQ(got.total, want[got.token].total);
    ASSERT_EQ(got.in_window, want[got.token].in_window);
    ASSERT_EQ(got.output_in_window, want[got.token].output_in_window);
    ASSERT_EQ(history.find(got.token), &got);
  }
}

TEST(TokenHistoryTest, CountsAreThoseOfReadingTheTextAgain) {
  std::minstd_rand random(4);
  TokenHistory history(1000, 300);
  TokenHistory copy(1000, 300);
  for (const std::size_t window : {0U, 1U, 7U, 500U}) {
    for (const std::size_t vocabulary : {1U, 5U, 1000U}) {
      const auto tokens = test::random_tokens(300, vocabulary, random);
      history.clear(40, window);
      EXPECT_EQ(history.find(tokens[0]), nullptr);
      std::vector<TokenId> so_far;
      for (const TokenId token : tokens) {
        history.push(token);
        so_far.push_back(token);
        if (so_far.size() % 37 == 0) expect_counts(history, so_far, 40, window);
      }
      expect_counts(history, so_far, 40, window);
      copy.copy(history);
      expect_counts(copy, so_far, 40, window);
    }
  }
}

TEST(TokenHistoryTest, ACopyGoesOnByItself) {
  TokenHistory history(10, 10);
  TokenHistory copy(10, 10);
  history.clear(0, 2);
  history.push(1);
  history.push(2);
  copy.push(7);
  copy.copy(history);
  history.push(3);
  copy.push(4);
  expect_counts(history, {1, 2, 3}, 0, 2);
  expect_counts(copy, {1, 2, 4}, 0, 2);
}

}  // namespace
}  // namespace weft::sampling
