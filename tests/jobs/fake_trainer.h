#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/core/io/file.h"
#include "weft/core/io/output.h"
#include "weft/jobs/tuning/job_trainer.h"
#include "weft/train/train_error.h"

namespace weft::test {

/// What a FakeTrainer's jobs do, and what became of them. Tests change the options before a job
/// begins.
struct FakeJobs {
  std::int64_t steps = 6;
  /// Called before each step, on the thread that trains.
  std::function<void(std::int64_t step)> before_step{};
  std::optional<Error> prepare_error{};
  std::optional<Error> step_error{};  ///< of the third step
  std::optional<Error> check_error{};
  std::optional<Error> away{};  ///< the engine refuses the next task so
  std::optional<Error> serve_error{};
  std::function<void()> behind_serve{};  ///< called at the end of the next serve()
  std::optional<Error> stop_error{};     ///< of the next stop_serving()
  std::atomic<int> full_disk{0};         ///< how often an adapter cannot be written

  void note(std::int64_t step) {
    const std::scoped_lock lock(mutex);
    ran.push_back(step);
  }
  std::vector<std::int64_t> steps_that_ran() {
    const std::scoped_lock lock(mutex);
    return ran;
  }
  std::set<std::string> served_names() {
    const std::scoped_lock lock(mutex);
    return served;
  }
  /// As an engine whose base is unloaded.
  void serve_none() {
    const std::scoped_lock lock(mutex);
    served.clear();
  }

  std::mutex mutex;
  std::vector<std::int64_t> ran;
  std::set<std::string> served;
};

/// A job that counts its steps; its state is their number.
class FakeJob final : public JobWork {
 public:
  explicit FakeJob(FakeJobs& training) : training_(training) {}

  [[nodiscard]] std::int64_t iterations() const override { return training_.steps; }
  [[nodiscard]] std::int64_t iterations_done() const override { return done_; }
  [[nodiscard]] Result<TrainingPiece> run_piece() override {
    if (training_.before_step) training_.before_step(done_ + 1);
    if (training_.step_error && done_ == 2) return *training_.step_error;
    ++done_;
    training_.note(done_);
    TrainingPiece piece;
    piece.ends_iteration = true;
    piece.ends_work = done_ == training_.steps;
    StepReport report;
    report.step = done_;
    report.loss = 1.0 / static_cast<double>(done_);
    report.tokens = 10;
    note(report, [this] { return state(); });
    return piece;
  }
  void abandon() override {}
  [[nodiscard]] Result<void> save(const std::filesystem::path& path) override {
    return state().save(path);
  }
  [[nodiscard]] Result<void> restore(const std::filesystem::path& path) override {
    const auto text = read_text_file(path, kAnySize);
    if (!text) return text.error();
    if (text->empty()) return Error{TrainErrc::kBadState, "is of another job"};
    done_ = std::stoll(*text);
    return {};
  }
  [[nodiscard]] Result<void> write_adapter(const std::filesystem::path& folder,
                                           const std::string& base) override {
    if (training_.full_disk > 0) {
      --training_.full_disk;
      return Error{FileErrc::kCannotWrite, "(No space left on device)"};
    }
    std::ofstream(folder / "adapter") << base << ' ' << done_;
    return {};
  }

 private:
  [[nodiscard]] StateToSave state() const {
    return {done_, [done = done_](const std::filesystem::path& path) {
              return replace_file(path, std::to_string(done));
            }};
  }

  FakeJobs& training_;
  std::int64_t done_ = 0;
};

/// Trains without an engine, on a thread for each task.
class FakeTrainer final : public JobTrainer {
 public:
  explicit FakeTrainer(FakeJobs& training) : training_(training) {}

  [[nodiscard]] Result<void> check(JobRecord& /*job*/) override {
    if (training_.check_error) return *training_.check_error;
    return {};
  }
  [[nodiscard]] Result<PreparedJob> prepare(const JobRecord& job, const std::filesystem::path& data,
                                            const std::stop_token& /*stop*/) override {
    EXPECT_TRUE(std::filesystem::exists(data));
    if (training_.prepare_error) return *training_.prepare_error;
    const JobPlan plan{.epochs = job.settings.epochs.value_or(3),
                       .batch = job.settings.batch.value_or(8),
                       .rate_multiplier = 1,
                       .examples = 4};
    return PreparedJob{std::make_shared<FakeJob>(training_), plan};
  }
  void train(const TrainingTask& task, Done done) override {
    if (const auto away = std::exchange(training_.away, std::nullopt)) return done(*away);
    threads_.emplace_back([state = task.state(), done = std::move(done)]() mutable {
      // The task may end in another thread, behind this one's end.
      auto end = [done = std::move(done)](const Result<void>& result) { done(result); };
      if (!state->begin(std::move(end), nullptr)) return;
      while (!state->has_ended()) static_cast<void>(state->run_piece());
    });
  }
  [[nodiscard]] Result<void> serve(const std::string& /*model*/, const std::string& name,
                                   const std::filesystem::path& adapter) override {
    EXPECT_TRUE(std::filesystem::exists(adapter / "adapter"));
    if (training_.serve_error) return *training_.serve_error;
    {
      const std::scoped_lock lock(training_.mutex);
      training_.served.insert(name);
    }
    if (const auto behind = std::exchange(training_.behind_serve, {})) behind();
    return {};
  }
  [[nodiscard]] bool serves(const std::string& name) const override {
    return training_.served_names().contains(name);
  }
  [[nodiscard]] Result<void> stop_serving(const std::string& /*model*/,
                                          const std::string& name) override {
    if (const auto error = std::exchange(training_.stop_error, std::nullopt)) return *error;
    const std::scoped_lock lock(training_.mutex);
    training_.served.erase(name);
    return {};
  }

 private:
  FakeJobs& training_;
  std::vector<std::jthread> threads_;
};

/// Waits until `done()` is true; returns false when it never is.
template <class Done>
bool comes_true(const Done& done) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(300);
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the job wants the processor
  }
  return true;
}

}  // namespace weft::test
