#include "weft/train/tuning_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/train/job_case.h"
#include "weft/tests/train/training_case.h"
#include "weft/train/data/adapter_writer.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

using test::job_of;
using test::numbers_of;
using test::TrainingCase;
using testing::HasSubstr;

TEST(TuningJobTest, LearnsAndGivesTheSameBitsOnAnyNumberOfThreads) {
  const TrainingCase golden("llama");
  TuningJob job = job_of(golden);
  TuningJob other = job_of(golden, {.threads = 3});
  const double first = job.step().value().loss;
  double last = first;
  while (!job.is_done()) last = job.step().value().loss;
  EXPECT_LT(last, first);
  EXPECT_EQ(job.steps_done(), job.steps());
  while (!other.is_done()) (void)other.step().value();
  EXPECT_EQ(numbers_of(job), numbers_of(other));
}

TEST(TuningJobTest, GoesOnWithTheSameBitsFromASavedState) {
  const TrainingCase golden("qwen2");
  const test::TempFolder folder;
  const auto path = folder.path() / "state";
  TuningJob whole = job_of(golden);
  TuningJob before = job_of(golden);
  for (int i = 0; i < 5; ++i) (void)before.step().value();
  ASSERT_TRUE(before.save(path));
  ASSERT_TRUE(before.save(path));  // over the earlier one
  TuningJob behind = job_of(golden);
  ASSERT_TRUE(behind.restore(path));
  EXPECT_EQ(behind.steps_done(), 5);
  while (!whole.is_done()) (void)whole.step().value();
  while (!behind.is_done()) (void)behind.step().value();
  EXPECT_EQ(numbers_of(whole), numbers_of(behind));
}

TEST(TuningJobTest, AStateOfAnotherJobIsRefused) {
  const TrainingCase golden("llama");
  const test::TempFolder folder;
  const auto path = folder.path() / "state";
  ASSERT_TRUE(job_of(golden, {.name = "one"}).save(path));
  TuningJob other = job_of(golden, {.name = "another"});
  const auto restored = other.restore(path);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, TrainErrc::kBadState);
  EXPECT_THAT(restored.error().detail, HasSubstr("another model, other data or other settings"));
  std::ofstream(path, std::ios::trunc) << "nothing";
  EXPECT_FALSE(other.restore(path));
}

TEST(TuningJobTest, TheAdapterThatIsWrittenHasThePairsThatWereTrained) {
  for (const char* name : {"llama", "gpt2", "phi3", "gpt_neox"}) {
    const TrainingCase golden(name);
    TuningJob job = job_of(golden);
    for (int i = 0; i < 3; ++i) (void)job.step().value();
    const test::TempFolder folder;
    ASSERT_TRUE(write_peft_adapter(folder.path(), job.pairs(), "base"));
    const OpenedModel base = golden.open();
    const Adapter adapter = bind_adapter(read_adapter(folder.path()).value(), *base.checkpoint,
                                         *base.program, *base.architecture)
                                .value();
    ASSERT_EQ(adapter.targets.size(), job.pairs().pairs.size()) << name;
    for (std::size_t i = 0; i < adapter.targets.size(); ++i) {
      EXPECT_EQ(adapter.targets[i].a, job.pairs().pairs[i].a) << name;
      EXPECT_EQ(adapter.targets[i].b, job.pairs().pairs[i].b) << name;
      EXPECT_EQ(adapter.targets[i].scale, job.pairs().pairs[i].scale) << name;
    }
  }
}

TEST(TuningJobTest, ModulesWithoutAPairAreNotNamedAsTargets) {
  LowRankPairs pairs;
  pairs.rank = 1;
  pairs.alpha = 2;
  LowRankPair& pair = pairs.pairs.emplace_back();
  pair.module = "transformer.h.0.attn.c_proj";
  pair.rank = pair.inputs = pair.outputs = 1;
  pair.a = pair.b = {1};
  pairs.other_modules = {"transformer.h.0.mlp.c_proj", "transformer.h.0.attn.c_attn"};
  const test::TempFolder folder;
  ASSERT_TRUE(write_peft_adapter(folder.path(), pairs, "base"));
  const std::string config =
      read_text_file(folder.path() / "adapter_config.json", kAnySize).value();
  EXPECT_THAT(config, HasSubstr(R"("target_modules":["attn.c_proj"])"));
  EXPECT_THAT(config, HasSubstr(R"("lora_alpha":2)"));
}

}  // namespace
}  // namespace weft
