// The pipeline on threads of its own, with requests that are cancelled at any moment from any
// thread.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/actors/pipeline.h"
#include "weft/tests/actors/checking_observer.h"
#include "weft/tests/actors/letter_model.h"
#include "weft/tests/fixture/fake_device.h"

namespace weft::test {
namespace {

constexpr std::size_t kThreads = 4;
constexpr std::size_t kRequestsOfAThread = 2500;
/// Requests of one thread under way at once; some of them wait for rows.
constexpr std::size_t kOpen = 24;

/// Counts how all requests ended.
struct Tally {
  std::atomic<std::size_t> ends{0}, second_ends{0}, cancelled{0}, completed{0}, failed{0};
  std::atomic<std::size_t> without_tokens{0}, while_streaming{0}, after_end{0};
};

/// Cancels its request at its `cancel_at`-th token, if it gets that far.
class CancellingSink final : public RequestSink {
 public:
  CancellingSink(Tally& tally, std::counting_semaphore<>& places, std::size_t cancel_at)
      : tally_(tally), places_(places), cancel_at_(cancel_at) {}

  void deliver(const DeltaView& delta) noexcept override {
    if (ended_.load()) tally_.after_end.fetch_add(1);
    tokens_ += delta.tokens.size();
    if (tokens_ != cancel_at_) return;
    if (const auto request = request_.lock()) request->ask_to_end(EndCause::kCancel);
  }
  void finish(Finish&& finish) noexcept override {
    if (ended_.exchange(true)) {
      tally_.second_ends.fetch_add(1);
      return;
    }
    tally_.ends.fetch_add(1);
    if (finish.reason == FinishReason::kCancelled) {
      tally_.cancelled.fetch_add(1);
      (tokens_ == 0 ? tally_.without_tokens : tally_.while_streaming).fetch_add(1);
    } else {
      (finish.reason == FinishReason::kError ? tally_.failed : tally_.completed).fetch_add(1);
    }
    places_.release();
  }

  void set_request(std::weak_ptr<ActiveRequest> request) { request_ = std::move(request); }

 private:
  Tally& tally_;
  std::counting_semaphore<>& places_;
  const std::size_t cancel_at_;
  std::weak_ptr<ActiveRequest> request_;
  std::size_t tokens_ = 0;
  std::atomic<bool> ended_{false};
};

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

Request random_request(std::mt19937_64& random) {
  Request request;
  for (std::uint64_t i = 0; i < 1 + random() % 60; ++i) {
    request.prompt_tokens.push_back(static_cast<TokenId>(random() % kLetters));
  }
  request.max_tokens = static_cast<std::int32_t>(1 + random() % 60);
  request.request_class = random() % 2 == 0 ? RequestClass::kChat : RequestClass::kBatch;
  request.sampling.seed = random();
  if (random() % 5 == 0) request.sampling.n = 2;
  return request;
}

/// Sends some thousand requests, kOpen at a time. Some are cancelled at a random moment, when later
/// ones have begun.
void play(Pipeline& pipeline, Tally& tally, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::counting_semaphore<> places(kOpen);
  std::vector<std::shared_ptr<ActiveRequest>> open;
  const auto cancel_one = [&] {
    const std::size_t which = random() % open.size();
    open[which]->ask_to_end(EndCause::kCancel);
    open[which] = open.back();
    open.pop_back();
  };
  for (std::size_t i = 0; i < kRequestsOfAThread; ++i) {
    if (open.size() >= kOpen) cancel_one();
    places.acquire();
    const std::size_t cancel_at = random() % 3 == 0 ? 1 + random() % 20 : 0;
    auto sink = std::make_shared<CancellingSink>(tally, places, cancel_at);
    auto request = pipeline.make_request(random_request(random), sink);
    sink->set_request(request);
    if (random() % 20 == 0) request->ask_to_end(EndCause::kCancel);
    open.push_back(request);
    pipeline.submit(RequestTicket(std::move(request)));
    if (random() % 4 == 0) cancel_one();
  }
  while (!open.empty()) cancel_one();
  for (std::size_t i = 0; i < kOpen; ++i) places.acquire();
}

class PipelineStressTest : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Replicas, PipelineStressTest, testing::Values(1, 2));

TEST_P(PipelineStressTest, TenThousandRequestsTakenBackAtAnyMomentEndOnceAndLeaveNothing) {
  boost::asio::thread_pool pool(1);
  Config config;
  config.max_queued_requests = 4 * kOpen;
  config.preprocess_workers = 2;
  PipelineOptions how;
  how.observer = std::make_shared<CheckingObserver>();
  std::vector<DeviceRanks> devices;
  while (devices.size() < GetParam()) devices.push_back({device()});
  Pipeline pipeline(pool.get_executor(), config, letter_model(limits().context), devices, how);
  Tally tally;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { play(pipeline, tally, i + 1); });
    }
  }
  std::promise<void> stopped;
  pipeline.stop([&stopped] { stopped.set_value(); });
  stopped.get_future().wait();

  EXPECT_EQ(tally.ends, kThreads * kRequestsOfAThread);
  EXPECT_EQ(tally.second_ends, 0U);
  EXPECT_EQ(tally.after_end, 0U);
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
