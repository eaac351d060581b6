#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <utility>

#include "weft/actors/engine/engine.h"
#include "weft/config/config.h"
#include "weft/jobs/tuning/job_trainer.h"

namespace weft {

/// Trains jobs with an engine of one model, and lets this engine serve their adapters.
class EngineTrainer final : public JobTrainer {
 public:
  /// `config` is the configuration of the engine's model. The engine must outlive this object.
  EngineTrainer(Engine& engine, Config config) : engine_(engine), config_(std::move(config)) {}

  [[nodiscard]] Result<void> check(JobRecord& job) override;
  [[nodiscard]] Result<PreparedJob> prepare(const JobRecord& job, const std::filesystem::path& data,
                                            const std::stop_token& stop) override;
  void train(const TrainingTask& task, Done done) override;
  [[nodiscard]] Result<void> serve(const std::string& model, const std::string& name,
                                   const std::filesystem::path& adapter) override;
  [[nodiscard]] Result<void> stop_serving(const std::string& model,
                                          const std::string& name) override;

 private:
  [[nodiscard]] std::int64_t most_rank() const;

  Engine& engine_;
  const Config config_;
  /// The engine's operations complete on this thread. It is separate from the application's
  /// context, which may stop while a job must still be stopped.
  boost::asio::thread_pool completions_{1};
};

}  // namespace weft
