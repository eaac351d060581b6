#include "weft/jobs/tuning/job_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/jobs/jobs_error.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

class JobStoreTest : public testing::Test {
 public:
  JobStoreTest() { data = temp.write("data", "{\"text\":\"a\"}"); }

  [[nodiscard]] JobStore open() const { return JobStore::open(folder(), most).value(); }
  [[nodiscard]] fs::path folder() const { return temp.path() / "jobs"; }
  static JobRecord job(const std::string& owner) {
    JobRecord one;
    one.owner = owner;
    one.model = "base";
    one.suffix = "mine";
    one.training_file = "file-1";
    one.settings.batch = 4;
    one.settings.targets = {"q", "v"};
    one.settings.seed = 7;
    one.metadata = {{"a", "b"}};
    return one;
  }
  static JobStore::Change to(JobStatus status) {
    return [status](JobRecord& record) -> Result<void> {
      record.status = status;
      return {};
    };
  }

  TempFolder temp;
  fs::path data;
  std::size_t most = 10;
};

TEST_F(JobStoreTest, KeepsARecordOverARestart) {
  JobRecord kept;
  {
    JobStore store = open();
    const JobRecord added = store.add(job("ann"), data).value();
    EXPECT_EQ(added.status, JobStatus::kQueued);
    kept = store
               .change(added.id,
                       [](JobRecord& record) -> Result<void> {
                         record.status = JobStatus::kPaused;
                         record.failure = {"code", "message", "param"};
                         record.checkpoint = {3, 0.5, 9};
                         record.steps = 12;
                         record.result_files = {"file-2"};
                         record.fine_tuned_model = "ft:base::x";
                         record.model_is_deleted = true;
                         record.add_event({.level = "warn", .text = "t", .step = 3, .loss = 0.5});
                         return {};
                       })
               .value();
  }
  fs::remove(data);
  JobStore store = open();
  const JobRecord found = store.find(kept.id, "ann").value();
  EXPECT_EQ(record_text(found), record_text(kept));
  EXPECT_EQ(found.failure->param, "param");
  EXPECT_EQ(found.events.size(), 2U);
  EXPECT_EQ(found.settings.batch, 4);
  EXPECT_FALSE(found.settings.epochs);
  EXPECT_EQ(read_text_file(store.folder_of(kept.id) / "data.jsonl", kAnySize).value(),
            "{\"text\":\"a\"}")
      << "the job has its data although the file was deleted";
  EXPECT_EQ(store.add(job("ann"), store.folder_of(kept.id) / "data.jsonl").value().number,
            kept.number + 1);
}

TEST_F(JobStoreTest, AJobThatWasUnderWayIsQueuedAgain) {
  std::vector<std::string> ids;
  {
    JobStore store = open();
    for (const JobStatus status :
         {JobStatus::kValidating, JobStatus::kRunning, JobStatus::kPaused, JobStatus::kCancelled}) {
      ids.push_back(store.add(job("ann"), data)->id);
      ASSERT_TRUE(store.change(ids.back(), to(status)));
    }
  }
  const JobStore store = open();
  EXPECT_EQ(store.find(ids[0], "ann")->status, JobStatus::kQueued);
  EXPECT_EQ(store.find(ids[1], "ann")->status, JobStatus::kQueued);
  EXPECT_EQ(store.find(ids[2], "ann")->status, JobStatus::kPaused);
  EXPECT_EQ(store.find(ids[3], "ann")->status, JobStatus::kCancelled);
  EXPECT_EQ(store.next_queued()->id, ids[0]) << "the one that came first";
}

TEST_F(JobStoreTest, OpeningRemovesWhatJobsThatAreOverNoLongerNeed) {
  std::string failed;
  std::string done;
  {
    JobStore store = open();
    failed = store.add(job("ann"), data)->id;
    done = store.add(job("ann"), data)->id;
    for (const std::string& id : {failed, done}) {
      temp.write("jobs/" + id + "/state", "s");
      fs::create_directory(store.folder_of(id) / "adapter");
    }
    ASSERT_TRUE(store.change(failed, to(JobStatus::kFailed)));
    ASSERT_TRUE(store.change(done, [](JobRecord& record) -> Result<void> {
      record.status = JobStatus::kSucceeded;
      record.fine_tuned_model = "ft:base::x";
      return {};
    }));
  }
  const JobStore store = open();
  for (const std::string& id : {failed, done}) {
    EXPECT_FALSE(fs::exists(store.folder_of(id) / "state"));
    EXPECT_FALSE(fs::exists(store.folder_of(id) / "data.jsonl"));
  }
  EXPECT_FALSE(fs::exists(store.folder_of(failed) / "adapter"));
  EXPECT_TRUE(fs::exists(store.folder_of(done) / "adapter")) << "it has a model";
}

