#include "weft/actors/preprocess/preprocess_pool.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/defaults.h"
#include "weft/core/actor/actor_system.h"

namespace weft {
namespace {

class SilentSink final : public RequestSink {
 public:
  void admit(std::int32_t /*count*/) noexcept override {}
  void deliver(const DeltaView& /*delta*/) noexcept override {}
  void finish(Finish&& /*finish*/) noexcept override {}
};

/// A worker that lets every request fall.
class DroppingWorker {
 public:
  using Accepts = PreprocessProtocol;
  explicit DroppingWorker(ActorContext& /*context*/) {}
  void on(PrepareMsg&& /*message*/) {}
  void undelivered(PrepareMsg&& message, const Error& why) { std::move(message.ticket).fail(why); }
};

/// A pool whose workers do nothing until done() is called.
class PreprocessPoolTest : public testing::Test {
 protected:
  void start(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      workers_.push_back(
          system_.spawn<DroppingWorker>({.name = "preprocess-" + std::to_string(i)}));
    }
    pool_ = std::make_unique<PreprocessPool>(workers_);
  }

  void send(std::int64_t bytes) {
    Request request;
    request.prompt.assign(static_cast<std::size_t>(bytes), 'a');
    PrepareMsg message{RequestTicket(std::make_shared<ActiveRequest>(
        RequestId(++sent_), std::move(request), std::make_shared<SilentSink>(), TimePoint{}))};
    EXPECT_TRUE(taken(pool_->try_send(std::move(message))));
  }

  /// Lets every worker do what it has.
  void done() {
    context_.restart();
    context_.poll();
  }

  [[nodiscard]] std::vector<std::size_t> waiting() const {
    std::vector<std::size_t> counts;
    for (const auto& worker : workers_) counts.push_back(worker.size());
    return counts;
  }

  boost::asio::io_context context_;
  ActorSystem system_{context_.get_executor()};
  std::vector<ActorRef<PreprocessProtocol>> workers_;
  std::unique_ptr<PreprocessPool> pool_;
  std::uint64_t sent_ = 0;
};

using Counts = std::vector<std::size_t>;

TEST_F(PreprocessPoolTest, KeepsLargePromptsToTheFirstHalfOfTheWorkers) {
  start(3);
  for (int i = 0; i < 4; ++i) send(defaults::kLargePromptBytes);
  EXPECT_EQ(waiting(), (Counts{2, 2, 0}));
  send(defaults::kLargePromptBytes - 1);
  EXPECT_EQ(waiting(), (Counts{2, 2, 1}));
}

TEST_F(PreprocessPoolTest, SmallPromptsGoToTheWorkerWithTheFewestBytes) {
  start(2);
  send(4 * defaults::kLargePromptBytes);
  for (int i = 0; i < 8; ++i) send(10);
  EXPECT_EQ(waiting(), (Counts{1, 8}));
}

TEST_F(PreprocessPoolTest, WhatAWorkerHasDoneIsNoLongerCounted) {
  start(2);
  send(4 * defaults::kLargePromptBytes);
  done();
  EXPECT_EQ(waiting(), (Counts{0, 0}));
  send(100);
  send(10);  // the other has a hundred bytes
  EXPECT_EQ(waiting(), (Counts{1, 1}));
}

TEST_F(PreprocessPoolTest, ASingleWorkerTakesPromptsOfAllSizes) {
  start(1);
  send(defaults::kLargePromptBytes);
  send(10);
  EXPECT_EQ(waiting(), (Counts{2}));
}

}  // namespace
}  // namespace weft
