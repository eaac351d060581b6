#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <thread>
#include <utility>

#include "weft/actors/loading/loaded_model.h"
#include "weft/actors/pipeline.h"
#include "weft/config/config.h"

namespace weft::measure {

/// A pipeline with the one thread of its executor.
class RunningPipeline {
 public:
  RunningPipeline(const Config& config, LoadedModel loaded)
      : work_(io_.get_executor()),
        pipeline_(std::make_unique<Pipeline>(io_.get_executor(), config, std::move(loaded.model),
                                             std::move(loaded.devices))),
        thread_([this] { io_.run(); }) {}
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
  std::unique_ptr<Pipeline> pipeline_;  // declared before the thread, because making the pipeline
                                        // may throw
  std::thread thread_;
};

}  // namespace weft::measure
