// The whole path by meaning: questions that the demo model has not seen go through the chat
// template, the tokenizer, the checkpoint, the program and the ops, and must come back answered.
// Every third question of a file is asked; WEFT_ALL_QUESTIONS=1 asks them all.

#include <gmock/gmock.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/cli/chat_prompt.h"
#include "weft/cli/model_loading.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/kernels/sample/sample.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/text/chat/chat_encoder.h"

namespace weft::test {
namespace {

namespace json = boost::json;

const std::string demo_folder = source_path("examples/demo_model");
constexpr std::int64_t kContext = 8192;
constexpr std::int64_t kLongestAnswer = 200;
constexpr double kBar = 0.95;
constexpr double kToolBar = 0.9;
constexpr double kStringBar = 0.9;
constexpr double kLongBar = 0.8;

/// Returns the questions of a file that this run asks. The file has at least `least` of them.
std::vector<json::value> held_out_questions(const std::string& name, std::size_t least) {
  const std::size_t step = std::getenv("WEFT_ALL_QUESTIONS") == nullptr ? 3 : 1;
  std::vector<json::value> questions;
  std::ifstream file(demo_folder + "/" + name);
  std::size_t lines = 0;
  for (std::string text; std::getline(file, text); ++lines) {
    if (lines % step == 0) questions.push_back(json::parse(text));
  }
  EXPECT_GE(lines, least);
  return questions;
}

/// Returns whether this is the expected text; a begun answer may have more text behind it.
bool is_right(const json::object& question, const std::string& got) {
  const std::string_view expected = question.at("answer").as_string();
  return question.contains("begun") ? got.starts_with(expected) : got == expected;
}

class DemoModelTest : public testing::Test {
 protected:
  void SetUp() override {
    cli::ModelOptions options;
    options.path = demo_folder + "/model";
    auto tokenizer = load_tokenizer(options.path);
    ASSERT_TRUE(tokenizer) << to_string(tokenizer.error());
    tokenizer_ = std::move(*tokenizer);
    const auto model = open_model(options.path);
    ASSERT_TRUE(model) << to_string(model.error());
    auto device = cli::load_alone(*model, options, kContext);
    ASSERT_TRUE(device) << to_string(device.error());
    device_ = std::move(*device);
  }

  /// Returns the model's greedy answer, without the end token that it must choose itself; for an
  /// answer that the question has begun, the text after the beginning.
  Result<std::string> answer(const json::object& question) {
    Conversation conversation{.messages = question.at("messages").as_array()};
    if (const auto* tools = question.if_contains("tools")) conversation.tools = *tools;
    auto prompt = ChatEncoder(*tokenizer_).encode(std::move(conversation), wall_clock());
    if (!prompt) return prompt.error();
    if (const auto* begun = question.if_contains("begun")) {
      auto encoded = tokenizer_->encode(begun->as_string(), {.add_special = false}, *prompt);
      if (!encoded) return encoded.error();
    }
    SequenceRunner runner(*device_);
    TokenId next = kNoToken;
    const auto choose = [&next](ConstRows rows) {
      next = sample({rows.row(0), static_cast<std::size_t>(rows.width)}, {}, {});
    };
    if (auto fed = runner.feed(*prompt, choose, true); !fed) return fed.error();
    std::vector<TokenId> ids;
    while (!ends(next) && std::ssize(ids) < kLongestAnswer) {
      ids.push_back(next);
      if (auto fed = runner.feed({&ids.back(), 1}, choose, true); !fed) return fed.error();
    }
    return tokenizer_->decode(ids, true);
  }

  /// Asks questions of a file, which has at least `least`, and expects the share `bar` of the
  /// answers to be right.
  void ask_all(const std::string& file, std::size_t least, double bar) {
    const std::vector<json::value> questions = held_out_questions(file, least);
    std::size_t right = 0;
    std::string wrong;
    for (const json::value& asked : questions) {
      const json::object& question = asked.as_object();
      const auto got = answer(question);
      ASSERT_TRUE(got) << to_string(got.error());
      if (is_right(question, *got)) {
        ++right;
      } else {
        wrong += json::serialize(question) + "\n  got " + *got + "\n";
      }
    }
    RecordProperty("asked", static_cast<int>(questions.size()));
    RecordProperty("right", static_cast<int>(right));
    EXPECT_GE(static_cast<double>(right), bar * static_cast<double>(questions.size())) << wrong;
  }

 private:
  [[nodiscard]] bool ends(TokenId id) const {
    return std::ranges::find(tokenizer_->end_tokens(), id) != tokenizer_->end_tokens().end();
  }

  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<ModelDevice> device_;
};

TEST_F(DemoModelTest, AnswersQuestionsItHasNotSeen) { ask_all("held_out.jsonl", 400, kBar); }

TEST_F(DemoModelTest, CallsToolsAndWritesJsonAsItHasNotSeen) {
  ask_all("held_out_tools.jsonl", 300, kToolBar);
}

TEST_F(DemoModelTest, EndsTheStringsOfJson) { ask_all("held_out_strings.jsonl", 80, kStringBar); }

TEST_F(DemoModelTest, AnswersBehindLongTextsThatHaveNothingToDoWithTheQuestion) {
  ask_all("held_out_long.jsonl", 40, kLongBar);
}

}  // namespace
}  // namespace weft::test
