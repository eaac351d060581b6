#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <limits>

#include "weft/core/text/utf8.h"
#include "weft/tests/text/json_data.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/byte_alphabet.h"
#include "weft/text/tokenizer/gguf/gguf_patterns.h"
#include "weft/text/tokenizer/split/regex.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

using Model = Vocabulary::Model;
using TokenType = Vocabulary::TokenType;

constexpr EncodeOptions kTypedText{.add_special = false, .parse_special = false};

std::vector<TokenId> encode_with(const Tokenizer& tokenizer, std::string_view text,
                                 EncodeOptions options = kTypedText) {
  std::vector<TokenId> ids;
  EXPECT_TRUE(tokenizer.encode(text, options, ids));
  return ids;
}

std::vector<std::string> tokens_of(const Tokenizer& tokenizer, std::string_view text,
                                   EncodeOptions options = kTypedText) {
  std::vector<std::string> tokens;
  for (const TokenId id : encode_with(tokenizer, text, options)) {
    tokens.emplace_back(*tokenizer.token(id));
  }
  return tokens;
}

using TokenTexts = std::vector<std::string>;

void add(Vocabulary& vocabulary, std::string text, float score, TokenType type) {
  vocabulary.tokens.push_back(std::move(text));
  vocabulary.scores.push_back(score);
  vocabulary.types.push_back(type);
}

Vocabulary sentencepiece() {
  Vocabulary v;
  v.model = Model::kSentencePieceBpe;
  add(v, "<unk>", 0, TokenType::kUnknown);
  add(v, "<s>", 0, TokenType::kControl);
  add(v, "</s>", 0, TokenType::kControl);
  for (unsigned byte = 0; byte < 256; ++byte) {
    add(v, byte_token(static_cast<unsigned char>(byte)), 0, TokenType::kByte);
  }
  float score = -1;
  for (const char* text : {"\u2581the", "th", "he", "\u2581t", "\u2581", "t", "h", "e", "s", "<",
                           ">", "</", "s>", "zy", "\u2581\u2581"}) {
    add(v, text, score--, TokenType::kNormal);
  }
  add(v, "[x]", 0, TokenType::kUserDefined);
  v.special.unknown = 0;
  v.special.bos = 1;
  v.special.eos = 2;
  v.add_bos = true;
  return v;
}

Vocabulary byte_level() {
  Vocabulary v;
  v.model = Model::kByteLevelBpe;
  v.pre = "gpt-2";
  for (unsigned byte = 0; byte < 256; ++byte) {
    v.tokens.push_back(to_utf8(byte_to_character(static_cast<unsigned char>(byte))));
    v.types.push_back(TokenType::kNormal);
  }
  for (const char* text : {"th", "the", "\u0120the", "12"}) {
    v.tokens.emplace_back(text);
    v.types.push_back(TokenType::kNormal);
  }
  v.tokens.emplace_back("<|im_end|>");
  v.types.push_back(TokenType::kControl);
  v.tokens.emplace_back("{tool}");
  v.types.push_back(TokenType::kUserDefined);
  v.merges = {"t h", "th e", "\u0120 the", "1 2"};
  v.special.eos = 260;
  return v;
}

Vocabulary wordpiece() {
  Vocabulary v;
  v.model = Model::kWordPiece;
  v.tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581un", "able", "\u2581the", "s", "\u2581."};
  v.special.padding = 0;
  v.special.unknown = 1;
  v.special.classifier = 2;
  v.special.separator = 3;
  return v;
}

Tokenizer make(const Vocabulary& vocabulary) {
  Result<Tokenizer> made = Tokenizer::from_vocabulary(vocabulary, "v.gguf");
  EXPECT_TRUE(made) << to_string(made.error());
  return *made;
}

void expect_vocabulary_refused(const Vocabulary& vocabulary, std::string_view what) {
  const Result<Tokenizer> made = Tokenizer::from_vocabulary(vocabulary, "v.gguf");
  ASSERT_FALSE(made) << what;
  EXPECT_EQ(made.error().code, TextErrc::kBadTokenizer);
  EXPECT_NE(made.error().detail.find(what), std::string::npos) << made.error().detail;
}

TEST(TokenizerVocabularyTest, MergesSentencePiecesByTheirScores) {
  const Tokenizer tokenizer = make(sentencepiece());
  // "th" is better than "\u2581t" and goes first; then nothing makes "\u2581the" of the rest.
  EXPECT_EQ(tokens_of(tokenizer, "the"), (TokenTexts{"\u2581", "th", "e"}));
  EXPECT_EQ(tokens_of(tokenizer, "  t"), (TokenTexts{"\u2581\u2581", "\u2581t"}));
  EXPECT_EQ(*tokenizer.decode(encode_with(tokenizer, "the the"), true), "the the");
}

