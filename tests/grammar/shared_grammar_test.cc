// Sequences on several threads that one grammar holds for.

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "weft/grammar/engine/compiled_grammar.h"
#include "weft/tests/grammar/grammar_fixture.h"
#include "weft/tests/grammar/mask_fixture.h"

namespace weft::grammar {
namespace {

/// The tokens that a sequence chooses by chance, and how many were allowed each time.
std::vector<std::uint32_t> walked(const CompiledGrammar& grammar, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto state = grammar.begin();
  std::vector<std::uint32_t> seen;
  for (int step = 0; step < 20; ++step) {
    const std::set<TokenId> allowed = tokens_of(state->allowed());
    if (allowed.empty()) break;
    auto chosen = allowed.begin();
    std::advance(chosen, random() % allowed.size());
    seen.push_back(static_cast<std::uint32_t>(allowed.size()));
    seen.push_back(static_cast<std::uint32_t>(*chosen));
    state->advance({&*chosen, 1});
  }
  return seen;
}

TEST(SharedGrammarTest, SequencesOnSeveralThreadsSeeTheMasksThatEachSeesAlone) {
  const auto vocabulary = byte_vocabulary(random_words(400, 9));
  const auto grammar = schema_grammar(
      R"({"type":"object","additionalProperties":{"type":["string","array","number"]}})");
  const auto shared = *CompiledGrammar::make(*grammar, vocabulary);
  constexpr std::uint64_t kThreads = 4;
  std::vector<std::vector<std::uint32_t>> seen(2 * kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        // Each once beside another thread on the same way, and once on one of its own.
        seen[2 * i] = walked(*shared, i / 2);
        seen[2 * i + 1] = walked(*shared, 10 + i);
      });
    }
  }
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    const auto alone = *CompiledGrammar::make(*grammar, vocabulary);
    EXPECT_EQ(seen[2 * i], walked(*alone, i / 2));
    EXPECT_EQ(seen[2 * i + 1], walked(*alone, 10 + i));
  }
}

TEST(SharedGrammarTest, SequencesGoOnWhenAnotherThreadHasHadTheStatesDropped) {
  const auto grammar = regex_grammar("(ab?c?d?){0,100000}");
  const auto compiled = *CompiledGrammar::make(*grammar, byte_vocabulary());
  const std::size_t at_first = compiled->state_bytes();
  const auto go_on = [&] {
    const auto state = compiled->begin();
    for (int i = 0; i < 30'000; ++i) state->advance(std::vector<TokenId>{'a'});
    return tokens_of(state->allowed());
  };
  std::set<TokenId> other;
  std::jthread thread([&] { other = go_on(); });
  EXPECT_EQ(go_on(), (std::set<TokenId>{'a', 'b', 'c', 'd'}));
  thread.join();
  EXPECT_EQ(other, (std::set<TokenId>{'a', 'b', 'c', 'd'}));
  EXPECT_GT(compiled->state_bytes(), at_first);
}

}  // namespace
}  // namespace weft::grammar
