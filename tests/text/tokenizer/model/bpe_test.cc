#include "weft/text/tokenizer/model/bpe.h"

#include <gtest/gtest.h>

#include <random>

namespace weft {
namespace {

/// Letters a-d and all pairs of shorter tokens up to some length, in random order of rank.
struct RandomRules {
  std::shared_ptr<TokenTable> tokens = std::make_shared<TokenTable>();
  BpeMerges merges;

  explicit RandomRules(std::mt19937& random) {
    for (const char* letter : {"a", "b", "c", "d"}) tokens->add(letter);
    for (std::uint32_t rank = 0; rank < 60; ++rank) {
      const auto left = static_cast<TokenId>(random() % tokens->size());
      const auto right = static_cast<TokenId>(random() % tokens->size());
      const std::string text = std::string(tokens->text(left)).append(tokens->text(right));
      if (tokens->find(text) == kNoToken) tokens->add(text);
      merges.add(left, right, {rank, tokens->find(text)}, false);
    }
  }
};

/// The definition, step by step: find the best pair, merge it, start again.
std::vector<TokenId> naive(const RandomRules& rules, std::string_view word) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < word.size(); ++i)
    ids.push_back(rules.tokens->find(word.substr(i, 1)));
  for (;;) {
    BpeMerges::Rule best;
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const BpeMerges::Rule rule = rules.merges.find(ids[i], ids[i + 1]);
      if (rule.rank < best.rank) {
        best = rule;
        place = i;
      }
    }
    if (best.rank == BpeMerges::kNoRank) return ids;
    ids[place] = best.merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

TEST(BpeTest, MergesShortAndLongWordsAsTheDefinitionDoes) {
  std::mt19937 random(41);
  for (int round = 0; round < 60; ++round) {
    const RandomRules rules(random);
    const Bpe bpe(rules.tokens, std::vector<bool>(rules.tokens->size(), true), {}, rules.merges);
    EncodeScratch scratch;
    for (const std::size_t size : {1U, 2U, 7U, 33U, 34U, 35U, 40U, 41U, 42U, 100U, 400U}) {
      std::string word;
      for (std::size_t i = 0; i < size; ++i) word += static_cast<char>('a' + random() % 4);
      const std::vector<TokenId> wanted = naive(rules, word);
      for (int again = 0; again < 2; ++again) {  // first computed, then perhaps remembered
        std::vector<TokenId> ids;
        bpe.encode(word, scratch, ids);
        EXPECT_EQ(ids, wanted) << word;
      }
    }
  }
}

TEST(BpeTest, CutsAtMarksOnlyWhereNoRuleMergesAcross) {
  auto tokens = std::make_shared<TokenTable>();
  for (const char* text : {"\u2581", "a", "b", "\u2581a", "\u2581\u2581", "a\u2581", "ab"}) {
    tokens->add(text);
  }
  BpeMerges merges;
  merges.add(1, 0, {0, 5}, false);  // "a" and a mark after it
  merges.add(0, 1, {1, 3}, false);
  Bpe bpe(tokens, std::vector<bool>(7, true), {}, merges);
  bpe.cut_before(0x2581);
  EncodeScratch scratch;
  std::vector<TokenId> ids;
  bpe.encode("\u2581a\u2581a", scratch, ids);
  EXPECT_EQ(ids, (std::vector<TokenId>{0, 5, 1}));
}

}  // namespace
}  // namespace weft
