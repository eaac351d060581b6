#pragma once

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/actors/pipeline.h"
#include "weft/net/server/server.h"
#include "weft/tests/fixture/fake_device.h"
#include "weft/tests/net/api/tiny_model.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/tiny_service.h"

namespace weft::test {

/// Lets a device's steps through one by one, or all.
class StepGate {
 public:
  void close() {
    const std::scoped_lock lock(mutex_);
    open_ = false;
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void let(int steps) {
    const std::scoped_lock lock(mutex_);
    allowed_ += steps;
    changed_.notify_all();
  }
  /// Waits until a step stands before the closed gate.
  void wait_for_step() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_; });
  }
  /// How many steps have come to it so far.
  [[nodiscard]] std::uint64_t arrivals() const {
    const std::scoped_lock lock(mutex_);
    return arrivals_;
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrivals_;
    waiting_ = !open_ && allowed_ == 0;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_ || allowed_ > 0; });
    waiting_ = false;
    if (!open_) --allowed_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  bool waiting_ = false;
  std::uint64_t arrivals_ = 0;
  int allowed_ = 0;
};

/// Waits until `done()` is true; returns false when it never is.
inline bool eventually(const std::function<bool()>& done) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A server on a free port of loopback, over the real pipeline and a fake device behind a gate.
class ServedPipeline : public testing::Test {
 public:
  ServedPipeline() {
    server_config.host_names = "x";
  }  // the host name that tests' own requests
     // use
  ~ServedPipeline() override { stop(); }

  void start() {
    server_config.port = 0;
    auto logger = std::make_shared<spdlog::logger>("test", log_);
    logger->set_pattern("%v");
    server = Server::create(server_config, std::make_shared<RequestLog>(
                                               std::move(logger), RequestLog::Format::kText, false))
                 .value();
    if (serve_at_once) serve();
  }
  void serve() {
    FakeDevice::Options options{.limits = limits, .remembers = false};
    options.run = [this](const Plan& plan) {
      if (on_step) on_step(plan);
      gate.pass();
    };
    config.preprocess_workers = 1;
    ServedModel model = tiny_model(limits.context);
    model.adapters = adapters;
    auto pipeline = std::make_unique<Pipeline>(
        io.get_executor(), config, std::move(model),
        std::vector<DeviceRanks>{{std::make_shared<FakeDevice>(std::move(options))}},
        pipeline_options);
    ModelCard card{.name = "tiny", .created = 1, .model = pipeline->model()};
    engine = std::make_unique<Engine>(io.get_executor(), std::move(pipeline));
    runner = std::thread([this] { io.run(); });
    server->open(*engine, std::move(card));
  }
  void stop() {
    gate.open();
    if (server) {
      server->drain();
      server->close(std::chrono::milliseconds(0));
    }
    engine.reset();
    work.reset();
    io.stop();
    if (runner.joinable()) runner.join();
    server.reset();
  }

  [[nodiscard]] bool all_is_free() const {
    const EngineStats stats = engine->stats();
    return stats.requests == 0 && stats.running == 0 && stats.waiting == 0 &&
           stats.pages_free == stats.pages && server->service().running().count() == 0;
  }

  /// Returns the lines of the log that contain `what`.
  [[nodiscard]] std::vector<std::string> logged(std::string_view what) const {
    std::vector<std::string> lines = log_->last_formatted();
    std::erase_if(lines,
                  [what](const std::string& line) { return line.find(what) == std::string::npos; });
    return lines;
  }
  [[nodiscard]] bool was_logged(std::string_view what) const { return !logged(what).empty(); }

  PlainClient client() const { return PlainClient(server->port()); }
  /// Whether /metrics has this line.
  [[nodiscard]] bool shows(std::string_view metric) const {
    PlainClient one = client();
    one.get("/metrics");
    return one.read_answer().find(std::string(metric) + "\n") != std::string::npos;
  }
  [[nodiscard]] bool will_show(std::string_view metric) const {
    return eventually([&] { return shows(metric); });
  }

  boost::asio::io_context io;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  std::thread runner;
  StepGate gate;
  Config config;
  ServerConfig server_config;
  PipelineOptions pipeline_options;
  std::function<void(const Plan&)> on_step;  ///< called with the device's plans, before the gate
  bool serve_at_once = true;
  DeviceLimits limits = kTinyLimits;
  std::shared_ptr<AdapterRegistry> adapters;  ///< null: the model takes none
  std::unique_ptr<Server> server;
  std::unique_ptr<Engine> engine;

 private:
  const std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> log_ =
      std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
};

}  // namespace weft::test