TEST_F(JobStoreTest, AChangeThatIsRefusedOrCannotBeWrittenChangesNothing) {
  JobStore store = open();
  const std::string id = store.add(job("ann"), data)->id;
  const auto refused = store.change(id, [](JobRecord& record) -> Result<void> {
    record.status = JobStatus::kFailed;
    return Error{JobsErrc::kWrongState, {}};
  });
  EXPECT_EQ(refused.error().code, JobsErrc::kWrongState);
  EXPECT_EQ(store.find(id, "ann")->status, JobStatus::kQueued);
  fs::remove_all(store.folder_of(id));
  EXPECT_EQ(store.change(id, to(JobStatus::kFailed)).error().code, FileErrc::kCannotWrite);
  EXPECT_EQ(store.find(id, "ann")->status, JobStatus::kQueued);
  EXPECT_EQ(store.change("ftjob-x", to(JobStatus::kFailed)).error().code, JobsErrc::kNoSuchJob);
}

TEST_F(JobStoreTest, AChangeInForceIsWrittenOnceTheDiskTakesIt) {
  JobStore store = open();
  const std::string id = store.add(job("ann"), data)->id;
  const fs::path record = store.folder_of(id) / "job.json";
  fs::remove(record);
  fs::create_directories(record / "in the way");
  const auto refused = store.change_anyway(
      id, [](JobRecord& /*record*/) -> Result<void> { return Error{JobsErrc::kWrongState, {}}; });
  EXPECT_EQ(refused.error().code, JobsErrc::kWrongState);
  EXPECT_FALSE(store.has_pending());
  EXPECT_EQ(store.change_anyway(id, to(JobStatus::kCancelled)).error().code, JobsErrc::kNotWritten);
  EXPECT_EQ(store.summary(id, "ann")->status, JobStatus::kCancelled);
  store.write_pending();
  EXPECT_TRUE(store.has_pending());
  EXPECT_TRUE(store.is_pending(id));
  fs::remove_all(record);
  store.write_pending();
  EXPECT_FALSE(store.has_pending());
  EXPECT_FALSE(fs::exists(store.folder_of(id) / "data.jsonl")) << "the job is over";
  EXPECT_EQ(open().summary(id, "ann")->status, JobStatus::kCancelled);
}

TEST_F(JobStoreTest, AJobThatCannotBeKeptTakesNoPlaceOfAnother) {
  most = 1;
  JobStore store = open();
  const std::string old = store.add(job(""), data)->id;
  ASSERT_TRUE(store.change(old, to(JobStatus::kFailed)));
  EXPECT_EQ(store.add(job(""), temp.path() / "none").error().code, FileErrc::kCannotWrite);
  EXPECT_TRUE(store.summary(old, ""));
  EXPECT_TRUE(fs::exists(store.folder_of(old) / "job.json"));
  const std::string next = store.add(job(""), data)->id;
  EXPECT_FALSE(store.summary(old, ""));
  EXPECT_FALSE(fs::exists(store.folder_of(old)));
  EXPECT_EQ(open().list("").front().id, next);
}

TEST_F(JobStoreTest, ANewJobTakesThePlaceOfItsOwnersOldestThatEndedWithoutAModel) {
  most = 6;
  JobStore store = open();
  const std::string with_model = store.add(job("ann"), data)->id;
  ASSERT_TRUE(store.change(with_model, [](JobRecord& record) -> Result<void> {
    record.status = JobStatus::kSucceeded;
    record.fine_tuned_model = "ft:base::x";
    return {};
  }));
  const std::string older = store.add(job("ann"), data)->id;
  const std::string newer = store.add(job("ann"), data)->id;
  const auto full = store.add(job("ann"), data);
  EXPECT_EQ(full.error().code, JobsErrc::kFull);
  EXPECT_THAT(full.error().detail,
              testing::HasSubstr("3 jobs, which run or have a model, of the 3"));
  ASSERT_TRUE(store.change(newer, to(JobStatus::kFailed)));
  ASSERT_TRUE(store.change(older, to(JobStatus::kCancelled)));
  EXPECT_TRUE(store.add(job("ann"), data));
  EXPECT_FALSE(store.find(older, "ann"));
  EXPECT_FALSE(fs::exists(store.folder_of(older)));
  EXPECT_TRUE(store.find(newer, "ann"));
  EXPECT_TRUE(store.find(with_model, "ann"));
}

TEST_F(JobStoreTest, AnOwnerTakesNoPlaceOfAnotherOwner) {
  most = 4;
  JobStore store = open();
  std::vector<std::string> of_ann;
  for (int i = 0; i < 2; ++i) {
    of_ann.push_back(store.add(job("ann"), data)->id);
    ASSERT_TRUE(store.change(of_ann.back(), to(JobStatus::kFailed)));
  }
  ASSERT_TRUE(store.add(job("bob"), data));
  EXPECT_EQ(store.add(job("bob"), data).error().code, JobsErrc::kFull);
  EXPECT_TRUE(store.add(job("cid"), data)) << "a place is left for another";
  for (const std::string& id : of_ann) EXPECT_TRUE(store.find(id, "ann"));
}

