// An engine that fine-tunes the demo model while it answers.

#include <gtest/gtest.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/config/models_config.h"
#include "weft/tests/fixture/fake_training.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/train/job_case.h"
#include "weft/train/tuning_work.h"

namespace weft::test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// An Asio application of one thread.
class Application {
 public:
  Application() : work_(io_.get_executor()), thread_([this] { io_.run(); }) {}
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application() {
    work_.reset();
    thread_.join();
  }
  [[nodiscard]] asio::any_io_executor executor() { return io_.get_executor(); }

 private:
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

Config config_of(TrainingKind kind) {
  Config config;
  config.model = source_path("examples/demo_model/model");
  config.threads = 1;
  config.max_rows = 4;
  config.max_pages = 64;
  config.max_context = 256;
  config.training = kind;
  config.training_deferral_bound = 20ms;
  return config;
}

Request request_of(int number) {
  Request request;
  for (TokenId i = 0; i < 20; ++i) request.prompt_tokens.push_back(5 + (i * 7 + number) % 50);
  request.max_tokens = 10;
  request.sampling.ignore_eos = true;
  request.sampling.temperature = number % 2 == 0 ? 0 : 1;
  request.sampling.seed = static_cast<std::uint64_t>(number);
  return request;
}

/// Asks requests, some of them at once, and returns the tokens of each.
std::vector<std::vector<TokenId>> answers_of(Engine& engine) {
  std::vector<std::vector<TokenId>> answers;
  for (int i = 0; i < 12; i += 3) {
    std::vector<std::future<GenerationResult>> three;
    for (int j = 0; j < 3; ++j) {
      three.push_back(engine.async_generate(request_of(i + j), asio::use_future));
    }
    for (auto& one : three) answers.push_back(one.get().choices.at(0).tokens);
  }
  return answers;
}

JobOptions steps_of(std::int64_t steps) {
  JobOptions options;
  options.steps = steps;
  return options;
}

class EngineTrainingTest : public testing::TestWithParam<TrainingKind> {};
INSTANTIATE_TEST_SUITE_P(Policies, EngineTrainingTest,
                         testing::Values(TrainingKind::kDeferral, TrainingKind::kFill,
                                         TrainingKind::kInferenceFirst,
                                         TrainingKind::kFinishFirst));

TEST_P(EngineTrainingTest, TrainsTheDemoModelWhileItAnswersAsEver) {
  const TrainingCase demo("demo");
  constexpr std::int64_t kSteps = 4;
  TuningJob alone = job_of(demo, steps_of(kSteps));
  while (!alone.is_done()) ASSERT_TRUE(alone.step());
  Application application;
  Engine engine(application.executor(), config_of(GetParam()));
  const auto before = answers_of(engine);

  const auto work = std::make_shared<TuningWork>(job_of(demo, steps_of(kSteps)));
  const TrainingTask task(work);
  auto trained = engine.async_train(task, asio::use_future);
  EXPECT_EQ(answers_of(engine), before);
  EXPECT_EQ(trained.get(), "");
  EXPECT_EQ(answers_of(engine), before);
  const TrainingProgress progress = task.progress();
  EXPECT_EQ(progress.phase, TrainingPhase::kEnded);
  EXPECT_EQ(progress.iterations_done, kSteps);
  EXPECT_GT(progress.loss, 0);
  EXPECT_EQ(numbers_of(work->job()), numbers_of(alone));
}

TEST(EngineTrainingTaskTest, APausedTaskLeavesTheEngineAndContinuesWithTheSameBits) {
  const TrainingCase demo("demo");
  constexpr std::int64_t kSteps = 3;
  TuningJob alone = job_of(demo, steps_of(kSteps));
  while (!alone.is_done()) ASSERT_TRUE(alone.step());
  Application application;
  Engine engine(application.executor(), config_of(TrainingKind::kDeferral));
  const auto work = std::make_shared<TuningWork>(job_of(demo, steps_of(kSteps)));
  const TrainingTask task(work);
  auto trained = engine.async_train(task, asio::use_future);
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t pieces = task.progress().pieces;
    while (task.progress().pieces == pieces && trained.wait_for(0s) != std::future_status::ready) {
      std::this_thread::yield();
    }
    task.pause();
    EXPECT_EQ(engine.async_generate(request_of(1), asio::use_future).get().choices.size(), 1U);
    task.resume();
  }
  EXPECT_EQ(trained.get(), "");
  EXPECT_EQ(numbers_of(work->job()), numbers_of(alone));
}

