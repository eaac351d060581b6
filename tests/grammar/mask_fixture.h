#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/sampling/token_constraint.h"

namespace weft::grammar {

/// The tokens of a mask, which are as many as it says.
inline std::set<TokenId> tokens_of(const AllowedTokens& allowed) {
  std::set<TokenId> tokens(allowed.tokens.begin(), allowed.tokens.end());
  for (std::size_t i = 0; i < allowed.bits.size() * 32; ++i) {
    if ((allowed.bits[i / 32] >> (i % 32) & 1U) != 0) tokens.insert(static_cast<TokenId>(i));
  }
  EXPECT_EQ(tokens.size(), allowed.count);
  return tokens;
}

/// Words such as a vocabulary of code and text has: with quotes, brackets, broken characters.
inline std::vector<std::string> random_words(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<std::string> pieces = {"a",  "b",  "z",  "1",  "0",  "\"", "\\", "{",    "}",
                                           "[",  "]",  ":",  ",",  " ",  "\n", "é",  "\xc3", "\x9f",
                                           "名", "tr", "ue", "nu", "ll", ".",  "-",  "e",    "/"};
  std::set<std::string> words;
  while (words.size() < count) {
    std::string word;
    const std::size_t size = 2 + random() % (random() % 8 == 0 ? 40 : 5);
    for (std::size_t i = 0; i < size; ++i) word += pieces[random() % pieces.size()];
    words.insert(word);
  }
  return {words.begin(), words.end()};
}

}  // namespace weft::grammar