/// The tables of tests/text/data/gemma4.json, as a GGUF file has them.
Vocabulary lines(const boost::json::value& data) {
  Vocabulary v;
  v.model = Model::kLineBpe;
  v.tokens = test::texts_of(data.at("tokens"));
  v.merges = test::texts_of(data.at("merges"));
  v.scores.assign(v.tokens.size(), -1000);
  for (const std::string& token : v.tokens) {
    v.types.push_back(token == "<unk>" ? TokenType::kUnknown
                      : token == "<|channel>" || token == "<|tool_response>"
                          ? TokenType::kUserDefined
                      : token == "<bos>" || token == "<turn|>" ? TokenType::kControl
                      : parse_byte_token(token)                ? TokenType::kByte
                                                               : TokenType::kNormal);
  }
  v.special.unknown = 0;
  v.special.bos = 1;
  v.add_bos = true;
  v.add_space_prefix = false;
  return v;
}

TEST(TokenizerVocabularyTest, MergesTheCharactersOfALineInTheirOrder) {
  const boost::json::value data = test::read_test_data("gemma4.json");
  const Tokenizer tokenizer = make(lines(data));
  ASSERT_GE(data.at("cases").as_array().size(), 12U);
  for (const boost::json::value& one : data.at("cases").as_array()) {
    const std::string text = test::text_of(one.at("text"));
    const std::vector<TokenId> ids = encode_with(tokenizer, text);
    EXPECT_EQ(ids, test::ids_of(one.at("ids"))) << text;
    EXPECT_EQ(*tokenizer.decode(ids, false), text);
  }
}

TEST(TokenizerVocabularyTest, ARunOfLineBreaksThatIsATokenIsNotMerged) {
  Vocabulary vocabulary = lines(test::read_test_data("gemma4.json"));
  vocabulary.tokens.emplace_back("\n\n\n\n\n");  // no merge makes this token
  vocabulary.types.push_back(TokenType::kNormal);
  vocabulary.scores.push_back(0);
  const Tokenizer tokenizer = make(vocabulary);
  EXPECT_EQ(tokens_of(tokenizer, "a\n\n\n\n\na"), (TokenTexts{"a", "\n\n\n\n\n", "a"}));
  EXPECT_EQ(tokens_of(tokenizer, "\n\n\n\n"), (TokenTexts{"\n\n", "\n\n"}));
}

TEST(TokenizerVocabularyTest, Gemma4EndsByItsTurnsAndBeforeWhatAToolReturns) {
  const Tokenizer tokenizer = make(lines(test::read_test_data("gemma4.json")));
  const auto ends = tokenizer.end_tokens();
  EXPECT_THAT(std::vector(ends.begin(), ends.end()),
              testing::UnorderedElementsAre(tokenizer.id_of("<turn|>"),
                                            tokenizer.id_of("<|tool_response>")));
  EXPECT_EQ(tokens_of(tokenizer, "a<|channel>", {.add_special = true, .parse_special = true}),
            (TokenTexts{"<bos>", "a", "<|channel>"}));
}

TEST(TokenizerVocabularyTest, FallsBackToBytesForCharactersThatAreNoTokens) {
  const Tokenizer tokenizer = make(sentencepiece());
  EXPECT_EQ(tokens_of(tokenizer, "t\u20AC"), (TokenTexts{"\u2581t", "<0xE2>", "<0x82>", "<0xAC>"}));
  // "z" and "y" are parts of a token, though no tokens.
  EXPECT_EQ(tokens_of(tokenizer, "zy"), (TokenTexts{"\u2581", "zy"}));
  EXPECT_EQ(tokens_of(tokenizer, "yz"), (TokenTexts{"\u2581", "<0x79>", "<0x7A>"}));
  EXPECT_EQ(*tokenizer.decode(encode_with(tokenizer, "yz\u20ACzy"), true), "yz\u20ACzy");
}

TEST(TokenizerVocabularyTest, NeverMergesTextIntoControlTokens) {
  const Tokenizer tokenizer = make(sentencepiece());
  EXPECT_EQ(tokens_of(tokenizer, "</s>"), (TokenTexts{"\u2581", "</", "s>"}));
  EXPECT_EQ(tokens_of(tokenizer, "</s>", {.add_special = true, .parse_special = true}),
            (TokenTexts{"<s>", "</s>"}));
}

TEST(TokenizerVocabularyTest, FindsUserDefinedTokensAlways) {
  EXPECT_EQ(tokens_of(make(sentencepiece()), "t[x]t"), (TokenTexts{"\u2581t", "[x]", "\u2581t"}));
  EXPECT_EQ(tokens_of(make(byte_level()), "a{tool}b"), (TokenTexts{"a", "{tool}", "b"}));
}