TEST(EngineTrainingTaskTest, AShutdownEndsTheTaskAndADrainDoesNot) {
  Application application;
  Engine engine(application.executor(), config_of(TrainingKind::kDeferral));
  const auto work = std::make_shared<FakeTraining>(FakeTraining::Options{
      .iterations = 1'000'000'000, .on_piece = [](std::int64_t) -> Result<void> {
        std::this_thread::yield();
        return {};
      }});
  const TrainingTask task(work);
  auto trained = engine.async_train(task, asio::use_future);
  engine.async_drain(asio::use_future).get();
  EXPECT_EQ(task.progress().phase, TrainingPhase::kRunning);
  engine.async_shutdown(asio::use_future).get();
  try {
    trained.get();
    FAIL() << "it ended well";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), EngineErrc::kStopping);
  }
  EXPECT_EQ(task.progress().phase, TrainingPhase::kEnded);
  EXPECT_TRUE(work->adds_up());
}

/// Returns the error with which an engine of several models, or of one, refuses a task or ends it.
/// The engine must have said so before.
boost::system::error_code refusal_of(Engine& engine) {
  const auto can = engine.can_train();
  const auto expected = can ? boost::system::error_code() : can.error().code;
  const TrainingTask task(std::make_shared<FakeTraining>(FakeTraining::Options{}));
  try {
    engine.async_train(task, asio::use_future).get();
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), expected);
    return error.code();
  }
  EXPECT_TRUE(can);
  return {};
}

TEST(EngineTrainingTaskTest, AnEngineSaysByItselfWhyItCannotTrain) {
  Application application;
  Engine engine(application.executor(), config_of(TrainingKind::kOff));
  EXPECT_EQ(refusal_of(engine), EngineErrc::kBadRequest);
  EXPECT_EQ(engine.can_train().error().detail, "training: training.policy is \"off\"");
}

TEST(EngineTrainingTaskTest, AnEngineThatKnowsItsOneModelByNameTrainsItWhileItIsLoaded) {
  Application application;
  Engine engine = Engine::create(application.executor(),
                                 ModelsConfig::of(config_of(TrainingKind::kDeferral), "demo"))
                      .value();
  EXPECT_EQ(refusal_of(engine), boost::system::error_code());
  const TrainingTask endless(
      std::make_shared<FakeTraining>(FakeTraining::Options{.iterations = 1'000'000'000}));
  auto trained = engine.async_train(endless, asio::use_future);
  engine.async_unload("demo", asio::use_future).get();  // which waits for requests alone
  EXPECT_THROW(trained.get(), boost::system::system_error);
  EXPECT_EQ(refusal_of(engine), EngineErrc::kModelNotLoaded);
}

TEST(EngineTrainingTaskTest, AnEngineOfSeveralModelsTrainsNone) {
  Application application;
  ModelsConfig models = ModelsConfig::of(config_of(TrainingKind::kDeferral), "one");
  models.models.push_back(models.models.front());
  models.models.back().name = "two";
  models.models.back().load = false;
  Engine engine = Engine::create(application.executor(), models).value();
  EXPECT_EQ(refusal_of(engine), EngineErrc::kBadRequest);
}

TEST(EngineTrainingTaskTest, CancellationOfTheWaitLetsTheTaskGoOn) {
  Application application;
  Engine engine(application.executor(), config_of(TrainingKind::kDeferral));
  const TrainingTask task(std::make_shared<FakeTraining>(FakeTraining::Options{}));
  task.pause();
  asio::cancellation_signal signal;
  std::promise<boost::system::error_code> ended;
  engine.async_train(
      task, asio::bind_cancellation_slot(
                signal.slot(), [&](boost::system::error_code error, const std::string& /*detail*/) {
                  ended.set_value(error);
                }));
  EXPECT_EQ(task.progress().phase, TrainingPhase::kPaused);
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_EQ(ended.get_future().get(), asio::error::operation_aborted);
  task.resume();
  while (task.progress().phase != TrainingPhase::kEnded) std::this_thread::yield();
  EXPECT_EQ(task.progress().iterations_done, 3);
}

}  // namespace
}  // namespace weft::test
