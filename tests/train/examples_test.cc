#include "weft/train/data/examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_to.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/model/open_model.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/train/data/batch_plan.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr TokenId kEnd = 2;  // <|im_end|> of the demo model

class ExampleReaderTest : public testing::Test {
 protected:
  [[nodiscard]] std::string text_of(const std::vector<TokenId>& ids) const {
    return tokenizer_.decode(ids, false).value();
  }
  /// The text that an example learns to write.
  [[nodiscard]] std::string learnt(const Example& example, float weight = 1) const {
    std::vector<TokenId> ids;
    for (std::size_t i = 0; i < example.ids.size(); ++i) {
      if (example.weights[i] == weight) ids.push_back(example.ids[i]);
    }
    return text_of(ids);
  }
  [[nodiscard]] std::string mistake(const std::string& line) const {
    const auto example = reader_.read_line(line);
    if (example) return "";
    EXPECT_EQ(example.error().code, TrainErrc::kBadData);
    return example.error().detail;
  }

  const Tokenizer tokenizer_ =
      load_tokenizer(test::source_path("examples/demo_model/model")).value();
  const ExampleReader reader_{tokenizer_, {.tokens = 64, .end_tokens = {kEnd}}};
};

TEST_F(ExampleReaderTest, OfMessagesTheAnswersAreLearntUpToTheirEnd) {
  const auto example = reader_.read_line(
      R"({"messages": [{"role": "user", "content": "Say hello."},
                       {"role": "assistant", "content": "hello"},
                       {"role": "user", "content": "And now bye."},
                       {"role": "assistant", "content": "bye"}]})");
  ASSERT_TRUE(example) << example.error().detail;
  EXPECT_EQ(learnt(*example), "hello<|im_end|>bye<|im_end|>");
  EXPECT_EQ(example->weights.front(), 0);
}

TEST_F(ExampleReaderTest, AnswersHaveWeights) {
  const auto example = reader_.read_line(
      R"({"weight": 2, "messages": [{"role": "user", "content": "Say hello."},
                       {"role": "assistant", "content": "hello", "weight": 0},
                       {"role": "user", "content": "And now bye."},
                       {"role": "assistant", "content": "bye", "weight": 0.5}]})");
  ASSERT_TRUE(example) << example.error().detail;
  EXPECT_EQ(learnt(*example, 1), "bye<|im_end|>");
}

TEST_F(ExampleReaderTest, ATextIsLearntWholeWithAnEndBehindIt) {
  const auto example = reader_.read_line(R"({"text": "hello there", "weight": 0.25})");
  ASSERT_TRUE(example) << example.error().detail;
  EXPECT_EQ(example->ids.back(), kEnd);
  EXPECT_EQ(example->weights.front(), 0);
  EXPECT_THAT(std::vector(example->weights.begin() + 1, example->weights.end()),
              testing::Each(0.25F));
}

TEST_F(ExampleReaderTest, AMistakeNamesItsField) {
  EXPECT_THAT(mistake("{"), HasSubstr("the line: is no JSON"));
  EXPECT_EQ(mistake("[]"), "the line: must be a JSON object");
  EXPECT_EQ(mistake(R"({"prompt": "a"})"), "the line: must have either messages or text");
  EXPECT_EQ(mistake(R"({"text": 3})"), "text: must be a text");
  EXPECT_EQ(mistake(R"({"text": "a", "weight": -1})"), "weight: must be a number of 0 or more");
  EXPECT_EQ(mistake(R"({"messages": []})"), "messages: must be a list of one message or more");
  EXPECT_EQ(mistake(R"({"messages": [3]})"), "messages[0]: must be an object");
  EXPECT_THAT(mistake(R"({"messages": [{"role": "bot", "content": "a"}]})"),
              HasSubstr("messages[0].role: must be system"));
  EXPECT_EQ(mistake(R"({"messages": [{"role": "user"}]})"), "messages[0].content: is missing");
  EXPECT_EQ(mistake(R"({"messages": [{"role": "user", "content": 1}]})"),
            "messages[0].content: must be a text or a list of parts");
  EXPECT_EQ(mistake(R"({"messages": [{"role": "user", "content": "a", "weight": 1}]})"),
            "messages[0].weight: only answers of the assistant have weights");
  EXPECT_EQ(mistake(R"({"messages": [{"role": "user", "content": "a"}]})"),
            "messages: there is no answer of the assistant to learn from");
}

