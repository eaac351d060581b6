#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "weft/tests/text/json_data.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr EncodeOptions kUserText{.add_special = false, .parse_special = false};

/// A small valid tokenizer.json, for tests to spoil.
json::value small_bpe() {
  return json::parse(R"({
    "added_tokens": [{"id": 4, "content": "<s>", "special": true}],
    "pre_tokenizer": null, "normalizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, " ": 3}, "merges": ["a b"]}})");
}

Result<Tokenizer> read_tokenizer(const json::value& content) {
  return Tokenizer::from_json(json::serialize(content), "small.json");
}

void expect_json_refused(const json::value& content, TextErrc code, std::string_view part) {
  const Result<Tokenizer> made = read_tokenizer(content);
  ASSERT_FALSE(made) << json::serialize(content);
  EXPECT_EQ(made.error().code, code) << to_string(made.error());
  EXPECT_NE(made.error().detail.find(part), std::string::npos) << made.error().detail;
}

TEST(TokenizerBadInputTest, ReadsTheSmallTokenizerThatIsSpoiltBelow) {
  const Result<Tokenizer> made = read_tokenizer(small_bpe());
  ASSERT_TRUE(made) << to_string(made.error());
  std::vector<TokenId> ids;
  ASSERT_TRUE(made->encode("ab a", kUserText, ids));
  EXPECT_EQ(ids, (std::vector<TokenId>{2, 3, 0}));
}

