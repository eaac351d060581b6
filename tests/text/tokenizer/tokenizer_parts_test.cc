#include <gtest/gtest.h>

#include "weft/tests/text/json_data.h"
#include "weft/text/json/json_document.h"
#include "weft/text/tokenizer/json/tokenizer_json.h"

namespace weft {
namespace {

using test::read_test_data;
using test::text_of;
using test::texts_of;

/// Reads one section of a tokenizer.json and returns the result of `read`.
template <class Read>
auto read_section(const boost::json::value& spec, Read read) {
  const std::string text = boost::json::serialize(spec);
  Result<JsonDocument> document = JsonDocument::parse(text, "spec");
  EXPECT_TRUE(document) << text;
  const TokenizerFields fields(document->root().get_object(), "spec");
  auto made = read(fields);
  EXPECT_FALSE(fields.error()) << text << ": " << to_string(*fields.error());
  return made;
}

TEST(TokenizerPartsTest, NormalizesAsTheReferenceDoes) {
  const boost::json::value data = read_test_data("parts.json");
  for (const auto& part : data.at("normalizers").as_array()) {
    const Normalizer normalizer(read_section(part.at("spec"), read_normalizer));
    for (const auto& pair : part.at("cases").as_array()) {
      std::string text = text_of(pair.at(0));
      bool begins = true;
      ASSERT_TRUE(normalizer.apply(text, begins));
      EXPECT_EQ(text, text_of(pair.at(1))) << part.at("spec") << " on " << pair.at(0);
    }
  }
}

TEST(TokenizerPartsTest, SplitsAsTheReferenceDoes) {
  const boost::json::value data = read_test_data("parts.json");
  for (const auto& part : data.at("pre_tokenizers").as_array()) {
    const PreTokenizer pre_tokenizer(read_section(part.at("spec"), read_pre_tokenizer));
    for (const auto& pair : part.at("cases").as_array()) {
      Pieces pieces;
      pieces.text = text_of(pair.at(0));
      if (!pieces.text.empty()) pieces.ranges = {{0, pieces.text.size()}};
      pieces.begins_input = true;
      ASSERT_TRUE(pre_tokenizer.apply(pieces));
      std::vector<std::string> found;
      for (const TextRange& range : pieces.ranges) found.emplace_back(pieces.at(range));
      EXPECT_EQ(found, texts_of(pair.at(1))) << part.at("spec") << " on " << pair.at(0);
    }
  }
}

TEST(TokenizerPartsTest, DecodesAsTheReferenceDoes) {
  const boost::json::value data = read_test_data("parts.json");
  for (const auto& part : data.at("decoders").as_array()) {
    const Decoder decoder(read_section(part.at("spec"), read_decoder));
    for (const auto& pair : part.at("cases").as_array()) {
      DecodeStream stream(decoder);
      for (const std::string& token : texts_of(pair.at(0))) stream.push(token);
      stream.finish();
      EXPECT_EQ(stream.take(), text_of(pair.at(1))) << part.at("spec") << " on " << pair.at(0);
    }
  }
}

}  // namespace
}  // namespace weft
