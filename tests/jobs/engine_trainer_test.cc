// The demo model is fine-tuned by an engine.

#include "weft/jobs/engine_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "weft/actors/models/model_list.h"
#include "weft/config/models_config.h"
#include "weft/core/io/file.h"
#include "weft/jobs/fine_tuning.h"
#include "weft/jobs/jobs_error.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/jobs/fake_trainer.h"

namespace weft::test {
namespace {

namespace asio = boost::asio;
using testing::HasSubstr;

constexpr const char* kConversations =
    R"({"messages":[{"role":"user","content":"Who?"},{"role":"assistant","content":"A weaver."}]}
{"messages":[{"role":"user","content":"What?"},{"role":"assistant","content":"Cloth."}]}
{"text":"Warp and weft."}
)";

class EngineTrainerTest : public testing::Test {
 public:
  EngineTrainerTest() {
    config.model = source_path("examples/demo_model/model");
    config.threads = 1;
    config.max_rows = 2;
    config.max_pages = 64;
    config.max_context = 256;
    config.training_folder = (temp.path() / "training").string();
    config.training_checkpoint_steps = 2;
  }
  ~EngineTrainerTest() override { stop(); }

  void start() {
    io.restart();
    work.emplace(io.get_executor());
    runner = std::thread([this] { io.run(); });
    engine = std::make_unique<Engine>(
        Engine::create(io.get_executor(), ModelsConfig::of(config, "demo")).value());
    tuning = FineTuning::open(config, std::make_unique<EngineTrainer>(*engine, config,
                                                                      completions.get_executor()))
                 .value();
  }
  /// Ends everything as a server does: the application's context first.
  void stop() {
    work.reset();
    io.stop();
    if (runner.joinable()) runner.join();
    tuning = nullptr;
    engine = nullptr;
  }
  [[nodiscard]] JobRecord request(const std::string& data = kConversations) const {
    JobRecord job;
    job.model = "demo";
    job.suffix = "mine";
    job.settings.epochs = 2;
    job.settings.batch = 2;
    job.settings.rate_multiplier = 10;
    job.settings.rank = 4;
    job.settings.targets = {"q", "v"};
    job.settings.seed = 5;
    job.training_file = tuning->files()
                            .add({.name = "a", .purpose = std::string(kFineTunePurpose)}, data)
                            .value()
                            .id;
    return job;
  }
  [[nodiscard]] JobRecord ended(const std::string& id) const {
    EXPECT_TRUE(comes_true([&] { return is_over(tuning->job(id, "")->status); }));
    return tuning->job(id, "").value();
  }
  [[nodiscard]] std::string adapter(const std::string& id) const {
    const auto folder = std::filesystem::path(config.training_folder) / "jobs" / id / "adapter";
    return read_text_file(folder / "adapter_model.safetensors", kAnySize).value();
  }

  TempFolder temp;
  Config config;
  asio::io_context io;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread runner;
  asio::thread_pool completions{1};
  std::unique_ptr<Engine> engine;
  std::unique_ptr<FineTuning> tuning;
};

TEST_F(EngineTrainerTest, AJobThatAServerStopsAndContinuesHasTheBitsOfOneThatRunsThrough) {
  start();
  const std::string whole = tuning->create(request()).value().id;
  const JobRecord done = ended(whole);
  ASSERT_EQ(done.status, JobStatus::kSucceeded);
  EXPECT_EQ(done.steps, 4) << "two steps an epoch";
  ASSERT_TRUE(engine->models()->named(done.fine_tuned_model));
  Request ask;
  ask.adapter = done.fine_tuned_model;
  ask.prompt_tokens = {5, 6, 7};
  ask.max_tokens = 2;
  EXPECT_EQ(engine->async_generate(std::move(ask), asio::use_future).get().choices.size(), 1U);

  const std::string cut = tuning->create(request()).value().id;
  ASSERT_TRUE(comes_true([&] { return tuning->job(cut, "")->steps_done >= 3; }));
  stop();
  start();
  ASSERT_EQ(ended(cut).status, JobStatus::kSucceeded);
  EXPECT_EQ(adapter(cut), adapter(whole));
  EXPECT_TRUE(engine->models()->named(done.fine_tuned_model)) << "it is served again";
}

TEST_F(EngineTrainerTest, AModelIsServedAgainWhenItsBaseComesBack) {
  start();
  const std::string id = tuning->create(request()).value().id;
  const JobRecord done = ended(id);
  ASSERT_EQ(done.status, JobStatus::kSucceeded);
  engine->async_unload("demo", asio::use_future).get();
  EXPECT_FALSE(engine->models()->named(done.fine_tuned_model));
  engine->async_load("demo", asio::use_future).get();
  tuning->on_base_loaded("demo");
  EXPECT_TRUE(
      comes_true([&] { return engine->models()->named(done.fine_tuned_model).has_value(); }));
}

TEST_F(EngineTrainerTest, AMistakeThatTokensAloneShowIsNamedByItsLine) {
  start();
  const std::string data =
      "{\"text\":\"fine\"}\n{\"weight\":1e-30,\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
      "{\"role\":\"assistant\",\"content\":\"b\",\"weight\":1e-30}]}\n";
  const JobRecord job = ended(tuning->create(request(data)).value().id);
  ASSERT_EQ(job.status, JobStatus::kFailed);
  EXPECT_EQ(job.failure->code, "invalid_training_file");
  EXPECT_THAT(job.failure->message, testing::StartsWith("line 2: messages[1].weight: "));
}

TEST_F(EngineTrainerTest, RefusesWhatShowsAtOnce) {
  start();
  JobRecord job = request();
  job.settings.rank = 64;
  EXPECT_THAT(tuning->create(job).error().detail, HasSubstr("lora_rank: is more than 16"));
  job = request();
  job.model = "another";
  EXPECT_THAT(tuning->create(job).error().detail, HasSubstr("model: this server has no model"));
  engine->async_unload("demo", asio::use_future).get();
  EXPECT_THAT(tuning->create(request()).error().detail, HasSubstr("model: is not loaded"));
  stop();
  config.training = TrainingKind::kOff;
  start();
  EXPECT_THAT(tuning->create(request()).error().detail, HasSubstr("training.policy is \"off\""));
}

TEST_F(EngineTrainerTest, AModelWithABlockThatHasNoGradientIsRefusedWithTheJob) {
  config.model = source_path("tests/model/data/goldens/bloom");
  config.max_context = 64;
  start();
  EXPECT_THAT(tuning->create(request()).error().detail,
              HasSubstr("model: cannot be trained: 0.attention.alibi: has no gradient here"));
  EXPECT_TRUE(tuning->jobs("").empty());
}

TEST_F(EngineTrainerTest, AJobOfTooManyStepsFailsByTheFieldThatGivesThem) {
  start();
  std::string data;
  for (int i = 0; i < 101; ++i) data += "{\"text\":\"a\"}\n";
  JobRecord job = request(data);
  job.settings.batch = 1;
  job.settings.epochs = 1'000;
  const JobRecord failed = ended(tuning->create(job).value().id);
  ASSERT_EQ(failed.status, JobStatus::kFailed);
  EXPECT_EQ(failed.failure->param, "n_epochs");
  EXPECT_THAT(failed.failure->message, HasSubstr("gives 101000 steps"));
}

}  // namespace
}  // namespace weft::test