TEST(TokenizerVocabularyTest, PutsASpaceInFrontOnlyWhenAsked) {
  Vocabulary vocabulary = sentencepiece();
  vocabulary.add_space_prefix = false;
  const Tokenizer tokenizer = make(vocabulary);
  EXPECT_EQ(tokens_of(tokenizer, "t t"), (TokenTexts{"t", "\u2581t"}));
  EXPECT_EQ(*tokenizer.decode(encode_with(tokenizer, " t"), true), " t");
}

TEST(TokenizerVocabularyTest, ReadsTablesWithoutTypes) {
  Vocabulary vocabulary = sentencepiece();
  vocabulary.types.clear();
  const Tokenizer tokenizer = make(vocabulary);
  EXPECT_EQ(tokens_of(tokenizer, "t\u20AC"), (TokenTexts{"\u2581t", "<0xE2>", "<0x82>", "<0xAC>"}));
  EXPECT_EQ(tokens_of(tokenizer, "</s>"), (TokenTexts{"\u2581", "</", "s>"}));
}

TEST(TokenizerVocabularyTest, StripsSpaceAfterTheTokensOfPhi3) {
  Vocabulary vocabulary = sentencepiece();
  constexpr EncodeOptions kTemplate{.add_special = false, .parse_special = true};
  EXPECT_EQ(tokens_of(make(vocabulary), "</s> t", kTemplate),
            (TokenTexts{"</s>", "\u2581", "\u2581t"}));
  vocabulary.model_name = "Phi-3 mini";
  EXPECT_EQ(tokens_of(make(vocabulary), "</s> t", kTemplate), (TokenTexts{"</s>", "\u2581t"}));
}

TEST(TokenizerVocabularyTest, MergesBytesByTheirRules) {
  const Tokenizer tokenizer = make(byte_level());
  EXPECT_EQ(tokens_of(tokenizer, "the the12"), (TokenTexts{"the", "\u0120the", "12"}));
  EXPECT_EQ(tokens_of(tokenizer, "<|im_end|>").size(), 10U);
  EXPECT_EQ(encode_with(tokenizer, "<|im_end|>", {.add_special = false, .parse_special = true}),
            (std::vector<TokenId>{260}));
  EXPECT_EQ(tokenizer.end_tokens().size(), 1U);
}

TEST(TokenizerVocabularyTest, SplitsDigitsAsThePreTokenizerSays) {
  Vocabulary vocabulary = byte_level();
  vocabulary.pre = "qwen2";
  EXPECT_EQ(tokens_of(make(vocabulary), "12"), (TokenTexts{"1", "2"}));
  vocabulary.pre = "llama-bpe";
  EXPECT_EQ(tokens_of(make(vocabulary), "12"), (TokenTexts{"12"}));
}

TEST(TokenizerVocabularyTest, TakesWholeWordsWithoutMergingWhereThePreTokenizerSays) {
  Vocabulary vocabulary = byte_level();
  vocabulary.merges.pop_back();
  vocabulary.pre = "gpt-2";
  EXPECT_EQ(tokens_of(make(vocabulary), "12"), (TokenTexts{"1", "2"}));
  vocabulary.pre = "llama-bpe";
  EXPECT_EQ(tokens_of(make(vocabulary), "12"), (TokenTexts{"12"}));
}

TEST(TokenizerVocabularyTest, GroupsDigitsFromTheRightWhereThePreTokenizerDoes) {
  Vocabulary vocabulary = byte_level();
  vocabulary.pre = "llama-bpe";
  EXPECT_EQ(tokens_of(make(vocabulary), "1212"), (TokenTexts{"12", "1", "2"}));
  for (const char* pre : {"afmoe", "cohere2moe"}) {
    vocabulary.pre = pre;
    EXPECT_EQ(tokens_of(make(vocabulary), "1212"), (TokenTexts{"1", "2", "12"})) << pre;
  }
}

TEST(TokenizerVocabularyTest, RefusesPreTokenizersItDoesNotKnow) {
  Vocabulary vocabulary = byte_level();
  vocabulary.pre = "quantum";
  const Result<Tokenizer> made = Tokenizer::from_vocabulary(vocabulary, "v.gguf");
  EXPECT_EQ(made.error().code, TextErrc::kUnknownTokenizerPart);
  EXPECT_NE(made.error().detail.find("quantum"), std::string::npos);
}

TEST(TokenizerVocabularyTest, CompilesThePatternsOfEveryPreTokenizer) {
  for (const std::string_view name : gguf_pre_tokenizer_names()) {
    const GgufPreTokenizer* pre = find_gguf_pre_tokenizer(name);
    ASSERT_NE(pre, nullptr) << name;
    for (const std::string_view pattern : pre->patterns) {
      const Result<Regex> regex = Regex::compile(pattern);
      EXPECT_TRUE(regex) << name << ": " << to_string(regex.error());
    }
  }
}

