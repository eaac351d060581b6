#include "weft/net/tuning/job_request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

std::string body_with(const std::string& more) {
  return R"({"model":"m","training_file":"file-1")" + (more.empty() ? "" : "," + more) + "}";
}

/// A body in which `hyperparameters` has these fields.
std::string with_settings(const std::string& fields) {
  return body_with(R"("method":{"type":"supervised","supervised":{"hyperparameters":{)" + fields +
                   "}}}");
}

std::string mistake_in(const std::string& body) {
  const auto job = read_job_request(body);
  return job ? std::string() : job.error().param + " " + job.error().code;
}

TEST(JobRequestTest, ReadsWhatOpenAisClientsSend) {
  const JobRecord job =
      read_job_request(body_with(R"("suffix":"a-b","seed":3,"validation_file":null,
                                    "integrations":[],"metadata":{"x":"y"},
                                    "method":{"type":"supervised","supervised":{"hyperparameters":
                                    {"batch_size":4,"learning_rate_multiplier":0.5,"n_epochs":2,
                                    "lora_rank":8,"lora_alpha":16,"lora_dropout":0.1,
                                    "lora_target_modules":["q","v","q"]}}})"))
          .value();
  EXPECT_EQ(job.model, "m");
  EXPECT_EQ(job.training_file, "file-1");
  EXPECT_EQ(job.suffix, "a-b");
  EXPECT_EQ(job.settings.seed, 3U);
  EXPECT_EQ(job.settings.batch, 4);
  EXPECT_EQ(job.settings.rate_multiplier, 0.5);
  EXPECT_EQ(job.settings.epochs, 2);
  EXPECT_EQ(job.settings.rank, 8);
  EXPECT_EQ(job.settings.alpha, 16);
  EXPECT_EQ(job.settings.dropout, 0.1);
  EXPECT_EQ(job.settings.targets, (std::vector<std::string>{"q", "v"}));
  EXPECT_EQ(job.metadata, (std::vector{std::pair<std::string, std::string>("x", "y")}));
}

TEST(JobRequestTest, LeavesOpenWhatIsAutoOrNotThere) {
  for (const std::string& body :
       {body_with(""), body_with(R"("hyperparameters":{"n_epochs":"auto"})"),
        body_with(R"("method":{"type":"supervised"})"),
        with_settings(R"("batch_size":"auto","learning_rate_multiplier":"auto","n_epochs":"auto",
                         "lora_rank":"auto","lora_alpha":"auto","lora_target_modules":"auto")")}) {
    const JobRecord job = read_job_request(body).value();
    EXPECT_FALSE(job.settings.batch) << body;
    EXPECT_FALSE(job.settings.epochs) << body;
    EXPECT_FALSE(job.settings.rate_multiplier) << body;
    EXPECT_EQ(job.settings.rank, 16) << body;
    EXPECT_EQ(job.settings.alpha, 0) << body;
    EXPECT_TRUE(job.settings.targets.empty()) << body;
  }
  EXPECT_EQ(read_job_request(body_with(R"("hyperparameters":{"n_epochs":5})"))->settings.epochs, 5);
}

TEST(JobRequestTest, NamesTheFieldThatIsWrong) {
  const std::string inner = "method.supervised.hyperparameters.";
  for (const auto& [body, expected] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "model missing_required_parameter"},
           {R"({"model":"m"})", "training_file missing_required_parameter"},
           {"[]", " invalid_type"},
           {body_with(R"("suffix":"a:b")"), "suffix invalid_value"},
           {body_with(R"("suffix":"a/b")"), "suffix invalid_value"},
           {body_with("\"suffix\":\"" + std::string(65, 'a') + "\""), "suffix invalid_value"},
           {body_with(R"("seed":-1)"), "seed invalid_value"},
           {body_with(R"("validation_file":"file-2")"), "validation_file unsupported"},
           {body_with(R"("integrations":[{"type":"wandb"}])"), "integrations unsupported"},
           {body_with(R"("method":{"type":"dpo","dpo":{}})"), "method.type unsupported"},
           {body_with(R"("method":{"type":"reinforcement"})"), "method.type unsupported"},
           {body_with(R"("method":{"supervised":{}})"), "method.type missing_required_parameter"},
           {body_with(R"("method":{"type":"supervised","dpo":{"a":1}})"),
            "method.dpo unknown_parameter"},
           {body_with(R"("method":{"type":"supervised"},"hyperparameters":{})"),
            "hyperparameters invalid_value"},
           {body_with(R"("metadata":{"a":1})"), "metadata invalid_value"},
           {body_with(R"("hyperparameters":{"n_epochs":0})"),
            "hyperparameters.n_epochs invalid_value"},
           {with_settings(R"("batch_size":0)"), inner + "batch_size invalid_value"},
           {with_settings(R"("batch_size":"many")"), inner + "batch_size invalid_type"},
           {with_settings(R"("learning_rate_multiplier":0)"),
            inner + "learning_rate_multiplier invalid_value"},
           {with_settings(R"("lora_rank":5000)"), inner + "lora_rank invalid_value"},
           {with_settings(R"("lora_dropout":1)"), inner + "lora_dropout invalid_value"},
           {with_settings(R"("lora_target_modules":["x"])"),
            inner + "lora_target_modules invalid_value"},
           {with_settings(R"("lora_target_modules":[])"),
            inner + "lora_target_modules invalid_value"},
           {with_settings(R"("beta":1)"), inner + "beta unknown_parameter"},
       }) {
    EXPECT_EQ(mistake_in(body), expected) << body;
  }
}

}  // namespace
}  // namespace weft
