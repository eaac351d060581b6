#include "weft/net/service/io_thread.h"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <new>
#include <utility>

#include "weft/core/metrics.h"
#include "weft/net/defaults.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class FakeConnection final : public Connection {
 public:
  FakeConnection(IoThread& thread, ConnectionCount::Place place)
      : Connection(std::move(place)), thread_(thread) {}

  void check_time(Time /*now*/) override {}
  void drain() override { throw std::bad_alloc(); }
  void abort() override { thread_.remove(*this); }

 private:
  void on_exception(const std::exception& /*failure*/) noexcept override { abort(); }
  IoThread& thread_;
};

class IoThreadTest : public testing::Test {
 public:
  void add(ConnectionCount::Place place) {
    boost::asio::post(thread.context(), [this, place = std::move(place)]() mutable {
      thread.add(std::make_shared<FakeConnection>(thread, std::move(place)));
    });
  }
  /// Waits until the thread has done its earlier work.
  void wait() {
    std::promise<void> done;
    boost::asio::post(thread.context(), [&done] { done.set_value(); });
    done.get_future().wait();
  }

  ConnectionCount count;
  IoThread thread{1h};
};

TEST_F(IoThreadTest, AConnectionCountsFromBeforeItsThreadHasIt) {
  ConnectionCount::Place place(count);
  EXPECT_EQ(count.now(), 1U);
  add(std::move(place));
  wait();
  EXPECT_EQ(count.now(), 1U);
  thread.abort_all();
  count.wait_until_none();
}

TEST_F(IoThreadTest, AConnectionThatItsThreadNeverSawDoesNotCount) {
  thread.stop();
  {
    IoThread stopped(1h);
    boost::asio::post(stopped.context(), [] {});
    stopped.stop();
    boost::asio::post(stopped.context(), [place = ConnectionCount::Place(count)] {});
    EXPECT_EQ(count.now(), 1U);
  }
  EXPECT_EQ(count.now(), 0U);
}

TEST_F(IoThreadTest, WhatItWasToldBeforeItWasStoppedIsDone) {
  bool told = false;
  std::promise<void> go;
  boost::asio::post(thread.context(), [&go] { go.get_future().wait(); });
  boost::asio::post(thread.context(), [&told] { told = true; });
  std::thread stopping([this] { thread.stop(); });
  go.set_value();
  stopping.join();
  EXPECT_TRUE(told);
}

TEST_F(IoThreadTest, AnExceptionEndsItsConnectionAndTheThreadGoesOn) {
  add(ConnectionCount::Place(count));
  thread.drain();  // throws
  count.wait_until_none();
  wait();
}

void spin(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

TEST(IoStallsTest, AStepThatHoldsItsThreadUpIsCountedOnceAndALongOneIsTold) {
  MetricsRegistry metrics;
  Histogram& seconds = metrics.histogram("stalls", "of a test", kLatencyBounds);
  int told = 0;
  IoStalls stalls({.seconds = &seconds, .on_long_stall = [&](IoStalls::Seconds) { ++told; }});
  {
    const IoStalls::Step outer(&stalls);
    const IoStalls::Step inner(&stalls);
    spin(net_defaults::kCountedStall);
  }
  EXPECT_EQ(seconds.value().count, 1U);
  {
    const IoStalls::Step step(&stalls);
    spin(net_defaults::kLoggedStall);
  }
  EXPECT_EQ(seconds.value().count, 2U);
  EXPECT_GE(told, 1);
}

}  // namespace
}  // namespace weft::test
