#include "weft/actors/engine/load_engine.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstddef>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/served_model.h"
#include "weft/sampling/logit_processor.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

Config demo_config() {
  Config config;
  config.model = test::source_path("examples/demo_model/model");
  config.threads = 1;
  config.max_rows = 2;
  config.max_pages = 64;
  return config;
}

struct LoadEngineTest : testing::Test {
  /// Runs to the completion.
  Result<Engine> load(Config config, PipelineOptions options = {}) {
    std::optional<Result<Engine>> loaded;
    async_load_engine(io.get_executor(), std::move(config), std::move(options),
                      asio::bind_cancellation_slot(signal.slot(), [&](Result<Engine> engine) {
                        loaded = std::move(engine);
                      }));
    EXPECT_FALSE(loaded) << "within the call";
    while (!loaded && io.run_one() != 0) {
    }
    return *std::move(loaded);
  }

  asio::io_context io;
  asio::cancellation_signal signal;
};

TEST_F(LoadEngineTest, GivesAnEngineThatServesAndTellsOfItsModel) {
  Result<Engine> engine = load(demo_config());
  ASSERT_TRUE(engine) << to_string(engine.error());
  const auto model = engine->model();
  EXPECT_GT(model->context, 0);
  EXPECT_FALSE(model->end_tokens.empty());
  const std::string text = "What is 12 + 30?";
  std::vector<TokenId> ids;
  ASSERT_TRUE(model->tokenizer.encode(text, {}, ids));
  EXPECT_FALSE(ids.empty());
  Request request;
  request.prompt_tokens = ids;
  request.max_tokens = 2;
  request.sampling.ignore_eos = true;
  auto result = engine->async_generate(std::move(request), asio::use_future);
  io.restart();
  while (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) io.run_one();
  EXPECT_EQ(result.get().usage.output_tokens, 2);
}

/// Counts up from the last token of the prompt; a prompt of token 9 is too much.
class CountingProcessor final : public LogitProcessor {
 public:
  void process(const LogitContext& context, std::span<float> logits) override {
    if (context.tokens.back() == 9) throw std::runtime_error("nine");
    for (std::size_t token = 0; token < logits.size(); ++token) {
      const bool next = std::cmp_equal(token, context.tokens.back() + 1);
      logits[token] = next ? 0 : -std::numeric_limits<float>::infinity();
    }
  }
};

TEST_F(LoadEngineTest, ALogitProcessorChoosesForItsRequestAndEndsNoOther) {
  Result<Engine> engine = load(demo_config());
  ASSERT_TRUE(engine) << to_string(engine.error());
  const auto ask = [&](TokenId prompt) {
    Request request;
    request.prompt_tokens = {prompt};
    request.max_tokens = 3;
    request.sampling.ignore_eos = true;
    request.sampling.logit_processor = std::make_shared<CountingProcessor>();
    return engine->async_generate(std::move(request),
                                  asio::use_future([](error_code error, GenerationResult result) {
                                    return std::pair(error, std::move(result));
                                  }));
  };
  auto counted = ask(20);
  auto failed = ask(9);
  io.restart();
  for (auto* one : {&counted, &failed}) {
    while (one->wait_for(std::chrono::seconds(0)) != std::future_status::ready) io.run_one();
  }
  EXPECT_EQ(counted.get().second.choices.at(0).tokens, (std::vector<TokenId>{21, 22, 23}));
  EXPECT_EQ(failed.get().first, EngineErrc::kNoTokenLeft);
}

TEST_F(LoadEngineTest, SaysWhyThereIsNone) {
  Config config = demo_config();
  config.model = "/nowhere";
  const Result<Engine> engine = load(std::move(config));
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().detail.find("/nowhere"), std::string::npos);
}

TEST_F(LoadEngineTest, IsCancelledWhileItLoads) {
  PipelineOptions options;
  int told = 0;
  options.progress = [&](std::int64_t /*done*/, std::int64_t /*total*/) {
    if (++told == 1) signal.emit(asio::cancellation_type::terminal);
  };
  const Result<Engine> engine = load(demo_config(), std::move(options));
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, asio::error::operation_aborted);
  EXPECT_EQ(told, 1) << "the rest of the weights was loaded, too";
}

}  // namespace
}  // namespace weft
