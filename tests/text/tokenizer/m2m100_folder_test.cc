// Folders with vocab.json and a SentencePiece model: the tokens that transformers makes of texts
// (data/make_m2m100.py), and folders that are refused.

#include "weft/text/tokenizer/sentencepiece/m2m100_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/sentencepiece/sentencepiece_model.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using test::FailsWith;

fs::path data(const std::string& kind) {
  return fs::path(test::source_path("tests/text/data/m2m100")) / kind;
}

class M2m100FolderTest : public testing::TestWithParam<const char*> {};

TEST_P(M2m100FolderTest, MakesTheTokensThatTransformersMakes) {
  const auto tokenizer = Tokenizer::load(data(GetParam()));
  ASSERT_TRUE(tokenizer) << to_string(tokenizer.error());
  const json::value expected =
      json::parse(read_text_file(data(GetParam()) / "cases.json", kAnySize).value());
  for (const json::value& each : expected.at("cases").as_array()) {
    std::vector<TokenId> wanted;
    for (const json::value& id : each.at("ids").as_array()) {
      wanted.push_back(static_cast<TokenId>(id.as_int64()));
    }
    std::vector<TokenId> got;
    ASSERT_TRUE(tokenizer->encode(each.at("text").as_string(), {.parse_special = true}, got));
    EXPECT_EQ(got, wanted) << each.at("text");
  }
  for (const auto& [language, id] : expected.at("languages").as_object()) {
    EXPECT_EQ(tokenizer->id_of("__" + std::string(language) + "__"), id.as_int64());
    EXPECT_TRUE(tokenizer->is_special(static_cast<TokenId>(id.as_int64())));
  }
}

TEST_P(M2m100FolderTest, WritesTheTextOfATranslation) {
  const Tokenizer tokenizer = Tokenizer::load(data(GetParam())).value();
  std::vector<TokenId> ids;
  ASSERT_TRUE(tokenizer.encode("the word is here", {}, ids));
  EXPECT_EQ(tokenizer.decode(ids, true).value(), "the word is here");
  EXPECT_EQ(tokenizer.token(ids.front()).value(), "__de__") << "src_lang of tokenizer_config.json";
  EXPECT_EQ(tokenizer.eos(), 2);
}

INSTANTIATE_TEST_SUITE_P(Kinds, M2m100FolderTest, testing::Values("unigram", "bpe"),
                         [](const auto& each) { return std::string(each.param); });

/// A copy of a folder that a test may change.
class ChangedFolder {
 public:
  ChangedFolder() {
    for (const auto& entry : fs::directory_iterator(data("bpe")))
      fs::copy(entry.path(), folder_.path() / entry.path().filename());
  }
  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }
  [[nodiscard]] const fs::path& path() const { return folder_.path(); }

 private:
  test::TempFolder folder_;
};

TEST(M2m100Folder, TakesTheLanguagesThatTheFilesName) {
  const ChangedFolder folder;
  folder.write("special_tokens_map.json", R"({"additional_special_tokens": ["__xx__", "__de__"]})");
  EXPECT_EQ(Tokenizer::load(folder.path()).value().id_of("__xx__"), 101);
  folder.write("added_tokens.json", R"({"__de__": 102, "__yy__": 101})");
  EXPECT_EQ(Tokenizer::load(folder.path()).value().id_of("__yy__"), 101);
  folder.write("added_tokens.json", R"({"__de__": 105})");
  EXPECT_THAT(Tokenizer::load(folder.path()),
              FailsWith(TextErrc::kBadTokenizer, "\"__de__\" under the id 105 instead of 101"));
}

TEST(M2m100Folder, IsRefusedWithTheFileThatIsWrong) {
  const ChangedFolder folder;
  folder.write("tokenizer_config.json", R"({"src_lang": "qq"})");
  EXPECT_THAT(Tokenizer::load(folder.path()),
              FailsWith(TextErrc::kBadTokenizer, "src_lang: there is no token __qq__"));
  folder.write("vocab.json", R"({"<s>": 0, "<pad>": 0})");
  EXPECT_THAT(Tokenizer::load(folder.path()),
              FailsWith(TextErrc::kBadTokenizer, "\"<pad>\" under an id that is not free"));
  folder.write("vocab.json", R"({"<s>": 0, "<pad>": 1, "</s>": 2})");
  EXPECT_THAT(Tokenizer::load(folder.path()),
              FailsWith(TextErrc::kBadTokenizer, "vocab.json: has no <unk>"));
  folder.write("sentencepiece.bpe.model", "\x0a\x7f");
  EXPECT_THAT(Tokenizer::load(folder.path()),
              FailsWith(TextErrc::kBadTokenizer, "sentencepiece.bpe.model: is no SentencePiece"));
}

TEST(SentencePieceModel, RefusesWhatIsNone) {
  const auto refused = [](std::string_view bytes, std::string_view about) {
    EXPECT_THAT(read_sentencepiece_model(bytes, "m"), FailsWith(TextErrc::kBadTokenizer, about));
  };
  refused("", "has no pieces");
  refused("\x0b", "offset 1");
  refused("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "offset 10");
  refused(std::string_view("\x0a\x04\x0a\x02\xc3\x28", 6), "piece 0 is no text");
  refused(std::string_view("\x0a\x05\x0a\x01"
                           "a\x18\x09",
                           7),
          "piece 0 has type 9");
  EXPECT_THAT(read_sentencepiece_model(std::string_view("\x12\x02\x18\x04", 4), "m"),
              FailsWith(TextErrc::kUnknownTokenizerPart, "model_type 4"));
}

}  // namespace
}  // namespace weft
