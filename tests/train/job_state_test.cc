#include "weft/train/data/job_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/io/byte_source.h"
#include "weft/core/io/file.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/train/job_case.h"
#include "weft/tests/train/training_case.h"
#include "weft/train/data/content_hash.h"
#include "weft/train/data/tensor_file.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

using test::job_of;
using test::numbers_of;
using test::TrainingCase;
using testing::HasSubstr;

JobState small_state() {
  JobState state;
  state.steps_done = (std::int64_t{3} << 20U) + 5;
  LowRankPair& pair = state.pairs.emplace_back();
  pair.tensor = "w";
  pair.a = {1, -2};
  pair.b = {3};
  state.moments.push_back({{0.5F, -0.5F}, {0.25F, 0}, {7}, {8}});
  return state;
}

class JobStateTest : public testing::Test {
 protected:
  [[nodiscard]] Result<void> write(const JobState& state) const {
    return write_state(path_, "job", state.steps_done, state.pairs, state.moments);
  }
  [[nodiscard]] Result<JobState> read(std::int64_t steps = kMostSteps) const {
    JobState like = small_state();
    like.steps_done = 0;
    like.pairs[0].a = like.pairs[0].b = {};
    like.pairs[0].a.resize(2);
    like.pairs[0].b.resize(1);
    return read_state(path_, "job", steps, std::move(like));
  }
  /// Why a state that was changed is refused.
  [[nodiscard]] std::string refusal(const std::function<void(JobState&)>& change) const {
    JobState state = small_state();
    change(state);
    EXPECT_TRUE(write(state));
    return refusal();
  }
  [[nodiscard]] std::string refusal() const {
    const auto state = read();
    if (state) return "none";
    EXPECT_EQ(state.error().code, TrainErrc::kBadState);
    EXPECT_THAT(state.error().detail, HasSubstr(path_.string() + ": "));
    return state.error().detail;
  }

  const test::TempFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "state";
};

TEST_F(JobStateTest, ReadsWhatWasWritten) {
  const JobState state = small_state();
  ASSERT_TRUE(write(state));
  const JobState got = read().value();
  EXPECT_EQ(got.steps_done, state.steps_done);
  EXPECT_EQ(got.pairs[0].a, state.pairs[0].a);
  EXPECT_EQ(got.pairs[0].b, state.pairs[0].b);
  EXPECT_EQ(got.moments[0].a_second, state.moments[0].a_second);
  EXPECT_EQ(got.moments[0].b_first, state.moments[0].b_first);
}

TEST_F(JobStateTest, NumbersThatNoStateHasAreRefusedByTheirTensor) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(refusal([](JobState& state) { state.pairs[0].a[1] = std::nanf(""); }),
              HasSubstr("w.a has a number"));
  EXPECT_THAT(refusal([&](JobState& state) { state.pairs[0].b[0] = infinity; }),
              HasSubstr("w.b has a number"));
  EXPECT_THAT(refusal([&](JobState& state) { state.moments[0].b_first[0] = -infinity; }),
              HasSubstr("w.b_first has a number"));
  EXPECT_THAT(refusal([](JobState& state) { state.moments[0].a_second[0] = -1; }),
              HasSubstr("w.a_second has a number"));
  EXPECT_THAT(refusal([](JobState& state) { state.pairs[0].a.push_back(1); }),
              HasSubstr("w.a has another size"));
  EXPECT_THAT(refusal([](JobState& state) { state.pairs[0].tensor = "v"; }),
              HasSubstr("has no w.a"));
}

TEST_F(JobStateTest, StepsThatTheJobDoesNotHaveAreRefused) {
  const JobState state = small_state();
  ASSERT_TRUE(write(state));
  EXPECT_TRUE(read(state.steps_done));
  EXPECT_THAT(read(state.steps_done - 1).error().detail, HasSubstr("more steps than the job"));
  for (const std::vector<float>& steps :
       {std::vector<float>{0, 0.5F}, {-1, 0}, {0, 3e6F}, {std::nanf(""), 0}}) {
    std::filesystem::remove(path_);
    ASSERT_TRUE(write_tensor_file(path_, std::vector<NamedNumbers>{{"steps of job", {2}, steps}}));
    EXPECT_THAT(refusal(), testing::AnyOf(HasSubstr("no number of steps"),
                                          HasSubstr("steps of job has a number")));
  }
}