TEST(TokenizerVocabularyTest, ReadsWordPiecesWithoutTheirMarks) {
  const Tokenizer tokenizer = make(wordpiece());
  EXPECT_EQ(tokens_of(tokenizer, "The unables."), (TokenTexts{"the", "un", "##able", "##s", "."}));
  EXPECT_EQ(tokens_of(tokenizer, "thx"), (TokenTexts{"[UNK]"}));
  EXPECT_EQ(encode_with(tokenizer, "the", {.add_special = true, .parse_special = false}),
            (std::vector<TokenId>{2, 6, 3}));
  EXPECT_EQ(*tokenizer.decode(encode_with(tokenizer, "The unables."), true), "the unables.");
}

TEST(TokenizerVocabularyTest, ReadsUnigramModels) {
  Vocabulary v;
  v.model = Model::kUnigram;
  add(v, "<unk>", 0, TokenType::kUnknown);
  add(v, "</s>", 0, TokenType::kControl);
  float score = -2;
  for (const char* text : {"\u2581a", "ab", "\u2581", "a", "b"}) {
    add(v, text, score--, TokenType::kNormal);
  }
  v.special.unknown = 0;
  v.special.eos = 1;
  v.add_eos = true;
  v.remove_extra_whitespaces = true;
  const Tokenizer tokenizer = make(v);
  EXPECT_EQ(tokens_of(tokenizer, "  ab   a "), (TokenTexts{"\u2581", "ab", "\u2581a"}));
  EXPECT_EQ(tokens_of(tokenizer, "zz", {}), (TokenTexts{"\u2581", "<unk>", "</s>"}));
  EXPECT_EQ(tokens_of(tokenizer, "</s>").back(), "<unk>");
}

TEST(TokenizerVocabularyTest, RefusesByteTokensThatAreNone) {
  for (const char* text : {"<0x-1>", "<0xZZ>", "<0x1>", "<0x+1>", "<0x012>", "x"}) {
    Vocabulary vocabulary = sentencepiece();
    vocabulary.tokens[3] = text;
    expect_vocabulary_refused(vocabulary, "no byte");
  }
}

TEST(TokenizerVocabularyTest, RefusesTablesOfDifferentLengths) {
  Vocabulary vocabulary = sentencepiece();
  vocabulary.scores.pop_back();
  expect_vocabulary_refused(vocabulary, "scores");
  vocabulary = sentencepiece();
  vocabulary.scores.clear();
  expect_vocabulary_refused(vocabulary, "scores");
  vocabulary = sentencepiece();
  vocabulary.types.pop_back();
  expect_vocabulary_refused(vocabulary, "token_type");
  vocabulary = sentencepiece();
  vocabulary.tokens.emplace_back("more");
  expect_vocabulary_refused(vocabulary, "token_type");
}

TEST(TokenizerVocabularyTest, RefusesVocabulariesThatCannotBe) {
  expect_vocabulary_refused(Vocabulary{}, "empty");
  Vocabulary vocabulary = byte_level();
  vocabulary.tokens.back() = "a";
  expect_vocabulary_refused(vocabulary, "twice");
  vocabulary = byte_level();
  vocabulary.tokens.back() = "\xFF\xFE";
  expect_vocabulary_refused(vocabulary, "UTF-8");
  vocabulary = byte_level();
  vocabulary.tokens.back() = std::string(Tokenizer::kMaxTokenBytes + 1, 'x');
  expect_vocabulary_refused(vocabulary, "too long");
  vocabulary = byte_level();
  vocabulary.tokens.resize(Tokenizer::kMaxTokens + 1);
  expect_vocabulary_refused(vocabulary, "2^21");
  vocabulary = sentencepiece();
  vocabulary.scores[5] = std::numeric_limits<float>::quiet_NaN();
  expect_vocabulary_refused(vocabulary, "finite");
}

TEST(TokenizerVocabularyTest, RefusesRolesOutsideTheVocabulary) {
  for (const TokenId id : {-2, 100'000, INT32_MAX, INT32_MIN}) {
    Vocabulary vocabulary = byte_level();
    vocabulary.special.bos = id;
    expect_vocabulary_refused(vocabulary, "special token");
  }
}

TEST(TokenizerVocabularyTest, RefusesMergesOfTokensThatAreNotThere) {
  for (const char* merge : {"t x", "th", "", " ", "q q", "nothing here"}) {
    Vocabulary vocabulary = byte_level();
    vocabulary.merges.emplace_back(merge);
    expect_vocabulary_refused(vocabulary, "merge");
  }
}

}  // namespace
}  // namespace weft
