#include "weft/jobs/fine_tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/core/metrics.h"
#include "weft/core/prometheus.h"
#include "weft/jobs/jobs_error.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/jobs/fake_trainer.h"
#include "weft/tests/jobs/fine_tuning_fixture.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FineTuningTest : public FineTuningFixture {};

TEST_F(FineTuningTest, AJobBecomesAModelThatIsServed) {
  open();
  const std::string id = create();
  ASSERT_TRUE(reaches(id, JobStatus::kSucceeded));
  const JobRecord done = job(id);
  EXPECT_EQ(done.fine_tuned_model, "ft:base:mine:" + id.substr(6));
  EXPECT_THAT(jobs.served_names(), ElementsAre(done.fine_tuned_model));
  EXPECT_EQ(done.steps, 6);
  EXPECT_EQ(done.steps_done, 6);
  EXPECT_EQ(done.trained_tokens, 60);
  EXPECT_EQ(done.checkpoint->step, 6);
  EXPECT_EQ(done.settings.epochs, 3) << "what auto was";
  EXPECT_GE(done.finished, done.created);
  EXPECT_EQ(metrics(id), all_steps());
  EXPECT_EQ(read_text_file(place(id) / "adapter" / "adapter", kAnySize).value(), "base 6");
  EXPECT_TRUE(comes_true([&] { return !fs::exists(place(id) / "state"); }));
  EXPECT_TRUE(comes_true([&] { return !fs::exists(place(id) / "data.jsonl"); }));
  EXPECT_TRUE(comes_true([&] { return !fs::exists(place(id) / "metrics.csv"); }));
  EXPECT_EQ(done.events.back().text, "The job has successfully completed");
}

TEST_F(FineTuningTest, WhateverStepAProcessIsKilledInTheJobGoesOnFromItsLastState) {
  for (std::int64_t killed_in = 1; killed_in <= 6; ++killed_in) {
    const std::string copy = (temp.path() / ("killed" + std::to_string(killed_in))).string();
    FakeJobs first;
    std::string id;
    std::promise<void> created;
    const auto known = created.get_future().share();
    // What is on the disk before a step is what a kill in that step leaves.
    first.before_step = [&](std::int64_t step) {
      known.wait();
      const std::int64_t saved = (step - 1) / 2 * 2;
      EXPECT_TRUE(comes_true([&] {
        const auto at = job(id).checkpoint;
        return saved == 0 ? !at : at && at->step == saved;
      }));
      if (step == killed_in) fs::copy(config.training_folder, copy, fs::copy_options::recursive);
    };
    open(first, config.training_folder);
    id = create();
    created.set_value();
    ASSERT_TRUE(reaches(id, JobStatus::kSucceeded));
    tuning.reset();

    FakeJobs second;
    open(second, copy);
    ASSERT_TRUE(reaches(id, JobStatus::kSucceeded)) << killed_in;
    const std::int64_t saved = (killed_in - 1) / 2 * 2;
    EXPECT_EQ(second.steps_that_ran().front(), saved + 1);
    EXPECT_EQ(second.steps_that_ran().size(), static_cast<std::size_t>(6 - saved));
    EXPECT_EQ(metrics(id), all_steps()) << killed_in;
    EXPECT_EQ(job(id).trained_tokens, 60);
    tuning.reset();
  }
}