TEST_F(ExampleReaderTest, ALineThatWouldTakeLongIsRefusedBeforeItIsRead) {
  const std::string frame = R"({"text": ""})";
  const auto line = [&](std::size_t bytes) {
    return R"({"text": ")" + std::string(bytes - frame.size(), ' ') + R"("})";
  };
  EXPECT_TRUE(check_training_line(line(kMostLineBytes)));
  EXPECT_EQ(check_training_line(line(kMostLineBytes + 1)).error().detail,
            "the line: has 4194305 bytes, and a line may have 4194304: split it");
  EXPECT_THAT(mistake(line(kMostLineBytes + 1)), HasSubstr("split it"));
}

TEST_F(ExampleReaderTest, AFilesMistakesNameTheLineAndLongExamplesAreCut) {
  const test::TempFolder folder;
  const auto path = folder.path() / "data.jsonl";
  std::string longer;
  for (int i = 0; i < 200; ++i) longer += "word ";
  std::ofstream(path) << R"({"text": "one"})"
                      << "\n\n"
                      << R"({"text": ")" << longer << "\"}\n";
  const auto examples = reader_.read(path);
  ASSERT_TRUE(examples) << examples.error().detail;
  EXPECT_EQ(examples->all.size(), 2U);
  EXPECT_EQ(examples->cut, 1);
  EXPECT_EQ(examples->all[1].ids.size(), 64U);
  std::ofstream(path, std::ios::app) << "{}\n";
  EXPECT_EQ(reader_.read(path).error().detail,
            path.string() + ":4: the line: must have either messages or text");
}

TEST_F(ExampleReaderTest, WeightsThatAreNoFloatsAreRefusedByTheirField) {
  EXPECT_EQ(mistake(R"({"text": "a", "weight": 1e39})"),
            "weight: is no float32: too large, or too near to 0");
  EXPECT_EQ(mistake(R"({"text": "a", "weight": 1e-60})"),
            "weight: is no float32: too large, or too near to 0");
  const auto line = [](const std::string& own, const std::string& answer) {
    return R"({"weight": )" + own +
           R"(, "messages": [{"role": "user", "content": "Say hello."},
                       {"role": "assistant", "content": "hello", "weight": )" +
           answer + "}]}";
  };
  EXPECT_EQ(mistake(line("1e30", "1e30")),
            "messages[1].weight: times the line's weight is no float32 of more than 0");
  EXPECT_EQ(mistake(line("1e-30", "1e-30")),
            "messages[1].weight: times the line's weight is no float32 of more than 0");
  EXPECT_EQ(mistake(line("1", "1e39")),
            "messages[1].weight: is no float32: too large, or too near to 0");
  EXPECT_EQ(mistake(line("0", "1")), "");
  EXPECT_EQ(mistake(line("1e30", "1e-30")), "");
}

TEST_F(ExampleReaderTest, TokensThatTheModelLacksAreRefused) {
  const ExampleReader small(tokenizer_, {.end_tokens = {kEnd}, .vocabulary = 3});
  const auto text = small.read_line(R"({"text": "hello"})");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, TrainErrc::kBadData);
  EXPECT_THAT(text.error().detail, testing::ContainsRegex("^text: has the token [0-9]+, and the"));
  const auto end = ExampleReader(tokenizer_, {.end_tokens = {5000}, .vocabulary = 2048})
                       .read_line(R"({"text": "hello"})");
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().detail,
              HasSubstr("text: has the token 5000, and the model's vocabulary"));
  const test::TempFolder folder;
  const auto path = folder.write("data.jsonl", "\n{\"text\": \"hello\"}\n");
  EXPECT_THAT(small.read(path).error().detail, HasSubstr("data.jsonl:2: text: has the token"));
}

TEST_F(ExampleReaderTest, ExamplesThatAreLeftOutAreCountedByTheirReason) {
  const test::TempFolder folder;
  std::string longer;
  for (int i = 0; i < 200; ++i) longer += "word ";
  const auto path =
      folder.write("data.jsonl", R"({"text": "one"})"
                                 "\n"
                                 R"({"text": "two", "weight": 0})"
                                 "\n"
                                 R"({"text": ")" +
                                     longer +
                                     "\"}\n"
                                     R"({"weight": 0, "text": ")" +
                                     longer +
                                     "\"}\n"
                                     R"({"messages": [{"role": "user", "content": ")" +
                                     longer +
                                     R"("}, {"role": "assistant", "content": "hello"}]})"
                                     "\n");
  const Examples examples = reader_.read(path).value();
  EXPECT_EQ(examples.all.size(), 2U);
  EXPECT_EQ(examples.without_weight, 2);
  EXPECT_EQ(examples.cut, 2);
  EXPECT_EQ(examples.cut_out, 1);
}

