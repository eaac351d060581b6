// The calls about fine-tuning jobs, over sockets.

#include "weft/net/routes/job_handlers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <cstdint>
#include <filesystem>
#include <future>
#include <string>
#include <utility>

#include "weft/jobs/jobs_error.h"
#include "weft/tests/net/tuning/served_tuning.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kJobs = "/v1/fine_tuning/jobs";

class JobHandlersTest : public ServedTuning {
 public:
  std::string new_file(const std::string& key = {}) const {
    return text_of(body_of(upload(form("{\"text\":\"one\"}\n"), key)).at("id"));
  }
  /// Returns the answer to a new job; `more` are further fields.
  std::string create(const std::string& file, const std::string& more = {},
                     const std::string& key = {}) const {
    return ask("POST", kJobs, R"({"model":"tiny","training_file":")" + file + "\"" + more + "}",
               key);
  }
  static std::string place(const json::value& job) {
    return std::string(kJobs) + "/" + text_of(job.at("id"));
  }
  /// Waits until the job at `path` has a status; returns the job.
  json::value reached(const std::string& path, const std::string& status) const {
    json::value job;
    EXPECT_TRUE(comes_true([&] {
      job = body_of(ask("GET", path));
      return job.at("status") == status.c_str();
    })) << status;
    return job;
  }
};

TEST_F(JobHandlersTest, AJobRunsAndItsParts) {
  serve_tuning();
  const std::string file = new_file();
  const std::string created =
      create(file, R"(,"suffix":"mine","seed":7,"metadata":{"a":"b"},"method":{"type":"supervised",
                      "supervised":{"hyperparameters":{"n_epochs":2,"lora_rank":4}}})");
  ASSERT_THAT(created, StartsWith("HTTP/1.1 200"));
  json::value job = body_of(created);
  EXPECT_EQ(job.at("object"), "fine_tuning.job");
  EXPECT_EQ(job.at("seed"), 7);
  EXPECT_EQ(job.at("training_file"), file.c_str());
  EXPECT_EQ(job.at("hyperparameters").at("n_epochs"), 2);
  EXPECT_EQ(job.at("method").at("supervised").at("hyperparameters").at("lora_rank"), 4);
  EXPECT_EQ(job.at("metadata"), (json::value{{"a", "b"}}));
  EXPECT_TRUE(job.at("fine_tuned_model").is_null());
  const std::string path = place(job);
  job = reached(path, "succeeded");
  const std::string name = "ft:tiny:mine:" + text_of(job.at("id")).substr(6);
  EXPECT_EQ(job.at("fine_tuned_model"), name.c_str());
  EXPECT_EQ(job.at("trained_tokens"), 60);
  EXPECT_EQ(job.at("hyperparameters").at("batch_size"), 8) << "what auto was";
  EXPECT_TRUE(job.at("error").is_null());
  EXPECT_EQ(body_of(ask("GET", kJobs)).at("data").at(0), job);
  EXPECT_EQ(body_of(ask("GET", "/requests")).at("fine_tuning"), true);

  const json::value events = body_of(ask("GET", path + "/events?limit=3"));
  EXPECT_EQ(events.at("data").at(0).at("message"), "The job has successfully completed");
  EXPECT_EQ(events.at("data").at(0).at("type"), "message");
  EXPECT_EQ(events.at("data").at(2).at("data").at("step"), 6);
  EXPECT_EQ(events.at("data").at(2).at("type"), "metrics");
  EXPECT_EQ(events.at("has_more"), true);
  const std::string last = text_of(events.at("last_id"));
  EXPECT_EQ(body_of(ask("GET", path + "/events?limit=1&after=" + last))
                .at("data")
                .at(0)
                .at("data")
                .at("step"),
            5);
  const json::value points = body_of(ask("GET", path + "/checkpoints"));
  EXPECT_EQ(points.at("data").at(0).at("step_number"), 6);
  EXPECT_EQ(points.at("data").at(0).at("fine_tuned_model_checkpoint"), name.c_str());
  const std::string results = text_of(job.at("result_files").at(0));
  EXPECT_THAT(ask("GET", "/v1/files/" + results + "/content"), HasSubstr("step,train_loss"));
  EXPECT_EQ(body_of(ask("GET", "/v1/files/" + results)).at("purpose"), "fine-tune-results");

  EXPECT_EQ(body_of(ask("DELETE", "/v1/models/" + name)),
            (json::value{{"id", name}, {"object", "model"}, {"deleted", true}}));
  EXPECT_EQ(refusal(ask("DELETE", "/v1/models/" + name)), "404 model model_not_found");
  EXPECT_EQ(refusal(ask("DELETE", "/v1/models/tiny")), "404 model model_not_found");
}

TEST_F(JobHandlersTest, AJobIsPausedResumedAndCancelled) {
  std::promise<void> second;
  std::promise<void> gone_on;
  jobs.before_step = [&, once = false](std::int64_t step) mutable {
    if (step != 2 || std::exchange(once, true)) return;
    second.set_value();
    gone_on.get_future().wait();
  };
  serve_tuning();
  const std::string path = place(body_of(create(new_file())));
  second.get_future().wait();
  EXPECT_EQ(body_of(ask("GET", path)).at("status"), "running");
  EXPECT_EQ(body_of(ask("POST", path + "/pause")).at("status"), "paused");
  EXPECT_EQ(refusal(ask("POST", path + "/pause")), "400 - wrong_state");
  gone_on.set_value();
  EXPECT_EQ(body_of(ask("POST", path + "/resume")).at("status"), "queued");
  reached(path, "succeeded");
  EXPECT_EQ(refusal(ask("POST", path + "/resume")), "400 - wrong_state");
  EXPECT_EQ(refusal(ask("POST", path + "/cancel")), "400 - wrong_state");

  std::promise<void> other;
  std::promise<void> cancelled;
  jobs.before_step = [&](std::int64_t step) {
    if (step != 1) return;
    other.set_value();
    cancelled.get_future().wait();
  };
  const std::string next = place(body_of(create(new_file())));
  other.get_future().wait();
  const json::value job = body_of(ask("POST", next + "/cancel"));
  EXPECT_EQ(job.at("status"), "cancelled");
  EXPECT_TRUE(job.at("finished_at").is_int64());
  cancelled.set_value();
}