TEST(TokenizerBadInputTest, RefusesWhatIsNoTokenizer) {
  for (const char* text : {"", "[]", "5", "{", "{}", R"({"model": 3})", R"({"model": {}})",
                           R"({"model": {"type": "BPE"}})",
                           R"({"model": {"type": "BPE", "vocab": [], "merges": []}})"}) {
    const Result<Tokenizer> made = Tokenizer::from_json(text, "bad.json");
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error().code, TextErrc::kBadTokenizer) << text;
    EXPECT_NE(made.error().detail.find("bad.json"), std::string::npos);
  }
  const std::string nested(100'000, '[');
  EXPECT_EQ(Tokenizer::from_json(nested, "deep").error().code, TextErrc::kBadTokenizer);
}

TEST(TokenizerBadInputTest, NamesPartsThatItDoesNotKnow) {
  for (const char* section :
       {"normalizer", "pre_tokenizer", "post_processor", "decoder", "model"}) {
    json::value content = small_bpe();
    content.at(section) = {{"type", "Quantum"}};
    expect_json_refused(content, TextErrc::kUnknownTokenizerPart, "Quantum");
  }
}

TEST(TokenizerBadInputTest, RefusesSequencesNestedTooDeeply) {
  json::value inner = {{"type", "NFC"}};
  for (int i = 0; i < 60; ++i) {
    inner = {{"type", "Sequence"}, {"normalizers", json::array{inner}}};
  }
  json::value content = small_bpe();
  content.at("normalizer") = inner;
  EXPECT_EQ(read_tokenizer(content).error().code, TextErrc::kBadTokenizer);
}

TEST(TokenizerBadInputTest, RefusesIdsThatAreHugeNegativeTwiceOrMissing) {
  for (const json::value& id :
       {json::value(-1), json::value(1), json::value(4), json::value(4'000'000'000),
        json::value(1e30), json::value("2"), json::value(nullptr)}) {
    json::value content = small_bpe();
    content.at("model").at("vocab").at("ab") = id;
    expect_json_refused(content, TextErrc::kBadTokenizer, "vocab");
  }
}

TEST(TokenizerBadInputTest, RefusesAnEmptyVocabulary) {
  json::value content = small_bpe();
  content.at("model").at("vocab") = json::object();
  expect_json_refused(content, TextErrc::kBadTokenizer, "vocab is empty");
}

TEST(TokenizerBadInputTest, RefusesTokensOfMoreThan64KiB) {
  json::value content = small_bpe();
  content.at("model").at("vocab").as_object()[std::string(Tokenizer::kMaxTokenBytes + 1, 'x')] = 4;
  content.at("added_tokens").as_array().clear();
  expect_json_refused(content, TextErrc::kBadTokenizer, "too long");
}

TEST(TokenizerBadInputTest, RefusesAddedTokensThatAreEmptyOrUnderAWrongId) {
  json::value empty = small_bpe();
  empty.at("added_tokens").at(0).at("content") = "";
  expect_json_refused(empty, TextErrc::kBadTokenizer, "empty");
  for (const json::value& id : {json::value(-4), json::value(3), json::value(9),
                                json::value(1LL << 40), json::value("4")}) {
    json::value content = small_bpe();
    content.at("added_tokens").at(0).at("id") = id;
    expect_json_refused(content, TextErrc::kBadTokenizer, "added_tokens");
  }
}

TEST(TokenizerBadInputTest, RefusesMergesOfTokensThatAreNotThere) {
  for (const json::value& merge :
       {json::value("a c"), json::value("b a"), json::value("ab"), json::value(""), json::value(7),
        json::value(json::array{"a"}), json::value(json::array{"a", 3})}) {
    json::value content = small_bpe();
    content.at("model").at("merges") = json::array{merge};
    expect_json_refused(content, TextErrc::kBadTokenizer, "merges");
  }
}

TEST(TokenizerBadInputTest, LoadsOldFilesWithoutTypesAndWithMergesOfEitherForm) {
  json::value content = small_bpe();
  content.at("model").as_object().erase("type");
  EXPECT_TRUE(read_tokenizer(content));
  // Compilers differ on whether an array in braces is copied or becomes an element.
  json::array merges;
  merges.emplace_back(json::array{"a", "b"});
  content.at("model").at("merges") = std::move(merges);
  const Result<Tokenizer> pairs = read_tokenizer(content);
  ASSERT_TRUE(pairs);
  std::vector<TokenId> ids;
  ASSERT_TRUE(pairs->encode("ab", kUserText, ids));
  EXPECT_EQ(ids, (std::vector<TokenId>{2}));
}

TEST(TokenizerBadInputTest, FindsMergesOfTokensThatHoldSpaces) {
  json::value content = small_bpe();
  content.at("model").at("vocab").as_object()["  "] = 4;
  content.at("added_tokens").as_array().clear();
  content.at("model").at("merges").as_array().emplace_back("   ");
  const Result<Tokenizer> made = read_tokenizer(content);
  ASSERT_TRUE(made) << to_string(made.error());
  std::vector<TokenId> ids;
  ASSERT_TRUE(made->encode("  ", kUserText, ids));
  EXPECT_EQ(ids, (std::vector<TokenId>{4}));
}

TEST(TokenizerBadInputTest, RefusesPatternsThatCannotBeCompiled) {
  for (const char* pattern : {"(", "[a", "a{2,1}", "\\p{NoSuchScript}", "(?<n", "[\\W]", "\\"}) {
    json::value content = small_bpe();
    content.at("pre_tokenizer") = {{"type", "Split"},
                                   {"pattern", {{"Regex", pattern}}},
                                   {"behavior", "Isolated"},
                                   {"invert", false}};
    expect_json_refused(content, TextErrc::kUnknownTokenizerPart, "pattern");
  }
}

TEST(TokenizerBadInputTest, StopsAPatternThatBacktracksWithoutEnd) {
  json::value content = small_bpe();
  content.at("pre_tokenizer") = {{"type", "Split"},
                                 {"pattern", {{"Regex", "(a|aa)*c"}}},
                                 {"behavior", "Isolated"},
                                 {"invert", false}};
  const Result<Tokenizer> made = read_tokenizer(content);
  ASSERT_TRUE(made) << to_string(made.error());
  const std::string text = std::string(200, 'a') + "xc";  // without a c nothing would be tried
  std::vector<TokenId> ids = {1};
  const Result<void> done = made->encode(text, kUserText, ids);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, TextErrc::kTextTooLarge);
  EXPECT_EQ(ids, (std::vector<TokenId>{1}));
}

TEST(TokenizerBadInputTest, StopsANormalizerThatMakesTheTextGrow) {
  json::value content = small_bpe();
  json::array doublings;
  for (int i = 0; i < 64; ++i) {
    doublings.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
  }
  content.at("normalizer") = {{"type", "Sequence"}, {"normalizers", doublings}};
  const Result<Tokenizer> made = read_tokenizer(content);
  ASSERT_TRUE(made);
  std::vector<TokenId> ids;
  EXPECT_EQ(made->encode("a", kUserText, ids).error().code, TextErrc::kTextTooLarge);
  content.at("normalizer") = {{"type", "Prepend"}, {"prepend", std::string(1025, 'a')}};
  EXPECT_EQ(read_tokenizer(content)->encode("", kUserText, ids).has_error(), false);
  EXPECT_EQ(read_tokenizer(content)->encode("b", kUserText, ids).has_error(), false);
  content.at("normalizer") = {{"type", "Prepend"}, {"prepend", std::string(1028, 'a')}};
  EXPECT_EQ(read_tokenizer(content)->encode("b", kUserText, ids).error().code,
            TextErrc::kTextTooLarge);
}

TEST(TokenizerBadInputTest, RefusesSpoiltCharacterMaps) {
  for (const char* map : {"", "AAAA", "!!!!", "/////w==", "BAAAAAAAAAD/", "AwAAAAAAAA=="}) {
    json::value content = small_bpe();
    content.at("normalizer") = {{"type", "Precompiled"}, {"precompiled_charsmap", map}};
    expect_json_refused(content, TextErrc::kBadTokenizer, "precompiled_charsmap");
  }
}

TEST(TokenizerBadInputTest, RefusesPostProcessorsWithTokensThatAreNotThere) {
  for (const json::value& id : {json::value(-1), json::value(5), json::value("x")}) {
    json::value content = small_bpe();
    content.at("post_processor") = {
        {"type", "BertProcessing"}, {"sep", json::array{"a", 0}}, {"cls", json::array{"b", id}}};
    EXPECT_EQ(read_tokenizer(content).error().code, TextErrc::kBadTokenizer);
  }
}

TEST(TokenizerBadInputTest, RefusesTextAboveItsBound) {
  const Result<Tokenizer> made = read_tokenizer(small_bpe());
  const std::string text(Tokenizer::kMaxTextBytes + 1, 'a');
  std::vector<TokenId> ids;
  EXPECT_EQ(made->encode(text, kUserText, ids).error().code, TextErrc::kTextTooLarge);
}

TEST(TokenizerBadInputTest, SurvivesAnyCutOfAFile) {
  const std::string whole = json::serialize(small_bpe());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Tokenizer::from_json(std::string_view(whole).substr(0, size), "cut"));
  }
}

