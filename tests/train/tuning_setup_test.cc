#include "weft/train/tuning_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/train/train_error.h"
#include "weft/train/tuning_work.h"

namespace weft::test {
namespace {

using testing::HasSubstr;

constexpr const char* kLines = R"({"text": "warp"}
{"text": "weft"}
{"text": "cloth"}
)";

class TuningSetupTest : public testing::Test {
 public:
  TuningSetupTest() {
    setup.model = source_path("examples/demo_model/model");
    setup.data = folder.write("data.jsonl", kLines);
    setup.pairs.rank = 2;
    setup.pairs.roles = {TargetRole::kQuery};
    setup.threads = 1;
    setup.choose_steps = [this](const Examples& examples,
                                BatchPlan& plan) -> Result<OptimizerSettings> {
      examples_seen = examples.all.size();
      plan.batch = 2;
      OptimizerSettings optimizer;
      optimizer.steps = plan.steps_of_epoch();
      return optimizer;
    };
  }
  [[nodiscard]] Result<TuningJob> make(const LoadProgress& progress = {}) const {
    return make_tuning_job(open_model(setup.model).value(), setup, progress);
  }

  TempFolder folder;
  TuningSetup setup;
  std::size_t examples_seen = 0;
};

TEST_F(TuningSetupTest, TheStepsFollowFromTheExamples) {
  const auto job = make();
  ASSERT_TRUE(job) << job.error().detail;
  EXPECT_EQ(examples_seen, 3U);
  EXPECT_EQ(job->steps(), 2);
  EXPECT_EQ(job->pairs().rank, 2);
}

TEST_F(TuningSetupTest, AnErrorOfTheStepsComesBeforeTheWeights) {
  setup.choose_steps = [](const Examples&, BatchPlan&) -> Result<OptimizerSettings> {
    return Error{TrainErrc::kBadSetting, "steps: too many"};
  };
  bool loads = false;
  const auto job = make([&](std::int64_t, std::int64_t) { loads = true; });
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().detail, "steps: too many");
  EXPECT_FALSE(loads);
}

TEST_F(TuningSetupTest, TheFirstPairsMayBeGiven) {
  setup.first_pairs = [](const TrainingProgram&) -> Result<LowRankPairs> {
    return Error{TrainErrc::kBadSetting, "--init: no"};
  };
  EXPECT_EQ(make().error().detail, "--init: no");
}

TEST_F(TuningSetupTest, AStopEndsTheReadingOfExamples) {
  std::stop_source stop;
  stop.request_stop();
  LoadProgress progress;
  progress.stop = stop.get_token();
  try {
    (void)make(progress);
    ADD_FAILURE() << "it was not stopped";
  } catch (const boost::system::system_error& stopped) {
    EXPECT_EQ(stopped.code(), boost::asio::error::operation_aborted);
  }
  EXPECT_EQ(examples_seen, 0U);
}

TEST_F(TuningSetupTest, AStopAlsoEndsALineOfManyAnswers) {
  const Tokenizer tokenizer = load_tokenizer(setup.model).value();
  std::stop_source stop;
  stop.request_stop();
  ExampleReader::Options options;
  options.stop = stop.get_token();
  const ExampleReader reader(tokenizer, options);
  EXPECT_THROW((void)reader.read_line(R"({"messages": [{"role": "user", "content": "a"},
                                          {"role": "assistant", "content": "b"}]})"),
               boost::system::system_error);
}

TEST_F(TuningSetupTest, AGgufFileIsRefusedBeforeItsDataIsRead) {
  const auto model =
      open_model(source_path("tests/model/data/goldens_gguf/apertus/model.gguf")).value();
  setup.data = "absent.jsonl";
  const auto job = make_tuning_job(model, setup, {});
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, TrainErrc::kCannotTrain);
  EXPECT_THAT(job.error().detail, HasSubstr("GGUF"));
}

TEST_F(TuningSetupTest, PairsAreCheckedWithoutTheirMemory) {
  const auto model = open_model(setup.model).value();
  const TrainingProgram training = trainable_program(model).value();
  constexpr std::int64_t kHuge = std::int64_t{1} << 50;
  const std::vector<std::string> all;
  const std::vector<std::string> wrong = {"q", "x"};
  EXPECT_TRUE(check_pairs(training, pair_settings(kHuge, 0, all, 0).value()));
  EXPECT_THAT(pair_settings(4, 0, wrong, 0).error().detail, HasSubstr("targets: \"x\""));
  EXPECT_EQ(pair_settings(4, 0, all, 0)->alpha, 8);
  EXPECT_EQ(pair_settings(4, 3, all, 0)->alpha, 3);
  EXPECT_EQ(pair_settings(4, 0, all, 0)->roles.size(), kTargetNames.size());
  PairSettings none;
  EXPECT_THAT(check_pairs(training, none).error().detail, HasSubstr("no product of these roles"));
}

TEST_F(TuningSetupTest, TheWorkHasTheReportOfItsLastStep) {
  TuningWork work(make().value());
  EXPECT_EQ(work.last_step().step, 0);
  for (std::int64_t step = 1; step <= 2; ++step) {
    TrainingPiece piece;
    while (!piece.ends_iteration) piece = work.run_piece().value();
    EXPECT_EQ(work.last_step().step, step);
    EXPECT_EQ(work.last_step().loss, piece.loss);
    EXPECT_EQ(piece.ends_work, step == 2);
  }
}

}  // namespace
}  // namespace weft::test
