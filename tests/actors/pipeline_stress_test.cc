// The pipeline on threads of its own, with requests that are cancelled at any moment from any
// thread.

#include <gtest/gtest.h>

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/pipeline.h"
#include "weft/tests/actors/cancelling_requests.h"
#include "weft/tests/actors/checking_observer.h"
#include "weft/tests/fixture/fake_device.h"

namespace weft::test {
namespace {

DeviceLimits limits() {
  DeviceLimits limits;
  limits.rows = 16;
  limits.page_tokens = 4;
  limits.context = 128;
  limits.pages = 160;  // five of the longest
  limits.step_tokens = 48;
  limits.vocabulary = kLetters;
  return limits;
}

std::shared_ptr<FakeDevice> device() {
  FakeDevice::Options options{.limits = limits()};
  auto random = std::make_shared<std::minstd_rand>(7);
  options.run = [random](const Plan&) {
    std::this_thread::sleep_for(std::chrono::microseconds((*random)() % 200));
  };
  return std::make_shared<FakeDevice>(std::move(options));
}

class PipelineStressTest : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Replicas, PipelineStressTest, testing::Values(1, 2));

TEST_P(PipelineStressTest, TenThousandRequestsTakenBackAtAnyMomentEndOnceAndLeaveNothing) {
  boost::asio::thread_pool pool(1);
  Config config;
  config.max_queued_requests = kCancelOpen * 4;
  config.preprocess_workers = 2;
  PipelineOptions how;
  how.observer = std::make_shared<CheckingObserver>();
  std::vector<DeviceRanks> devices;
  while (devices.size() < GetParam()) devices.push_back({device()});
  Pipeline pipeline(pool.get_executor(), config, letter_model(limits().context), devices, how);
  CancelTally tally;
  cancel_ten_thousand(pipeline, tally, random_cancelling_request,
                      [](const SimulatedRequest& request) {
                        request.check_outputs({.context = limits().context});
                      });
  std::promise<void> stopped;
  pipeline.stop([&stopped] { stopped.set_value(); });
  stopped.get_future().wait();

  EXPECT_EQ(tally.failed, 0U);
  EXPECT_GT(tally.without_tokens, 100U);
  EXPECT_GT(tally.while_streaming, 100U);
  EXPECT_GT(tally.completed, 10U);
  const EngineStats stats = pipeline.stats();
  EXPECT_EQ(stats.requests, 0U);
  EXPECT_EQ(stats.waiting, 0U);
  EXPECT_EQ(stats.running, 0U);
  EXPECT_EQ(stats.pages_free, stats.pages);
}

}  // namespace
}  // namespace weft::test