TEST(TokenizerBadInputTest, SurvivesAnyByteChangedInAFile) {
  const json::value data = test::read_test_data("tokenizers.json");
  const std::string whole = json::serialize(data.at(2).at("tokenizer"));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {'0', '"', '}', '\xFF', '-'}) {
      std::string spoilt = whole;
      spoilt[at] = byte;
      const Result<Tokenizer> made = Tokenizer::from_json(spoilt, "spoilt");
      if (!made) continue;
      std::vector<TokenId> ids;
      static_cast<void>(made->encode("ab abc \xE2\x82\xAC", {}, ids));
      static_cast<void>(made->decode(ids, false));
    }
  }
}

/// Long texts on which the recursion, rescans or regexes of other tokenizers failed. Every kind of
/// model must give the right tokens. A quadratic step would take minutes here.
TEST(TokenizerBadInputTest, EncodesLongRunsWithoutASpace) {
  const json::value data = test::read_test_data("tokenizers.json");
  std::vector<std::string> texts = {std::string(131'072, 'A'), std::string(1 << 20, 'a'),
                                    std::string(60'000, '\n'), std::string(1 << 18, ' '),
                                    std::string(1 << 18, '_')};
  texts.emplace_back();
  for (int i = 0; i < 100'000; ++i) texts.back() += "us";
  texts.emplace_back();
  for (int i = 0; i < 50'000; ++i) texts.back() += "\u5B57";
  for (const auto& entry : data.as_array()) {
    const Result<Tokenizer> made =
        Tokenizer::from_json(json::serialize(entry.at("tokenizer")), "long");
    ASSERT_TRUE(made);
    const std::string name = test::text_of(entry.at("name"));
    for (const std::string& text : texts) {
      std::vector<TokenId> ids;
      ASSERT_TRUE(made->encode(text, kUserText, ids)) << name;
      if (name == "byte_level_bpe") {
        EXPECT_EQ(*made->decode(ids, false), text);
      }
    }
  }
}

}  // namespace
}  // namespace weft