TEST_F(ExampleReaderTest, AnswersBehindTheCutAreNotLookedFor) {
  const std::string answer = R"({"role": "user", "content": "Say hello."},
                                {"role": "assistant", "content": "hello"})";
  const auto learnt = [&](std::size_t tokens) {
    const ExampleReader reader(tokenizer_, {.tokens = tokens, .end_tokens = {kEnd}});
    const std::string line = R"({"messages": [)" + answer + "," + answer + "," + answer + "]}";
    const Example example = reader.read_line(line).value();
    return std::ranges::count_if(example.weights, [](float weight) { return weight > 0; });
  };
  const auto one = learnt(1);
  EXPECT_GT(one, 0);
  EXPECT_EQ(learnt(1000), 3 * one);
}

/// Conversations by a chat template with {% generation %} marks.
class MarkedExampleTest : public testing::Test {
 protected:
  static Tokenizer tokenizer_with(std::string_view chat_template) {
    const test::TempFolder folder;
    const std::string demo = test::source_path("examples/demo_model/model/tokenizer.json");
    std::filesystem::copy_file(demo, folder.path() / "tokenizer.json");
    folder.write("tokenizer_config.json",
                 json::serialize(json::object{{"chat_template", chat_template}}));
    return Tokenizer::load(folder.path()).value();
  }
  static Result<Example> read(std::string_view chat_template, const json::value& messages) {
    return ExampleReader(tokenizer_with(chat_template), {.end_tokens = {kEnd}})
        .read_line(json::serialize(json::object{{"messages", messages}}));
  }
  static json::object said(float weight = 1) {
    return {{"role", "assistant"}, {"content", "hello"}, {"weight", weight}};
  }

  static constexpr std::string_view kTurns =
      "{% for m in messages %}{{ m.role }}:{% if m.role == 'assistant' %}{% generation %}"
      "{{ m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}{% endif %}\n"
      "{% endfor %}";
  static constexpr std::string_view kOneBlock =
      "{% generation %}{% for m in messages %}{{ m.content }};{% endfor %}{% endgeneration %}";
  const json::object asked_{{"role", "user"}, {"content", "Say hello."}};
};

TEST_F(MarkedExampleTest, TheTokensThatTransformersMasksAreLearnt) {
  const auto text =
      read_text_file(test::source_path("tests/text/data/marks/marks.json"), kAnySize).value();
  const json::value rows = json::parse(text);
  ASSERT_EQ(rows.as_array().size(), 12U);
  for (const json::value& row : rows.as_array()) {
    const auto example = read(row.at("template").as_string(), row.at("messages"));
    ASSERT_TRUE(example) << row.at("name") << ": " << example.error().detail;
    EXPECT_EQ(example->learnt, Learnt::kMarked);
    EXPECT_EQ(example->ids, json::value_to<std::vector<TokenId>>(row.at("ids"))) << row.at("name");
    auto mask = json::value_to<std::vector<float>>(row.at("mask"));
    mask.front() = 0;  // nothing predicts it
    EXPECT_EQ(example->weights, mask) << row;
  }
}

TEST_F(MarkedExampleTest, EachMarkHasTheWeightOfItsAnswer) {
  const auto example = read(kTurns, {asked_, said(0), asked_, said(0.5)});
  ASSERT_TRUE(example) << example.error().detail;
  EXPECT_THAT(example->weights, testing::Each(testing::AnyOf(0, 0.5F)));
  EXPECT_EQ(example->weights[example->ids.size() - 2], 0.5F) << "the second answer's end";
  const auto ends = std::ranges::count(example->ids, kEnd);
  EXPECT_EQ(ends, 2);
  EXPECT_LT(std::ranges::count(example->weights, 0.5F), 7) << "the first answer is left out";
}

