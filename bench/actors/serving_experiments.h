#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/pipeline.h"

namespace weft::bench {

/// Each prints a table.
void run_overload();
void run_prefill();

/// A pipeline and the one thread of its executor.
class RunningPipeline {
 public:
  RunningPipeline(const Config& config, ServedModel model,
                  std::vector<std::shared_ptr<StepDevice>> devices)
      : work_(io_.get_executor()),
        thread_([this] { io_.run(); }),
        pipeline_(std::make_unique<Pipeline>(io_.get_executor(), config, std::move(model),
                                             std::move(devices))) {}
  RunningPipeline(const RunningPipeline&) = delete;
  RunningPipeline& operator=(const RunningPipeline&) = delete;
  ~RunningPipeline() {
    pipeline_.reset();
    io_.stop();
    thread_.join();
  }

  [[nodiscard]] Pipeline& operator*() const noexcept { return *pipeline_; }
  [[nodiscard]] Pipeline* operator->() const noexcept { return pipeline_.get(); }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace weft::bench