TEST(TuningJobStateTest, ARestoreThatFailsChangesNothing) {
  const TrainingCase golden("llama");
  const test::TempFolder folder;
  const auto path = folder.path() / "state";
  TuningJob saved = job_of(golden);
  (void)saved.step().value();
  ASSERT_TRUE(saved.save(path));
  // The last number of the last tensor.
  std::string bytes = read_text_file(path, kAnySize).value();
  bytes.replace(bytes.size() - 4, 4, "\xff\xff\xff\xff", 4);
  const auto wrong = folder.write("wrong", bytes);
  TuningJob whole = job_of(golden);
  TuningJob job = job_of(golden);
  for (int i = 0; i < 4; ++i) (void)job.run_piece().value();
  const auto restored = job.restore(wrong);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, TrainErrc::kBadState);
  EXPECT_EQ(job.steps_done(), 0);
  EXPECT_FALSE(job.is_between_steps());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(job.step().value().loss, whole.step().value().loss);
  EXPECT_EQ(numbers_of(job), numbers_of(whole));
}

TEST(TuningJobStateTest, AJobOfOtherDataOrSettingsRefusesTheState) {
  const TrainingCase golden("llama");
  const test::TempFolder folder;
  const auto path = folder.path() / "state";
  ASSERT_TRUE(job_of(golden).save(path));
  EXPECT_TRUE(job_of(golden).restore(path));
  EXPECT_FALSE(job_of(golden, {.steps = 13}).restore(path));
  EXPECT_FALSE(job_of(golden, {.rate = 2e-2}).restore(path));
  EXPECT_FALSE(job_of(golden, {.dropout = 0.1}).restore(path));
  EXPECT_FALSE(job_of(golden, {.weight = 0.5F}).restore(path));
  EXPECT_FALSE(job_of(TrainingCase("qwen2")).restore(path));
}

Checkpoint changed(const Checkpoint& from,
                   const std::function<void(CheckpointTensor&, std::vector<std::byte>&)>& change) {
  std::vector<CheckpointTensor> tensors(from.tensors().begin(), from.tensors().end());
  CheckpointTensor& tensor = tensors[1];
  std::vector<std::byte> bytes(tensor.size);
  tensor.read(0, bytes).value();
  change(tensor, bytes);
  tensor.offset = 0;
  tensor.source = std::make_shared<MemorySource>("changed", std::move(bytes));
  return from.with_tensors(std::move(tensors)).value();
}

TEST(ContentHashTest, TellsCheckpointsApart) {
  const OpenedModel model = open_model(test::committed_golden("llama")).value();
  const Checkpoint& own = *model.checkpoint;
  const auto hash = hash_of(own).value();
  const auto other = [&](const auto& change) { return hash_of(changed(own, change)).value(); };
  using Bytes = std::vector<std::byte>;
  EXPECT_EQ(other([](CheckpointTensor&, Bytes&) {}), hash);
  EXPECT_NE(other([](CheckpointTensor&, Bytes& bytes) { bytes.front() ^= std::byte{1}; }), hash);
  EXPECT_NE(other([](CheckpointTensor&, Bytes& bytes) { bytes.back() ^= std::byte{1}; }), hash);
  EXPECT_NE(other([](CheckpointTensor& tensor, Bytes&) { tensor.name += "2"; }), hash);
  EXPECT_NE(other([](CheckpointTensor& tensor, Bytes&) { tensor.shape.push_back(1); }), hash);
  EXPECT_NE(other([](CheckpointTensor& tensor, Bytes&) { tensor.dtype = DType::kI32; }), hash);
}

}  // namespace
}  // namespace weft
