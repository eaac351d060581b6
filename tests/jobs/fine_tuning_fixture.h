#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weft/config/config.h"
#include "weft/core/io/file.h"
#include "weft/core/metrics.h"
#include "weft/jobs/fine_tuning.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/jobs/fake_trainer.h"

namespace weft::test {

/// Fine-tuning in a folder of its own, whose jobs train nothing.
class FineTuningFixture : public testing::Test {
 public:
  FineTuningFixture() {
    config.training_folder = (temp.path() / "training").string();
    config.training_checkpoint_steps = 2;
  }

  void open() { open(jobs, config.training_folder); }
  void open(FakeJobs& with, const std::string& folder) {
    Config place = config;
    place.training_folder = folder;
    tuning = FineTuning::open(
                 place, std::make_unique<FakeTrainer>(with),
                 [this](const std::string& what) {
                   const std::scoped_lock lock(mutex);
                   notices.push_back(what);
                 },
                 &registry)
                 .value();
  }
  [[nodiscard]] std::string upload(const std::string& owner = "ann") const {
    return tuning->files()
        .add({.owner = owner, .name = "a", .purpose = std::string(kFineTunePurpose)},
             "{\"text\":\"a\"}\n")
        ->id;
  }
  [[nodiscard]] JobRecord request(const std::string& owner = "ann") const {
    JobRecord job;
    job.owner = owner;
    job.model = "base";
    job.suffix = "mine";
    job.training_file = upload(owner);
    return job;
  }
  static JobRecord record_of_ann() {
    JobRecord job;
    job.owner = "ann";
    job.model = "base";
    return job;
  }
  /// Lets a job's record not be written, as on a full disk; read it no more.
  void break_record(const std::string& id) const {
    std::filesystem::remove(place(id) / "job.json");
    std::filesystem::create_directories(place(id) / "job.json" / "in the way");
  }
  void mend_record(const std::string& id) const {
    std::filesystem::remove_all(place(id) / "job.json");
  }
  [[nodiscard]] bool is_written_as(const std::string& id, std::string_view status) const {
    return comes_true([&] {
      const auto text = read_text_file(place(id) / "job.json", kAnySize);
      return text && text->find("\"status\":\"" + std::string(status)) != std::string::npos;
    });
  }
  [[nodiscard]] std::string create() const { return tuning->create(request()).value().id; }
  [[nodiscard]] JobRecord job(const std::string& id) const {
    return tuning->job(id, "ann").value();
  }
  [[nodiscard]] bool reaches(const std::string& id, JobStatus status) const {
    return comes_true([&] { return job(id).status == status; });
  }
  [[nodiscard]] bool waits_for_its_disk(const std::string& id) const {
    return comes_true([&] {
      return std::ranges::any_of(job(id).events, [](const JobEvent& event) {
        return event.text.find("takes no more") != std::string::npos;
      });
    });
  }
  [[nodiscard]] std::filesystem::path place(const std::string& id) const {
    return std::filesystem::path(config.training_folder) / "jobs" / id;
  }
  /// Returns the file of metrics that a job has left to its owner.
  [[nodiscard]] std::string metrics(const std::string& id) const {
    const JobRecord done = job(id);
    EXPECT_EQ(done.result_files.size(), 1U);
    return tuning->files().content(done.result_files.front(), "ann").value();
  }
  static std::string all_steps() {
    return "step,train_loss,learning_rate,grad_norm,tokens\n1,1,0,0,10\n2,0.5,0,0,10\n"
           "3,0.333333,0,0,10\n4,0.25,0,0,10\n5,0.2,0,0,10\n6,0.166667,0,0,10\n";
  }

  TempFolder temp;
  Config config;
  FakeJobs jobs;
  MetricsRegistry registry;
  std::mutex mutex;
  std::vector<std::string> notices;
  std::unique_ptr<FineTuning> tuning;
};

}  // namespace weft::test
