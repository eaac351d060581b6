// What becomes of jobs whose disk takes no more.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <string>
#include <string_view>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/core/io/file.h"
#include "weft/jobs/files/file_store.h"
#include "weft/jobs/jobs_error.h"
#include "weft/jobs/tuning/job_runner.h"
#include "weft/jobs/tuning/job_store.h"
#include "weft/tests/jobs/fake_trainer.h"
#include "weft/tests/jobs/fine_tuning_fixture.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class FullDiskTest : public FineTuningFixture {};

TEST_F(FullDiskTest, AFullDiskBehindTheLastStepDelaysAJobAndLosesNothing) {
  FileStore files = FileStore::open(temp.path() / "files", {1000, 1000, 10}).value();
  JobStore store = JobStore::open(temp.path() / "jobs", 10).value();
  FakeTrainer trainer(jobs);
  jobs.full_disk = 3;
  const std::string id = store.add(record_of_ann(), temp.write("data", "x"))->id;
  const fs::path record = store.folder_of(id) / "job.json";
  // Behind the last step its record cannot be written either.
  jobs.before_step = [&](std::int64_t step) {
    if (step != jobs.steps) return;
    fs::remove(record);
    fs::create_directories(record / "x");
  };
  const auto events = [&](std::string_view text) {
    return std::ranges::count_if(store.find(id, "ann")->events, [&](const JobEvent& event) {
      return event.text.find(text) != std::string::npos;
    });
  };
  {
    const JobRunner runner(store, files, trainer, {.retry_after = std::chrono::milliseconds(1)});
    EXPECT_TRUE(comes_true([&] { return events("takes no more") == 1; }));
    EXPECT_EQ(store.find(id, "ann")->status, JobStatus::kRunning);
    fs::remove_all(record);
    EXPECT_TRUE(comes_true([&] { return store.find(id, "ann")->status == JobStatus::kSucceeded; }));
  }
  EXPECT_THAT(jobs.steps_that_ran(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(jobs.full_disk, 0);
  EXPECT_EQ(events("takes no more"), 2) << "once for the record, once for the adapter";
  EXPECT_EQ(events("has room again"), 2);
}

TEST_F(FullDiskTest, AJobThatWaitsForItsDiskCanBePausedAndResumed) {
  jobs.full_disk = 1'000'000;
  open();
  const std::string id = create();
  ASSERT_TRUE(waits_for_its_disk(id));
  ASSERT_TRUE(tuning->pause(id, "ann"));
  jobs.full_disk = 0;
  ASSERT_TRUE(tuning->resume(id, "ann"));
  ASSERT_TRUE(reaches(id, JobStatus::kSucceeded));
  EXPECT_THAT(jobs.steps_that_ran(), ElementsAre(1, 2, 3, 4, 5, 6)) << "the state was kept";
  EXPECT_EQ(metrics(id), all_steps());
  jobs.full_disk = 1'000'000;
  const std::string other = create();
  ASSERT_TRUE(waits_for_its_disk(other));
  ASSERT_TRUE(tuning->cancel(other, "ann"));
  tuning.reset();
  EXPECT_FALSE(fs::exists(place(other) / "state"));
}

TEST_F(FullDiskTest, AJobThatIsCancelledOnAFullDiskLetsTheNextOneRun) {
  std::string id;
  std::promise<void> is_known;
  // Its metrics can never be written again, so without a stop it waits for ever.
  jobs.before_step = [&, once = false](std::int64_t step) mutable {
    if (step != jobs.steps || std::exchange(once, true)) return;
    is_known.get_future().wait();
    fs::remove(place(id) / "metrics.csv");
    fs::create_directory(place(id) / "metrics.csv");
  };
  open();
  id = create();
  is_known.set_value();
  ASSERT_TRUE(waits_for_its_disk(id));
  const std::string next = create();
  break_record(id);
  EXPECT_EQ(tuning->cancel(id, "ann").error().code, JobsErrc::kNotWritten);
  EXPECT_EQ(job(id).status, JobStatus::kCancelled);
  EXPECT_EQ(tuning->cancel(id, "ann").error().code, JobsErrc::kNotWritten) << "still";
  ASSERT_TRUE(reaches(next, JobStatus::kSucceeded));
  mend_record(id);
  static_cast<void>(tuning->cancel(id, "ann"));  // or the runner has just written it
  EXPECT_TRUE(is_written_as(id, "cancelled"));
  EXPECT_EQ(tuning->cancel(id, "ann").error().code, JobsErrc::kWrongState);
  tuning.reset();
  open();
  EXPECT_EQ(job(id).status, JobStatus::kCancelled);
}

TEST_F(FullDiskTest, AJobIsPausedThoughTheDiskIsFull) {
  jobs.full_disk = 1'000'000;
  open();
  const std::string id = create();
  ASSERT_TRUE(waits_for_its_disk(id));
  const std::string next = create();
  break_record(id);
  jobs.full_disk = 0;
  EXPECT_EQ(tuning->pause(id, "ann").error().code, JobsErrc::kNotWritten);
  ASSERT_TRUE(reaches(next, JobStatus::kSucceeded));
  EXPECT_EQ(job(id).status, JobStatus::kPaused);
  EXPECT_EQ(tuning->resume(id, "ann").error().code, FileErrc::kCannotWrite);
  mend_record(id);
  static_cast<void>(tuning->pause(id, "ann"));
  EXPECT_TRUE(is_written_as(id, "paused"));
  ASSERT_TRUE(tuning->resume(id, "ann"));
  EXPECT_TRUE(reaches(id, JobStatus::kSucceeded));
}

TEST_F(FullDiskTest, ARecordThatWaitsForTheDiskIsWrittenWithoutACall) {
  FileStore files = FileStore::open(temp.path() / "files", {1000, 1000, 10}).value();
  JobStore store = JobStore::open(temp.path() / "training" / "jobs", 10).value();
  FakeTrainer trainer(jobs);
  const std::string id = store.add(record_of_ann(), temp.write("data", "x"))->id;
  break_record(id);
  ASSERT_FALSE(store.change_anyway(id, [](JobRecord& job) -> Result<void> {
    job.status = JobStatus::kPaused;
    return {};
  }));
  const JobRunner runner(store, files, trainer, {.retry_after = std::chrono::milliseconds(1)});
  mend_record(id);
  EXPECT_TRUE(is_written_as(id, "paused"));
}

TEST_F(FullDiskTest, AModelIsDeletedThoughTheDiskIsFull) {
  open();
  const std::string id = create();
  ASSERT_TRUE(reaches(id, JobStatus::kSucceeded));
  const std::string name = job(id).fine_tuned_model;
  break_record(id);
  EXPECT_EQ(tuning->delete_model(name, "ann").error().code, JobsErrc::kNotWritten);
  EXPECT_TRUE(jobs.served_names().empty());
  EXPECT_FALSE(fs::exists(place(id) / "adapter"));
  mend_record(id);
  tuning.reset();  // writes what waits
  open();
  EXPECT_TRUE(job(id).model_is_deleted);
}

TEST_F(FullDiskTest, AJobThatEndsTwiceHasOneFileOfMetrics) {
  std::string id;
  std::string record;
  std::promise<void> is_known;
  jobs.before_step = [&](std::int64_t step) {
    if (step == 1) is_known.get_future().wait();
  };
  // Its metrics are kept, and its record is not written.
  jobs.behind_serve = [&] {
    record = read_text_file(place(id) / "job.json", kAnySize).value();
    break_record(id);
  };
  open();
  id = create();
  is_known.set_value();
  ASSERT_TRUE(waits_for_its_disk(id));
  const fs::path killed = temp.path() / "killed";
  fs::copy(config.training_folder, killed, fs::copy_options::recursive);
  static_cast<void>(tuning->cancel(id, "ann"));
  tuning.reset();

  fs::remove_all(killed / "jobs" / id / "job.json");
  temp.write("killed/jobs/" + id + "/job.json", record);
  FakeJobs second;
  open(second, killed.string());
  EXPECT_TRUE(reaches(id, JobStatus::kSucceeded));
  EXPECT_EQ(metrics(id), all_steps());
  EXPECT_EQ(tuning->files().list("ann").size(), 2U) << "the data and the metrics";
  tuning.reset();  // before the jobs that it borrows
}

TEST_F(FullDiskTest, AJobWhoseRecordCannotBeWrittenIsNotStuck) {
  open();
  std::string id;
  std::promise<void> is_known;
  jobs.before_step = [&](std::int64_t step) {
    if (step == 1) is_known.get_future().wait();
    // Where the record's new text is to be written there is something else.
    if (step == 3) fs::create_directories(place(id) / "job.json.new" / "x");
  };
  jobs.step_error = Error{EngineErrc::kModelNotLoaded, {}};
  id = create();
  is_known.set_value();
  EXPECT_TRUE(
      comes_true([&] { return job(id).steps_done == 2 && job(id).status == JobStatus::kQueued; }));
}

}  // namespace
}  // namespace weft::test
