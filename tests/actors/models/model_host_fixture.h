#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/models/model_host.h"
#include "weft/core/time/virtual_clock.h"
#include "weft/tests/actors/fake_port.h"

namespace weft::test {

/// The outcome of an operation on a model.
struct Outcome {
  boost::system::error_code error;
  std::string detail;
};

inline ModelsConfig models_of(std::vector<std::string> names) {
  ModelsConfig all;
  for (std::string& name : names) {
    ModelConfig model;
    model.name = std::move(name);
    model.config.model = "of " + model.name;
    // A device that is not there has no memory to measure.
    model.config.device = "cuda:99";
    all.models.push_back(std::move(model));
  }
  return all;
}

/// A sink that knows its end.
class EndSink final : public RequestSink {
 public:
  void deliver(const DeltaView& /*delta*/) noexcept override {}
  void finish(Finish&& finish) noexcept override {
    ended_ = true;
    end_.set_value(std::move(finish));
  }
  Finish wait() { return end_.get_future().get(); }
  [[nodiscard]] bool ended() const noexcept { return ended_; }

 private:
  std::atomic<bool> ended_{false};
  std::promise<Finish> end_;
};

/// The host with its real thread over fake pipelines.
class ModelHostTest : public testing::Test {
 public:
  void start() {
    ModelHostOptions options;
    options.make = [this](const boost::asio::any_io_executor& /*executor*/, const Config& of,
                          const PipelineOptions& how) -> std::unique_ptr<RequestPort> {
      if (on_make) on_make(of, how);
      const auto found = failures.find(of.model);
      if (found != failures.end()) {
        throw boost::system::system_error(found->second.code, found->second.detail);
      }
      auto port = std::make_unique<FakePort>(traces);
      const std::scoped_lock lock(mutex);
      ++made;
      hooks[how.model] = how.system.on_exit;
      ports[how.model] = port.get();
      return port;
    };
    options.on_change = [this](const ModelInfo& model, std::size_t loaded) {
      const std::scoped_lock lock(mutex);
      news.push_back(model.name + " " + std::string(to_string(model.state)) + " " +
                     std::to_string(loaded));
      if (news_throw) throw std::bad_alloc();
    };
    options.pipeline.system.clock = clock;
    options.own_thread = own_thread;
    auto models = std::make_unique<ModelHost>(io.get_executor(), config, std::move(options));
    host = models.get();
    engine.emplace(io.get_executor(), std::move(models));
  }
  void TearDown() override {
    engine.reset();
    EXPECT_EQ(traces->destroyed, made);
  }

  FakePort& port(const std::string& name) {
    const std::scoped_lock lock(mutex);
    return *ports.at(name);
  }
  std::shared_ptr<EndSink> submit(const std::string& model,
                                  std::chrono::milliseconds timeout = {}) {
    auto sink = std::make_shared<EndSink>();
    Request request;
    request.model = model;
    request.prompt = "x";
    request.timeout = timeout;
    handles.push_back(engine->submit(std::move(request), sink));
    return sink;
  }
  [[nodiscard]] boost::system::error_code refusal_of(const std::string& model) {
    return submit(model)->wait().error.code;
  }
  std::future<Outcome> load(const std::string& name) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    engine->async_load(name, [promise](boost::system::error_code error, std::string detail) {
      promise->set_value({error, std::move(detail)});
    });
    return promise->get_future();
  }
  std::future<Outcome> unload(const std::string& name) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    engine->async_unload(name, [promise](boost::system::error_code error, std::string detail) {
      promise->set_value({error, std::move(detail)});
    });
    return promise->get_future();
  }
  /// Runs handlers until the operation has completed.
  Outcome wait(std::future<Outcome> outcome) {
    io.restart();
    while (outcome.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      if (io.run_one() == 0) io.restart();
    }
    return outcome.get();
  }
  [[nodiscard]] ModelState state(const std::string& name) const {
    return engine->models()->find(name)->state;
  }

  boost::asio::io_context io;
  ModelsConfig config = models_of({"a", "b"});
  std::map<std::string, Error> failures;  // by the model's path
  std::function<void(const Config&, const PipelineOptions&)> on_make;
  std::shared_ptr<FakePort::Traces> traces = std::make_shared<FakePort::Traces>();
  mutable std::mutex mutex;
  std::map<std::string, FakePort*> ports;
  std::map<std::string, std::function<void(const ExitReport&)>> hooks;
  std::vector<std::string> news;
  bool news_throw = false;
  bool own_thread = true;
  int made = 0;
  std::shared_ptr<VirtualClock> clock = std::make_shared<VirtualClock>();
  std::vector<RequestHandle> handles;
  ModelHost* host = nullptr;
  std::optional<Engine> engine;
};

}  // namespace weft::test