TEST_F(JobStoreTest, WithoutKeysTheOneOwnerMayHaveAllJobs) {
  most = 3;
  JobStore store = open();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(store.add(job(""), data));
  EXPECT_EQ(store.add(job(""), data).error().code, JobsErrc::kFull);
}

TEST_F(JobStoreTest, KnowsTheFilesThatJobsNeedAndTheirBytes) {
  std::string ended;
  {
    JobStore store = open();
    ASSERT_TRUE(store.add(job("ann"), data));
    ASSERT_TRUE(store.add(job("ann"), data));
    JobRecord other = job("ann");
    other.training_file = "file-2";
    ended = store.add(other, data)->id;
    EXPECT_EQ(store.held_files().size(), 2U) << "each file once";
    ASSERT_TRUE(store.change(ended, to(JobStatus::kFailed)));
  }
  const JobStore store = open();
  const auto held = store.held_files();
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held.front().id, "file-1");
  EXPECT_EQ(held.front().owner, "ann");
  EXPECT_EQ(held.front().bytes, static_cast<std::int64_t>(fs::file_size(data)));
  EXPECT_EQ(store.counts()[static_cast<std::size_t>(JobStatus::kQueued)], 2U);
  EXPECT_EQ(store.counts()[static_cast<std::size_t>(JobStatus::kFailed)], 1U);
}

TEST_F(JobStoreTest, ShowsAJobToItsOwnerAlone) {
  JobStore store = open();
  const std::string first = store.add(job("ann"), data)->id;
  const std::string second = store.add(job("ann"), data)->id;
  EXPECT_EQ(store.find(first, "bob").error().code, JobsErrc::kNoSuchJob);
  EXPECT_TRUE(store.list("bob").empty());
  const auto mine = store.list("ann");
  ASSERT_EQ(mine.size(), 2U);
  EXPECT_EQ(mine.front().id, second) << "the newest first";
}

TEST_F(JobStoreTest, LeftoversOfAKilledProcessAreHarmless) {
  std::string id;
  {
    JobStore store = open();
    id = store.add(job("ann"), data)->id;
  }
  temp.write("jobs/" + id + "/job.json.new", "{\"vers");
  fs::create_directories(folder() / id / ".adapter.part-3-0");
  fs::create_directories(folder() / ".ftjob-y.part-3-0");
  JobStore store = open();
  EXPECT_EQ(store.list("ann").size(), 1U);
  EXPECT_FALSE(fs::exists(folder() / id / ".adapter.part-3-0"));
  EXPECT_FALSE(fs::exists(folder() / id / "job.json.new"));
  EXPECT_TRUE(store.change(id, to(JobStatus::kPaused)));
  EXPECT_EQ(JobStore::open(folder(), most)->find(id, "ann")->status, JobStatus::kPaused);
}

TEST_F(JobStoreTest, RefusesRecordsThatItCannotRead) {
  std::string id;
  std::string whole;
  {
    JobStore store = open();
    id = store.add(job("ann"), data)->id;
    whole = record_text(*store.find(id, "ann"));
  }
  const auto refusal = [&](std::string_view text) {
    temp.write("jobs/" + id + "/job.json", text);
    const auto opened = JobStore::open(folder(), most);
    return opened ? std::string() : to_string(opened.error());
  };
  EXPECT_EQ(refusal(whole), "");
  for (std::size_t size = 0; size < whole.size(); size += 7)
    EXPECT_THAT(refusal(whole.substr(0, size)), testing::HasSubstr("job.json")) << size;
  std::string other = whole;
  other.replace(other.find("\"version\":1"), 11, "\"version\":2");
  EXPECT_THAT(refusal(other), testing::HasSubstr("version 1"));
  std::string status = whole;
  status.replace(status.find("queued"), 6, "asleep");
  EXPECT_THAT(refusal(status), testing::HasSubstr("lacks a field"));
}

TEST_F(JobStoreTest, EventsOfStepsMakeRoomForOthers) {
  JobRecord record = job("ann");
  record.add_event({.text = "first"});
  for (std::int64_t step = 1; step <= 2'000; ++step) record.add_event({.text = "s", .step = step});
  ASSERT_EQ(record.events.size(), JobRecord::kMostEvents);
  EXPECT_EQ(record.events.front().text, "first");
  EXPECT_EQ(record.events.back().step, 2'000);
  EXPECT_EQ(record.events.back().number, 2'000);
}

}  // namespace
}  // namespace weft::test