TEST_F(JobHandlersTest, ADiskThatTakesNoMoreIsNamedWithWhatToDo) {
  std::promise<void> begun;
  std::promise<void> stopped;
  jobs.before_step = [&, once = false](std::int64_t step) mutable {
    if (step != 1 || std::exchange(once, true)) return;
    begun.set_value();
    stopped.get_future().wait();
  };
  serve_tuning();
  const std::string file = new_file();
  const json::value job = body_of(create(file));
  const std::string path = place(job);
  begun.get_future().wait();
  const auto record =
      fs::path(config.training_folder) / "jobs" / text_of(job.at("id")) / "job.json";
  fs::remove(record);
  fs::create_directories(record / "in the way");
  const std::string paused = ask("POST", path + "/pause");
  EXPECT_EQ(refusal(paused), "507 - disk_full");
  EXPECT_THAT(paused, HasSubstr("It writes it as soon as there is room"));
  EXPECT_THAT(paused, HasSubstr("DELETE /v1/files/ID"));
  EXPECT_THAT(paused, Not(HasSubstr(config.training_folder)));
  EXPECT_EQ(body_of(ask("GET", path)).at("status"), "paused");
  EXPECT_EQ(refusal(ask("POST", path + "/resume")), "507 - disk_full");
  stopped.set_value();
  EXPECT_EQ(refusal(ask("POST", path + "/cancel")), "507 - disk_full");
  fs::remove_all(record);
  fs::remove_all(fs::path(config.training_folder) / "files");
  EXPECT_EQ(refusal(upload(form("{\"text\":\"one\"}\n"))), "507 - disk_full");
}

TEST_F(JobHandlersTest, AFailedJobSaysWhy) {
  jobs.prepare_error = Error{TrainErrc::kCannotTrain, "layer 3: experts"};
  serve_tuning();
  const std::string path = place(body_of(create(new_file())));
  const json::value error = reached(path, "failed").at("error");
  EXPECT_EQ(error.at("code"), "cannot_train");
  EXPECT_EQ(error.at("param"), "model");
  EXPECT_THAT(text_of(error.at("message")), HasSubstr("layer 3: experts"));
}

TEST_F(JobHandlersTest, NamesTheFieldThatIsWrong) {
  serve_tuning();
  const std::string file = new_file();
  EXPECT_EQ(refusal(create("file-x")), "400 training_file invalid_value");
  EXPECT_EQ(refusal(create(file, R"(,"n_epochs":1)")), "400 n_epochs unknown_parameter");
  EXPECT_EQ(refusal(create(file, R"(,"validation_file":"file-x")")),
            "400 validation_file unsupported");
  jobs.check_error = Error{JobsErrc::kBadJob, "model: takes no adapters"};
  EXPECT_EQ(refusal(create(file)), "400 model invalid_value");
  EXPECT_EQ(refusal(ask("GET", std::string(kJobs) + "/ftjob-x")),
            "404 fine_tuning_job_id not_found");
  EXPECT_EQ(refusal(ask("GET", std::string(kJobs) + "?limit=101")), "400 limit invalid_value");
}

TEST_F(JobHandlersTest, AJobBelongsToItsKey) {
  server_config.api_key_file =
      temp.write("keys.toml",
                 "[[key]]\nname = 'ann'\nkey = 'a'\n[[key]]\nname = 'bob'\nkey = 'b'\n")
          .string();
  serve_tuning();
  const std::string ann = "X-Api-Key: a\r\n";
  const std::string bob = "X-Api-Key: b\r\n";
  const std::string file = new_file(ann);
  EXPECT_EQ(refusal(create(file, {}, bob)), "400 training_file invalid_value");
  const std::string path = place(body_of(create(file, {}, ann)));
  for (const char* call : {"/cancel", "/pause", "/resume"}) {
    EXPECT_EQ(refusal(ask("POST", path + call, {}, bob)), "404 fine_tuning_job_id not_found");
  }
  for (const char* call : {"", "/events", "/checkpoints"}) {
    EXPECT_EQ(refusal(ask("GET", path + call, {}, bob)), "404 fine_tuning_job_id not_found");
    EXPECT_THAT(ask("GET", path + call, {}, ann), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_EQ(body_of(ask("GET", kJobs, {}, bob)).at("data"), json::array());
  json::value job;
  ASSERT_TRUE(comes_true([&] {
    job = body_of(ask("GET", path, {}, ann));
    return job.at("status") == "succeeded";
  }));
  const std::string model = "/v1/models/" + text_of(job.at("fine_tuned_model"));
  EXPECT_EQ(refusal(ask("DELETE", model, {}, bob)), "404 model model_not_found");
  EXPECT_THAT(ask("DELETE", model, {}, ann), StartsWith("HTTP/1.1 200"));
}

TEST_F(JobHandlersTest, AServerWithoutAFolderNamesTheKey) {
  start();
  EXPECT_EQ(refusal(create("file-x")), "404 - no_fine_tuning");
  EXPECT_THAT(ask("GET", kJobs), HasSubstr("training.folder"));
  EXPECT_EQ(body_of(ask("GET", "/requests")).at("fine_tuning"), false);
}

}  // namespace
}  // namespace weft::test
