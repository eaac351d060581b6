// The engine with real models of the tree, each with its own pipeline.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/loading/served_model.h"
#include "weft/actors/models/model_host.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using testing::HasSubstr;
using testing::Not;

ModelConfig demo(std::string name) {
  ModelConfig model;
  model.name = std::move(name);
  model.config.model = test::source_path("examples/demo_model/model");
  model.config.threads = 1;
  model.config.max_rows = 2;
  model.config.max_pages = 64;
  model.config.max_context = 1024;
  model.config.preprocess_workers = 1;
  return model;
}

ModelsConfig two_demos() {
  ModelsConfig config;
  config.models = {demo("one"), demo("two")};
  return config;
}

class EngineModelsTest : public testing::Test {
 public:
  void start() { engine = Engine::create(io.get_executor(), config).value(); }
  void TearDown() override {
    engine.reset();
    work.reset();
    runner.join();
  }
  static Request request(std::string model) {
    Request request;
    request.model = std::move(model);
    request.prompt = "Once upon a time";
    request.max_tokens = 24;
    request.sampling.temperature = 0;
    return request;
  }
  GenerationResult generate(const std::string& model) {
    return engine->async_generate(request(model), asio::use_future).get();
  }

  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::thread runner{[this] { io.run(); }};
  ModelsConfig config = two_demos();
  std::optional<Engine> engine;
};

TEST_F(EngineModelsTest, AnswersByEachModelAsItDoesAlone) {
  start();
  auto first = engine->async_generate(request("one"), asio::use_future);
  auto second = engine->async_generate(request("two"), asio::use_future);
  const std::string text = first.get().choices.at(0).text;
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(second.get().choices.at(0).text, text) << "it is the same model, by another name";
  const std::string metrics = engine->metrics_text();
  EXPECT_THAT(metrics, HasSubstr("weft_requests_finished_total{class=\"chat\",model=\"one\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("weft_requests_finished_total{class=\"chat\",model=\"two\"} 1\n"));
  EXPECT_EQ(engine->stats().finished, 2U);
  EXPECT_EQ(engine->stats().rows, 4);
}

TEST_F(EngineModelsTest, StreamsOneModelWhileAnotherGoesAndComes) {
  start();
  const std::string alone = generate("one").choices.at(0).text;
  std::vector<std::future<GenerationResult>> running;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      running.push_back(engine->async_generate(request("one"), asio::use_future));
    }
    auto last = engine->async_generate(request("two"), asio::use_future);
    engine->async_unload("two", asio::use_future).get();
    EXPECT_EQ(last.get().choices.at(0).text, alone) << "it was under way, and came to its end";
    EXPECT_EQ(engine->models()->find("two")->model, nullptr);
    EXPECT_THAT(engine->metrics_text(), HasSubstr("weft_kv_pages_used{model=\"two\"} 0\n"));
    engine->async_load("two", asio::use_future).get();
    EXPECT_EQ(generate("two").choices.at(0).text, alone);
  }
  for (auto& one : running) EXPECT_EQ(one.get().choices.at(0).text, alone);
}

TEST_F(EngineModelsTest, GivesMemoryBackWithTheModel) {
  for (ModelConfig& model : config.models) model.config.max_pages = 0;
  config.memory_bytes = 34 << 20;  // weights of 10 MB, and 8 MB of keys and values or less
  start();
  const std::int32_t both = engine->stats().pages;
  engine->async_unload("two", asio::use_future).get();
  EXPECT_LT(engine->stats().pages, both);
  // It would not fit if it had not given its part back.
  for (int i = 0; i < 3; ++i) {
    engine->async_load("two", asio::use_future).get();
    EXPECT_EQ(engine->stats().pages, both);
    engine->async_unload("two", asio::use_future).get();
  }
}

TEST_F(EngineModelsTest, HasTheWeightsOfTheSameFilesOnceForAsLongAsAnybodyUsesThem) {
  for (ModelConfig& model : config.models) model.config.max_pages = 0;
  config.memory_bytes = 34 << 20;  // weights of 10 MB, and 8 MB of keys and values or less
  start();
  const auto weights = engine->models()->find("one")->model->facts.stored_bytes;
  ASSERT_GT(weights, 0);
  const std::string alone = generate("two").choices.at(0).text;
  const std::int32_t both = engine->stats().pages;
  engine->async_unload("one", asio::use_future).get();
  const std::int32_t second = engine->stats().pages;
  EXPECT_GT(second, both - second) << "its part is all for keys and values";
  EXPECT_EQ(generate("two").choices.at(0).text, alone) << "the weights are still there";
  // Nobody has to load them again, and what the first leaves is not given away twice.
  engine->async_load("one", asio::use_future).get();
  EXPECT_EQ(engine->stats().pages, 2 * second);
  EXPECT_EQ(generate("one").choices.at(0).text, alone);
}

TEST_F(EngineModelsTest, SaysWhyAModelDoesNotLoad) {
  config.models[1].config.model = "/no/such/model";
  start();
  const ModelInfo& failed = *engine->models()->find("two");
  EXPECT_EQ(failed.state, ModelState::kFailed);
  EXPECT_THAT(to_string(failed.failure), HasSubstr("/no/such/model"));
  EXPECT_FALSE(generate("one").choices.at(0).text.empty());
}

TEST_F(EngineModelsTest, HasNoLabelForAModelThatIsAlone) {
  config.models.pop_back();
  start();
  EXPECT_FALSE(generate("").choices.at(0).text.empty());
  EXPECT_THAT(engine->metrics_text(), Not(HasSubstr("model=")));
}

}  // namespace
}  // namespace weft
