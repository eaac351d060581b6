#pragma once

#include <boost/asio/any_io_executor.hpp>
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
  /// `completions` runs the handlers of the engine's operations. The executor's context must run
  /// until this object's end, even if the application's own context has stopped. It must outlive
  /// the engine, whose threads may still be leaving it.
  EngineTrainer(Engine& engine, Config config, boost::asio::any_io_executor completions)
      : engine_(engine), config_(std::move(config)), completions_(std::move(completions)) {}

  [[nodiscard]] Result<void> check(JobRecord& job) override;
  [[nodiscard]] Result<PreparedJob> prepare(const JobRecord& job, const std::filesystem::path& data,
                                            const std::stop_token& stop) override;
  void train(const TrainingTask& task, Done done) override;
  [[nodiscard]] Result<void> serve(const std::string& model, const std::string& name,
                                   const std::filesystem::path& adapter) override;
  [[nodiscard]] bool serves(const std::string& name) const override;
  [[nodiscard]] Result<void> stop_serving(const std::string& model,
                                          const std::string& name) override;

 private:
  [[nodiscard]] std::int64_t most_rank() const;

  Engine& engine_;
  const Config config_;
  const boost::asio::any_io_executor completions_;
};

}  // namespace weft
