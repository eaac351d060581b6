// Repetitions that count, within repetitions that count.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/grammar/engine/count_boxes.h"
#include "weft/grammar/engine/matcher.h"
#include "weft/tests/grammar/grammar_fixture.h"
#include "weft/tests/grammar/mask_fixture.h"

namespace weft::grammar {
namespace {

/// A regular expression of letters, sequences, alternatives and counted repetitions.
struct Pattern {
  enum class Kind : std::uint8_t { kLetter, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kLetter;
  char letter = 'a';
  int least = 0;
  int most = 0;  // below 0: any number
  std::vector<Pattern> parts{};

  [[nodiscard]] std::string text() const {
    if (kind == Kind::kLetter) return std::string(1, letter);
    if (kind == Kind::kRepeat) {
      const std::string end = most < 0 ? "" : std::to_string(most);
      return "(" + parts[0].text() + "){" + std::to_string(least) + "," + end + "}";
    }
    std::string all;
    for (const Pattern& part : parts) {
      if (!all.empty() && kind == Kind::kChoice) all += '|';
      all += "(" + part.text() + ")";
    }
    return all;
  }

  /// Returns the ends of its matches in a text that begin at one of these places, as bits.
  [[nodiscard]] std::uint32_t ends(const std::string& of, std::uint32_t begins) const {
    if (kind == Kind::kLetter) {
      std::uint32_t found = 0;
      for (std::size_t at = 0; at < of.size(); ++at) {
        if (of[at] == letter) found |= (begins & (1U << at)) << 1U;
      }
      return found;
    }
    std::uint32_t found = kind == Kind::kSequence ? begins : 0;
    if (kind == Kind::kRepeat) {
      const int last = most < 0 ? least + static_cast<int>(of.size()) : most;
      for (int times = 0; times <= last && begins != 0; ++times) {
        if (times > 0) begins = parts[0].ends(of, begins);
        if (times >= least) found |= begins;
      }
      return found;
    }
    for (const Pattern& part : parts) {
      found = kind == Kind::kSequence ? part.ends(of, found) : found | part.ends(of, begins);
    }
    return found;
  }
  [[nodiscard]] bool matches(const std::string& of) const {
    return (ends(of, 1) >> of.size() & 1U) != 0;
  }
};

Pattern random_pattern(std::mt19937_64& random, int depth) {
  Pattern pattern;
  if (depth == 0 || random() % 5 == 0) {
    pattern.letter = static_cast<char>('a' + random() % 2);
    return pattern;
  }
  pattern.kind = random() % 3 == 0   ? Pattern::Kind::kChoice
                 : random() % 3 == 0 ? Pattern::Kind::kSequence
                                     : Pattern::Kind::kRepeat;
  const bool repeats = pattern.kind == Pattern::Kind::kRepeat;
  const std::size_t parts = repeats ? 1 : 2;
  for (std::size_t i = 0; i < parts; ++i) {
    pattern.parts.push_back(random_pattern(random, depth - 1));
  }
  pattern.least = static_cast<int>(random() % 5);
  pattern.most =
      random() % 6 == 0 ? -1 : std::max(1, pattern.least) + static_cast<int>(random() % 5);
  return pattern;
}

std::vector<std::string> texts_of(std::size_t longest) {
  std::vector<std::string> texts = {""};
  for (std::size_t i = 0; texts[i].size() < longest; ++i) {
    texts.push_back(texts[i] + 'a');
    texts.push_back(texts[i] + 'b');
  }
  return texts;
}

TEST(CountedRepetitionTest, MatchesWhatASimpleMatcherMatches) {
  std::mt19937_64 random(11);
  const std::vector<std::string> texts = texts_of(9);
  std::size_t matched = 0;
  for (int round = 0; round < 150; ++round) {
    const Pattern pattern = random_pattern(random, 4);
    const auto grammar = regex_grammar(pattern.text());
    ASSERT_NE(grammar, nullptr) << pattern.text();
    const TokenTrie none(std::vector<std::string>{}, {});
    LazyAutomaton automaton(grammar->data(), none);
    Allowance allowance;
    std::vector<LazyAutomaton::State> states = {automaton.start(allowance)};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const bool matches = pattern.matches(texts[i]);
      matched += matches ? 1 : 0;
      ASSERT_EQ(automaton.accepts(states[i]), matches) << pattern.text() << " of " << texts[i];
      if (texts[i].size() == 9) continue;
      for (const char letter : {'a', 'b'}) {
        states.push_back(automaton.step(states[i], static_cast<std::uint8_t>(letter), allowance));
      }
    }
    // A text that has begun can be completed, and each continuation of a longer text was allowed.
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (automaton.accepts(states[i])) continue;
      const auto goes_on = [&](std::uint8_t letter) {
        return automaton.step(states[i], letter, allowance) != LazyAutomaton::kDead;
      };
      EXPECT_EQ(states[i] != LazyAutomaton::kDead, goes_on('a') || goes_on('b'))
          << pattern.text() << " after " << texts[i];
    }
  }
  EXPECT_GT(matched, 2'000U);
}

TEST(CountedRepetitionTest, MasksAllowTheTokensThatASimpleMatcherCanGoOnFrom) {
  std::vector<std::string> words;
  for (const std::string& text : texts_of(4)) {
    if (text.size() > 1) words.push_back(text);
  }
  const auto vocabulary = byte_vocabulary(words);
  const std::vector<std::string> texts = texts_of(10);
  std::mt19937_64 random(5);
  for (int round = 0; round < 40; ++round) {
    Pattern inner = random_pattern(random, 2);
    Pattern pattern{Pattern::Kind::kRepeat, 'a', 1, 3, {{Pattern::Kind::kSequence, 'a', 0, 0, {}}}};
    pattern.parts[0].parts = {Pattern{Pattern::Kind::kRepeat, 'a', 1, 2, {std::move(inner)}},
                              Pattern{Pattern::Kind::kRepeat, 'a', 0, 1, {Pattern{}}}};
    const auto grammar = regex_grammar(pattern.text());
    ASSERT_NE(grammar, nullptr);
    std::set<std::string> beginnings;
    for (const std::string& text : texts) {
      if (!pattern.matches(text)) continue;
      for (std::size_t i = 0; i <= text.size(); ++i) beginnings.insert(text.substr(0, i));
    }
    const auto compiled = *CompiledGrammar::make(*grammar, vocabulary);
    for (const std::string& text : texts_of(3)) {
      CompiledGrammar::Place place = compiled->start();
      for (const char c : text) compiled->advance(place, static_cast<TokenId>(c));
      bool may_end = false;
      const TokenMask& mask = compiled->mask(place, may_end);
      const std::set<TokenId> allowed = tokens_of({mask.bits, mask.tokens, may_end, mask.count});
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (!beginnings.contains(text + words[i])) continue;
        EXPECT_TRUE(allowed.contains(static_cast<TokenId>(256 + i)))
            << pattern.text() << ": " << words[i] << " after " << text;
      }
    }
  }
}

/// A pattern like `(x{1,INNER}y?){1,OUTER}`: x matches `letter`, y is `separator`.
struct Nested {
  std::string pattern;
  char letter;
  char separator;
  int inner;
  int outer;
};

std::vector<Nested> nested_patterns() {
  return {{"([^\\n]{1,80}\\n?){1,60}", 'a', '\n', 80, 60},
          {"([^,]{1,40},?){1,30}", 'z', ',', 40, 30},
          {"([^,]{20,40},?){10,30}", 'z', ',', 40, 30},
          {"([^,]{0,40},?){1,30}", 'z', ',', 40, 30},
          {"(([^,]{1,40},?){1,6};?){1,5}", 'z', ',', 40, 30}};
}

TEST(CountedRepetitionTest, NestedCountsStayFewAtEveryStepOfTheLongestText) {
  const auto vocabulary = byte_vocabulary();
  for (const Nested& one : nested_patterns()) {
    const auto grammar = regex_grammar(one.pattern);
    ASSERT_NE(grammar, nullptr);
    LazyAutomaton automaton(grammar->data(), *vocabulary);
    Allowance allowance;
    LazyAutomaton::State state = automaton.start(allowance);
    std::size_t most = 0;
    for (int i = 0; i < one.inner * one.outer; ++i) {
      allowance = {};
      state = automaton.step(state, static_cast<std::uint8_t>(one.letter), allowance);
      ASSERT_NE(state, LazyAutomaton::kDead) << one.pattern << " after " << i;
      most = std::max(most, defaults::kMaxWork - allowance.work);
    }
    EXPECT_TRUE(automaton.accepts(state)) << one.pattern;
    EXPECT_LT(most, 10'000U) << one.pattern;
    allowance = {};
    EXPECT_EQ(automaton.step(state, static_cast<std::uint8_t>(one.letter), allowance),
              LazyAutomaton::kDead)
        << one.pattern;
  }
}

TEST(CountedRepetitionTest, NestedCountsAllowEveryTextOfThePatternAtEveryStep) {
  const auto vocabulary = byte_vocabulary(random_words(300, 4));
  std::mt19937_64 random(8);
  for (const Nested& one : nested_patterns()) {
    const auto grammar = regex_grammar(one.pattern);
    const auto compiled = CompiledGrammar::make(*grammar, vocabulary);
    ASSERT_TRUE(compiled) << one.pattern;
    const auto state = (*compiled)->begin();
    for (int line = 0; line < 12; ++line) {
      std::string text(20 + random() % static_cast<std::size_t>(one.inner - 19), one.letter);
      if (random() % 3 != 0) text += one.separator;
      for (const char c : text) {
        const AllowedTokens allowed = state->allowed();
        const std::set<TokenId> tokens = tokens_of(allowed);
        ASSERT_TRUE(tokens.contains(static_cast<TokenId>(c))) << one.pattern << " line " << line;
        state->advance(std::vector<TokenId>{static_cast<TokenId>(c)});
      }
    }
    EXPECT_TRUE(state->allowed().may_end) << one.pattern;
  }
}

TEST(CountedRepetitionTest, ManyNestedChoicesAreOpenAtOnce) {
  constexpr int kChoices = 1'200;
  std::string text = "root ::= (r0 \" \")*\n";
  for (int i = 0; i < kChoices; ++i) {
    const std::string number = std::to_string(i);
    text += "r" + number + " ::= \"";
    text += static_cast<char>('a' + i % 26);
    text += number + "\"";
    if (i + 1 < kChoices) text += " | r" + std::to_string(i + 1);
    text += "\n";
  }
  const auto grammar =
      grammar_of([&](GrammarBuilder& builder) { return builder.grammar_text(text); });
  ASSERT_NE(grammar, nullptr);
  const auto compiled = CompiledGrammar::make(*grammar, byte_vocabulary(random_words(300, 4)));
  ASSERT_TRUE(compiled);
  const auto state = (*compiled)->begin();
  for (const int choice : {0, 3, 1'199, 640, 26}) {
    std::string word(1, static_cast<char>('a' + choice % 26));
    word += std::to_string(choice) + " ";
    for (const char c : word) {
      ASSERT_TRUE(tokens_of(state->allowed()).contains(static_cast<TokenId>(c))) << word;
      state->advance(std::vector<TokenId>{static_cast<TokenId>(c)});
    }
  }
  EXPECT_TRUE(state->allowed().may_end);
}

/// The points of a small space that boxes cover.
std::set<std::vector<std::uint32_t>> points_of(const CountBoxes& boxes) {
  constexpr std::uint32_t kSide = 7;
  std::set<std::vector<std::uint32_t>> points;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const CountRange* const box = boxes.box(i);
    for (std::uint32_t point = 0; point < kSide * kSide * kSide; ++point) {
      const std::vector<std::uint32_t> at = {point % kSide, point / kSide % kSide,
                                             point / kSide / kSide};
      bool inside = true;
      for (std::size_t d = 0; d < 3; ++d) {
        inside = inside && at[d] >= box[d].least && at[d] <= box[d].most;
      }
      if (inside) points.insert(at);
    }
  }
  return points;
}

TEST(CountBoxesTest, MergingKeepsTheUnionInAnyOrder) {
  std::mt19937_64 random(2);
  bool some_merged = false;
  for (int round = 0; round < 300; ++round) {
    CountBoxes boxes{3, {}};
    std::set<std::vector<CountRange>> all;
    for (std::size_t i = 0; i < 1 + random() % 9; ++i) {
      std::vector<CountRange> box;
      for (int d = 0; d < 3; ++d) {
        const auto least = static_cast<std::uint32_t>(random() % 5);
        const bool has_end = random() % 6 != 0;
        box.push_back(
            {least, has_end ? least + static_cast<std::uint32_t>(random() % 3) : kNoBound});
      }
      all.insert(box);
    }
    CountBoxes backwards{3, {}};
    for (const auto& box : all) {
      boxes.ranges.insert(boxes.ranges.end(), box.begin(), box.end());
      backwards.ranges.insert(backwards.ranges.begin(), box.begin(), box.end());
    }
    const auto points = points_of(boxes);
    const std::size_t before = boxes.size();
    const bool fewer = merge_boxes(boxes);
    EXPECT_EQ(fewer, boxes.size() < before);
    static_cast<void>(merge_boxes(backwards));
    EXPECT_EQ(points_of(boxes), points);
    EXPECT_EQ(boxes.ranges, backwards.ranges);
    some_merged = some_merged || boxes.size() < before;
  }
  EXPECT_TRUE(some_merged);
}

TEST(CountBoxesTest, BoxesThatAdjoinOrLieWithinAnotherBecomeOne) {
  CountBoxes adjoining{1, {{4, 6}, {0, 1}, {2, 3}}};
  EXPECT_TRUE(merge_boxes(adjoining));
  EXPECT_EQ(adjoining.ranges, (std::vector<CountRange>{{0, 6}}));
  CountBoxes apart{1, {{3, 4}, {0, 1}}};
  EXPECT_FALSE(merge_boxes(apart));
  EXPECT_EQ(apart.size(), 2U);
  CountBoxes within{2, {{0, 79}, {0, 59}, {0, 77}, {0, 58}, {0, 80}, {0, 57}}};
  EXPECT_TRUE(merge_boxes(within));
  EXPECT_EQ(within.size(), 2U);
}

}  // namespace
}  // namespace weft::grammar
