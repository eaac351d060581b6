// The demo model through the pipeline with its own threads. Each of several conversations at once
// gets the output that it gets alone from the verbs' way of running a model.

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/pipeline.h"
#include "weft/cli/chat_prompt.h"
#include "weft/cli/model_loading.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/kernels/sample/sample.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/text/chat/chat_encoder.h"

namespace weft::test {
namespace {

const std::string model_path = source_path("examples/demo_model/model");
constexpr std::int32_t kLongestAnswer = 40;
constexpr std::int64_t kContext = 256;

// With answers that are sure: ranks add up in another order than one does, to 1e-5.
const std::vector<std::string> questions = {"What is 12 + 30?", "What is 7 * 8?",
                                            "What is 90 - 45?"};

struct Answer {
  std::string text;
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  Finish end;
};

/// Collects an answer on the actors' threads.
class Sink final : public RequestSink {
 public:
  void deliver(const DeltaView& delta) noexcept override {
    answer_.text += delta.text;
    answer_.tokens.insert(answer_.tokens.end(), delta.tokens.begin(), delta.tokens.end());
    answer_.logprobs.insert(answer_.logprobs.end(), delta.logprobs.begin(), delta.logprobs.end());
  }
  void finish(Finish&& finish) noexcept override {
    answer_.end = std::move(finish);
    promise_.set_value(std::move(answer_));
  }
  std::future<Answer> answer() { return promise_.get_future(); }

 private:
  Answer answer_;
  std::promise<Answer> promise_;
};

/// Returns the answers of `weft generate --chat`.
std::vector<std::string> answers_alone() {
  cli::ModelOptions options;
  options.path = model_path;
  options.threads = 1;
  const Tokenizer tokenizer = load_tokenizer(model_path).value();
  const ChatEncoder chat(tokenizer);
  const auto device = cli::load_alone(open_model(model_path).value(), options, kContext).value();
  std::vector<std::string> answers;
  for (const std::string& question : questions) {
    SequenceRunner runner(*device);
    Conversation conversation{.messages = cli::one_question("", question)};
    auto input = chat.encode(std::move(conversation), wall_clock()).value();
    std::vector<TokenId> ids;
    while (std::ssize(ids) < kLongestAnswer) {
      TokenId next = kNoToken;
      const auto choose = [&](ConstRows rows) {
        next = sample({rows.row(0), static_cast<std::size_t>(rows.width)}, {}, {});
      };
      runner.feed(input, choose, true).value();
      if (std::ranges::count(tokenizer.end_tokens(), next) > 0) break;
      ids.push_back(next);
      input = {next};
    }
    answers.push_back(tokenizer.decode(ids, true).value());
  }
  return answers;
}

class DemoModelPipeline : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Replicas, DemoModelPipeline,
                         testing::Values("1", "2", "cpu,cpu; cpu,cpu"));

TEST_P(DemoModelPipeline, AnswersConversationsAsTheModelAloneDoes) {
  Config config;
  config.replicas = GetParam();
  config.model = model_path;
  config.threads = 1;
  config.max_rows = 4;
  config.max_context = kContext;
  boost::asio::thread_pool application(1);
  std::vector<std::future<Answer>> answers;
  {
    Pipeline pipeline(application.get_executor(), config);
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (const std::string& question : questions) {
        Request request;
        request.messages = cli::one_question("", question);
        request.max_tokens = kLongestAnswer;
        request.sampling.temperature = 0;
        auto sink = std::make_shared<Sink>();
        answers.push_back(sink->answer());
        pipeline.submit(RequestTicket(pipeline.make_request(std::move(request), sink)));
      }
    }
    for (const auto& answer : answers) answer.wait();
    const EngineStats stats = pipeline.stats();
    EXPECT_EQ(stats.rows, config.replicas == "1" ? 4 : 8);
    EXPECT_EQ(stats.max_context, kContext);
  }
  const std::vector<std::string> wanted = answers_alone();
  ASSERT_EQ(wanted[0], "12 + 30 = 42.");
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer answer = answers[i].get();
    EXPECT_EQ(answer.text, wanted[i % wanted.size()]);
    EXPECT_TRUE(answer.end.reason == FinishReason::kStop ||
                answer.end.reason == FinishReason::kLength)
        << to_string(answer.end.error);
    EXPECT_GT(answer.end.usage.prompt_tokens, 0);
  }
}

/// Returns, of each of some requests that draw, its tokens and their logprobs.
std::vector<std::pair<std::vector<TokenId>, std::vector<float>>> draws(const char* replicas) {
  Config config;
  config.model = model_path;
  config.threads = 4;
  config.max_rows = 4;
  config.max_context = kContext;
  config.replicas = replicas;
  boost::asio::thread_pool application(1);
  Pipeline pipeline(application.get_executor(), config);
  std::vector<std::future<Answer>> answers;
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    Request request;
    request.messages = cli::one_question("", questions[seed % questions.size()]);
    request.max_tokens = kLongestAnswer;
    request.sampling.temperature = 1;
    request.sampling.seed = seed;
    request.sampling.logprobs = true;
    auto sink = std::make_shared<Sink>();
    answers.push_back(sink->answer());
    pipeline.submit(RequestTicket(pipeline.make_request(std::move(request), sink)));
  }
  std::vector<std::pair<std::vector<TokenId>, std::vector<float>>> drawn;
  for (auto& one : answers) {
    Answer answer = one.get();
    drawn.emplace_back(std::move(answer.tokens), std::move(answer.logprobs));
    EXPECT_FALSE(drawn.back().first.empty());
    EXPECT_EQ(drawn.back().first.size(), drawn.back().second.size());
  }
  return drawn;
}

TEST(DemoModelReplicas, GiveTheBitsThatOneEngineGives) {
  const auto one = draws("1");
  EXPECT_EQ(draws("2"), one);
  EXPECT_EQ(draws("3"), one);
}

TEST(DemoModelSlabs, WithSlabsAsManyRowsRunAsHaveOne) {
  Config config;
  config.model = model_path;
  config.threads = 1;
  config.kv_layout = KvLayout::kSlab;
  config.max_pages = 70;
  config.page_tokens = 16;
  config.max_context = 320;
  boost::asio::thread_pool application(1);
  const Pipeline pipeline(application.get_executor(), config);
  EXPECT_EQ(pipeline.stats().rows, 3);
  EXPECT_EQ(pipeline.stats().pages, 60);
}

}  // namespace
}  // namespace weft::test