TEST_F(FineTuningTest, APausedJobGoesOnWithoutRepeatingAStep) {
  std::promise<void> third;
  std::promise<void> paused;
  jobs.before_step = [&, once = false](std::int64_t step) mutable {
    if (step != 3 || std::exchange(once, true)) return;
    third.set_value();
    paused.get_future().wait();
  };
  open();
  const std::string id = create();
  third.get_future().wait();
  EXPECT_EQ(tuning->pause(id, "ann")->status, JobStatus::kPaused);
  EXPECT_EQ(tuning->pause(id, "ann").error().code, JobsErrc::kWrongState);
  paused.set_value();
  // The step that ran is finished, and nothing behind it runs.
  ASSERT_TRUE(comes_true([&] { return fs::exists(place(id) / "state"); }));
  ASSERT_TRUE(comes_true([&] { return job(id).checkpoint && job(id).checkpoint->step == 3; }));
  EXPECT_THAT(jobs.steps_that_ran(), ElementsAre(1, 2, 3));
  tuning.reset();
  open();  // it stays paused
  EXPECT_EQ(job(id).status, JobStatus::kPaused);
  EXPECT_EQ(tuning->resume(id, "ann")->status, JobStatus::kQueued);
  ASSERT_TRUE(reaches(id, JobStatus::kSucceeded));
  EXPECT_THAT(jobs.steps_that_ran(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(metrics(id), all_steps());
  EXPECT_EQ(tuning->resume(id, "ann").error().code, JobsErrc::kWrongState);
}

TEST_F(FineTuningTest, ACancelledJobLeavesNothingToGoOnFrom) {
  std::promise<void> third;
  std::promise<void> cancelled;
  jobs.before_step = [&, once = false](std::int64_t step) mutable {
    if (step != 3 || std::exchange(once, true)) return;
    third.set_value();
    cancelled.get_future().wait();
  };
  open();
  const std::string id = create();
  const std::string next = create();
  third.get_future().wait();
  EXPECT_EQ(tuning->cancel(id, "ann")->status, JobStatus::kCancelled);
  cancelled.set_value();
  ASSERT_TRUE(reaches(next, JobStatus::kSucceeded)) << "the next one has its turn";
  EXPECT_EQ(job(id).status, JobStatus::kCancelled);
  EXPECT_FALSE(fs::exists(place(id) / "state"));
  EXPECT_FALSE(fs::exists(place(id) / "data.jsonl"));
  EXPECT_EQ(job(id).fine_tuned_model, "");
  EXPECT_EQ(tuning->cancel(id, "ann").error().code, JobsErrc::kWrongState);
  EXPECT_EQ(jobs.served_names().size(), 1U);
}

TEST_F(FineTuningTest, AServerThatStopsSavesTheJob) {
  std::promise<void> fourth;
  std::promise<void> stopped;
  jobs.before_step = [&, once = false](std::int64_t step) mutable {
    if (step != 4 || std::exchange(once, true)) return;
    fourth.set_value();
    stopped.get_future().wait();
  };
  open();
  const std::string id = create();
  fourth.get_future().wait();
  auto ended = std::async(std::launch::async, [&] { tuning.reset(); });
  stopped.set_value();
  ended.wait();
  const auto ran = jobs.steps_that_ran();
  open();
  ASSERT_TRUE(reaches(id, JobStatus::kSucceeded));
  EXPECT_EQ(jobs.steps_that_ran().size(), 6U) << "no step was lost, from step " << ran.size();
  EXPECT_EQ(metrics(id), all_steps());
}

TEST_F(FineTuningTest, FilesJobsAndStepsAreCounted) {
  open();
  const std::string id = create();
  ASSERT_TRUE(reaches(id, JobStatus::kSucceeded));
  jobs.prepare_error = Error{TrainErrc::kBadData, "no"};
  ASSERT_TRUE(reaches(create(), JobStatus::kFailed));
  ASSERT_TRUE(tuning->files().erase(job(id).training_file, "ann"));
  tuning->refresh_metrics();
  const std::string text = prometheus_text(registry);
  const auto metrics_bytes = std::to_string(all_steps().size() + 13);
  for (const std::string& sample : {std::string("weft_fine_tuning_jobs{status=\"succeeded\"} 1\n"),
                                    std::string("weft_fine_tuning_jobs{status=\"failed\"} 1\n"),
                                    std::string("weft_fine_tuning_jobs{status=\"running\"} 0\n"),
                                    std::string("weft_fine_tuning_steps_total 6\n"),
                                    std::string("weft_fine_tuning_tokens_total 60\n"),
                                    std::string("weft_fine_tuning_step_seconds_count 6\n"),
                                    std::string("weft_fine_tuning_files 2\n"),
                                    "weft_fine_tuning_file_bytes " + metrics_bytes + "\n"}) {
    EXPECT_THAT(text, HasSubstr(sample));
  }
}

TEST_F(FineTuningTest, ThePageOfFineTuningListsEveryMetric) {
  open();
  const std::string page = read_text_file(source_path("docs/fine-tuning.md"), kAnySize).value();
  constexpr std::string_view kBegin = "`weft_fine_tuning_";
  std::set<std::string> listed;
  for (std::size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, at + 1))
    listed.insert(page.substr(at + 1, page.find('`', at + 1) - at - 1));
  std::set<std::string> counted;
  registry.for_each_family(
      [&](const std::string& family, const MetricFamily&) { counted.insert(family); });
  EXPECT_EQ(listed, counted);
}

TEST_F(FineTuningTest, ADeletedFileTakesRoomUntilItsJobHasEnded) {
  config.training_max_files_bytes = 13;
  std::promise<void> deleted;
  jobs.before_step = [&](std::int64_t step) {
    if (step == 1) deleted.get_future().wait();
  };
  open();
  JobRecord one = request("");
  const std::string file = one.training_file;
  const std::string id = tuning->create(one)->id;
  ASSERT_TRUE(tuning->files().erase(file, ""));
  const auto add = [&] {
    return tuning->files().add({.name = "a", .purpose = std::string(kFineTunePurpose)},
                               "{\"text\":\"b\"}\n");
  };
  EXPECT_EQ(add().error().code, JobsErrc::kFull);
  deleted.set_value();
  ASSERT_TRUE(comes_true([&] { return tuning->job(id, "")->status == JobStatus::kSucceeded; }));
  EXPECT_TRUE(add()) << "there was no room for the job's metrics";
}

TEST_F(FineTuningTest, AJobSucceedsThoughItsMetricsAreTooLargeForAFile) {
  config.training_max_file_bytes = 13;
  open();
  const std::string id = create();
  ASSERT_TRUE(comes_true([&] { return is_over(job(id).status); }));
  EXPECT_EQ(job(id).status, JobStatus::kSucceeded);
  EXPECT_THAT(job(id).result_files, testing::IsEmpty());
}

TEST_F(FineTuningTest, AFailureNamesThePlaceInTheFileAndNoPath) {
  open();
  std::string id = create();
  ASSERT_TRUE(reaches(id, JobStatus::kSucceeded));
  jobs.prepare_error = Error{TrainErrc::kBadData, place("ftjob-x") / "data.jsonl"};
  id = create();
  ASSERT_TRUE(reaches(id, JobStatus::kFailed));
  EXPECT_EQ(job(id).failure->code, "invalid_training_file");
  EXPECT_EQ(job(id).failure->param, "training_file");
  EXPECT_EQ(job(id).events.back().level, "error");
  jobs.prepare_error = Error{FileErrc::kCannotRead, "/secret/place"};
  id = create();
  ASSERT_TRUE(reaches(id, JobStatus::kFailed));
  EXPECT_EQ(job(id).failure->code, "server_error");
  EXPECT_THAT(job(id).failure->message, Not(HasSubstr("/secret")));
  const std::scoped_lock lock(mutex);
  EXPECT_THAT(notices.back(), HasSubstr("/secret/place")) << "the operator is told";
}

TEST_F(FineTuningTest, NoReasonOfAFailureIsTooMuchForTheNextStart) {
  open();
  jobs.prepare_error = Error{TrainErrc::kBadData, std::string(17 << 20, 'x') + '\xFF'};
  const std::string large = create();
  ASSERT_TRUE(reaches(large, JobStatus::kFailed));
  jobs.prepare_error = Error{TrainErrc::kBadData, "no UTF-8: \xFF"};
  const std::string broken = create();
  ASSERT_TRUE(reaches(broken, JobStatus::kFailed));
  tuning.reset();
  open();
  EXPECT_EQ(job(large).failure->message.size(), 1'000U);
  EXPECT_EQ(job(broken).failure->message, "no UTF-8: \xEF\xBF\xBD");
}

TEST_F(FineTuningTest, ATrainingThatRunsAwayFailsItsJobAndNotTheNext) {
  jobs.step_error = Error{TrainErrc::kNotFinite, "step 3"};
  open();
  const std::string id = create();
  ASSERT_TRUE(reaches(id, JobStatus::kFailed));
  EXPECT_EQ(job(id).failure->code, "training_not_finite");
  jobs.step_error.reset();
  EXPECT_TRUE(reaches(create(), JobStatus::kSucceeded));
}

TEST_F(FineTuningTest, AModelIsServedAgainAfterARestartUntilItIsDeleted) {
  open();
  const std::string id = create();
  ASSERT_TRUE(reaches(id, JobStatus::kSucceeded));
  const std::string name = job(id).fine_tuned_model;
  tuning.reset();
  FakeJobs second;
  open(second, config.training_folder);
  EXPECT_THAT(second.served_names(), ElementsAre(name));
  EXPECT_EQ(tuning->delete_model(name, "bob").error().code, JobsErrc::kNoSuchJob);
  second.stop_error = Error{EngineErrc::kOverloaded, {}};
  EXPECT_EQ(tuning->delete_model(name, "ann").error().code, EngineErrc::kOverloaded);
  EXPECT_TRUE(fs::exists(place(id) / "adapter")) << "it is still served";
  ASSERT_TRUE(tuning->delete_model(name, "ann"));
  EXPECT_EQ(tuning->delete_model(name, "ann").error().code, JobsErrc::kNoSuchJob);
  EXPECT_TRUE(second.served_names().empty());
  EXPECT_FALSE(fs::exists(place(id) / "adapter"));
  tuning.reset();
  FakeJobs third;
  open(third, config.training_folder);
  EXPECT_TRUE(third.served_names().empty());
  EXPECT_EQ(job(id).fine_tuned_model, name) << "the job still says what it made";
  tuning.reset();  // before the jobs that it borrows
}

TEST_F(FineTuningTest, ModelsAreServedAgainWhenTheirBaseIsLoadedAgain) {
  open();
  const std::string first = create();
  const std::string second = create();
  const std::string deleted = create();
  ASSERT_TRUE(reaches(deleted, JobStatus::kSucceeded));
  ASSERT_TRUE(tuning->delete_model(job(deleted).fine_tuned_model, "ann"));
  jobs.serve_none();
  tuning->on_base_loaded("another");
  tuning->on_base_loaded("base");
  ASSERT_TRUE(comes_true([&] { return jobs.served_names().size() == 2; }));
  EXPECT_THAT(jobs.served_names(), testing::UnorderedElementsAre(job(first).fine_tuned_model,
                                                                 job(second).fine_tuned_model));
}

TEST_F(FineTuningTest, ABaseThatIsAwayAgainIsNoFailure) {
  open();
  const std::string id = create();
  ASSERT_TRUE(reaches(id, JobStatus::kSucceeded));
  tuning.reset();
  jobs.serve_none();
  jobs.serve_error = Error{EngineErrc::kModelNotLoaded, {}};
  open();
  EXPECT_TRUE(jobs.served_names().empty());
  tuning.reset();
  jobs.serve_error = Error{EngineErrc::kBadRequest, "adapter: no"};
  open();
  const std::scoped_lock lock(mutex);
  ASSERT_EQ(notices.size(), 1U) << "of the error that needs somebody";
  EXPECT_THAT(notices.front(), HasSubstr("adapter: no"));
}

TEST_F(FineTuningTest, ABaseThatIsLoadedJustBeforeAJobsEndServesItsModel) {
  // The engine has been given the model, and the record does not name it yet.
  jobs.behind_serve = [&] {
    jobs.serve_none();
    tuning->on_base_loaded("base");
  };
  std::promise<void> is_known;
  jobs.before_step = [&](std::int64_t step) {
    if (step == 1) is_known.get_future().wait();
  };
  open();
  const std::string id = create();
  is_known.set_value();
  ASSERT_TRUE(reaches(id, JobStatus::kSucceeded));
  EXPECT_TRUE(comes_true([&] { return jobs.served_names().size() == 1; }));
}

TEST_F(FineTuningTest, AStateThatDoesNotFitBeginsTheJobAgain) {
  jobs.away = Error{EngineErrc::kBadRequest, "training: no"};
  open();
  const std::string id = create();
  ASSERT_TRUE(reaches(id, JobStatus::kFailed));
  EXPECT_EQ(job(id).failure->code, "not_trained");
  std::promise<void> begun;
  std::promise<void> paused;
  jobs.before_step = [&, once = false](std::int64_t step) mutable {
    if (step != 2 || std::exchange(once, true)) return;
    begun.set_value();
    paused.get_future().wait();
  };
  const std::string other = create();
  begun.get_future().wait();
  ASSERT_TRUE(tuning->pause(other, "ann"));
  paused.set_value();
  ASSERT_TRUE(
      comes_true([&] { return job(other).checkpoint && job(other).checkpoint->step == 2; }));
  tuning.reset();
  temp.write("training/jobs/" + other + "/state", "");
  open();
  ASSERT_TRUE(tuning->resume(other, "ann"));
  ASSERT_TRUE(reaches(other, JobStatus::kSucceeded));
  EXPECT_EQ(metrics(other), all_steps());
  EXPECT_TRUE(std::ranges::any_of(job(other).events, [](const JobEvent& event) {
    return event.text.find("begun again") != std::string::npos;
  }));
}

TEST_F(FineTuningTest, ANewJobWantsAFileOfItsOwnerAndAName) {
  open();
  JobRecord wrong = request();
  wrong.training_file = upload("bob");
  EXPECT_THAT(tuning->create(wrong).error().detail, HasSubstr("training_file: "));
  wrong = request();
  wrong.suffix = "a:b/..";
  EXPECT_THAT(tuning->create(wrong).error().detail, HasSubstr("suffix: "));
  jobs.check_error = Error{JobsErrc::kBadJob, "model: no"};
  EXPECT_EQ(tuning->create(request()).error().detail, "model: no");
  EXPECT_TRUE(tuning->jobs("ann").empty());
}

TEST_F(FineTuningTest, AJobWaitsForAnEngineThatIsAway) {
  FileStore files = FileStore::open(temp.path() / "files", {1000, 1000, 10}).value();
  JobStore store = JobStore::open(temp.path() / "jobs", 10).value();
  FakeTrainer trainer(jobs);
  jobs.away = Error{EngineErrc::kModelNotLoaded, {}};
  const std::string id = store.add(record_of_ann(), temp.write("data", "x"))->id;
  {
    const JobRunner runner(store, files, trainer, {.retry_after = std::chrono::milliseconds(1)});
    EXPECT_TRUE(comes_true([&] { return store.find(id, "ann")->status == JobStatus::kSucceeded; }));
  }
  EXPECT_FALSE(jobs.away) << "it was asked";
  EXPECT_THAT(jobs.steps_that_ran(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(FineTuningTest, BehindAStopNoJobBeginsUntilTheNextStart) {
  open();
  tuning->stop();
  const std::string id = create();
  EXPECT_EQ(job(id).status, JobStatus::kQueued);
  tuning.reset();
  EXPECT_TRUE(jobs.steps_that_ran().empty());
  open();
  EXPECT_TRUE(reaches(id, JobStatus::kSucceeded));
}

TEST_F(FineTuningTest, ANewFolderIsItsOwnersAlone) {
  open();
  EXPECT_EQ(fs::status(config.training_folder).permissions(), fs::perms::owner_all);
}

TEST_F(FineTuningTest, TwoServersCannotHaveOneFolder) {
  open();
  FakeJobs others;
  const auto second = FineTuning::open(config, std::make_unique<FakeTrainer>(others));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, JobsErrc::kBadFolder);
}

}  // namespace
}  // namespace weft::test