// transformers masks the first of these tokens alone.
TEST_F(MarkedExampleTest, ACharacterOfSeveralTokensIsLearntWhole) {
  const json::object answer{{"role", "assistant"}, {"content", "so: \xC3\xA9"}};
  const auto example = read(
      "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
      "{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}<|im_end|>",
      {asked_, answer});
  ASSERT_TRUE(example) << example.error().detail;
  const std::size_t size = example->ids.size();
  ASSERT_EQ(example->ids[size - 1], kEnd);
  EXPECT_EQ(example->weights[size - 1], 0);
  EXPECT_EQ(example->weights[size - 2], 1) << "the second byte";
  EXPECT_EQ(example->weights[size - 3], 1) << "the first byte";
}

TEST_F(MarkedExampleTest, WeightsThatNoMarkCanHaveAreRefused) {
  EXPECT_TRUE(read(kOneBlock, {asked_, said(2), asked_, said(2)}));
  const auto refused = read(kOneBlock, {asked_, said(1), asked_, said(2)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TrainErrc::kBadData);
  EXPECT_EQ(refused.error().detail,
            "messages: the chat template marks 1 answers of 2, so these must have the same weight");
  EXPECT_FALSE(read(kOneBlock, {asked_, said(0)})) << "nothing to learn";
}

TEST_F(MarkedExampleTest, AMarkWhoseTextHasNoPlaceYetCountsAsNone) {
  const auto example = read(
      "{% macro say(m) %}{% generation %}{{ m.content }}{% endgeneration %}{% endmacro %}"
      "{% for m in messages %}{{ m.role }}:{{ say(m) }}<|im_end|>\n{% endfor %}"
      "{% if add_generation_prompt %}assistant:{% endif %}",
      {asked_, said()});
  ASSERT_TRUE(example) << example.error().detail;
  EXPECT_EQ(example->learnt, Learnt::kEnded);
  EXPECT_EQ(example->ids[example->ids.size() - 2], kEnd);
  EXPECT_EQ(example->weights[example->ids.size() - 2], 1) << "its end is learnt";
}

TEST_F(MarkedExampleTest, APersonIsToldHowTheAnswersAreLearnt) {
  const test::TempFolder folder;
  const auto path =
      folder.write("data.jsonl",
                   json::serialize(json::object{{"messages", json::array{asked_, said()}}}) + "\n");
  const auto how = [&](std::string_view chat_template) {
    return how_learnt(
        ExampleReader(tokenizer_with(chat_template), {.end_tokens = {kEnd}}).read(path).value());
  };
  EXPECT_THAT(how(kTurns), HasSubstr("where the chat template marks them"));
  EXPECT_THAT(how("{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}"),
              HasSubstr("the chat template has no generation marks"));
  folder.write("data.jsonl", R"({"text": "a"})");
  EXPECT_EQ(how(kTurns), "");
  Examples both;
  both.marked = 2;
  both.ended = 1;
  EXPECT_THAT(how_learnt(both), HasSubstr("in 2 conversations, and in 1"));
}

TEST(BatchPlanTest, AnEpochTakesEachExampleOnceInAnOrderOfItsOwn) {
  BatchPlan plan{.examples = 7, .batch = 3, .seed = 5};
  EXPECT_EQ(plan.steps_of_epoch(), 3);
  const auto epoch = [&](std::int64_t first) {
    std::vector<std::size_t> order;
    for (std::int64_t step = first; step < first + 3; ++step) {
      const auto chosen = plan.examples_of(step);
      order.insert(order.end(), chosen.begin(), chosen.end());
    }
    return order;
  };
  EXPECT_THAT(epoch(0), testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_NE(epoch(0), epoch(3));
  EXPECT_EQ(epoch(3), epoch(3));
  plan.shuffle = false;
  EXPECT_THAT(epoch(3), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(BatchPlanTest, ExamplesArePackedUpToTheRoomOfAMicroBatch) {
  const std::vector<Example> all = {{{5, 6, 7}, {0, 1, 1}}, {{8, 9}, {0, 0.5F}}, {{4, 3}, {0, 1}}};
  const std::vector<std::size_t> chosen = {0, 1, 2};
  const BatchPlan plan{.examples = 3, .batch = 3, .tokens = 5};
  const auto batches = plan.pack(all, chosen);
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_THAT(batches[0].ids, ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(batches[0].targets, ElementsAre(6, 7, 0, 9, 0));
  EXPECT_THAT(batches[0].weights, ElementsAre(1, 1, 0, 0.5F, 0));
  EXPECT_EQ(batches[0].spans[1].first, 3);
  EXPECT_EQ(weight_of(batches), 3.5);
}

}  // namespace
}  // namespace weft
