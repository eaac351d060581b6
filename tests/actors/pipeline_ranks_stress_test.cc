// Executors of several ranks on threads of their own, whose steps wait for one another: they serve,
// fail, hang and stop at any moment.

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/actors/pipeline.h"
#include "weft/tests/actors/checking_observer.h"
#include "weft/tests/actors/letter_model.h"
#include "weft/tests/fixture/fake_ranks.h"

namespace weft::test {
namespace {

struct Cut {
  std::int32_t stages = 1;
  std::size_t ranks = 1;
};

constexpr std::size_t kRequests = 16;

/// Keeps the tokens of a request, and counts its ends.
class RequestRecord final : public RequestSink {
 public:
  explicit RequestRecord(std::latch& all) : all_(all) {}
  void deliver(const DeltaView& delta) noexcept override {
    tokens.insert(tokens.end(), delta.tokens.begin(), delta.tokens.end());
  }
  void finish(Finish&& finish) noexcept override {
    end = std::move(finish);
    if (ends.fetch_add(1) == 0) all_.count_down();
  }

  std::vector<TokenId> tokens;
  Finish end;
  std::atomic<int> ends{0};

 private:
  std::latch& all_;
};

/// A pipeline over ranks, and requests for all of its rows and more.
class CutPipeline {
 public:
  CutPipeline(const Cut& cut, std::uint64_t seed, std::function<void(const Plan&)> on_step = {})
      : random_(seed) {
    FakeDevice::Options device;
    device.limits = {.rows = 8,
                     .pages = 60,
                     .page_tokens = 4,
                     .step_tokens = 24,
                     .context = 64,
                     .cross_pages = 0,
                     .vocabulary = kLetters,
                     .stages = cut.stages};
    device.run = std::move(on_step);
    ranks = std::make_shared<FakeRanks>(FakeRanks::Options{std::move(device), cut.ranks});
    PipelineOptions how;
    how.observer = std::make_shared<CheckingObserver>();
    how.system.on_exit = [this](const ExitReport& report) {
      if (report.reason.kind != ExitKind::kStopped) failed_actors.fetch_add(1);
    };
    pipeline = std::make_unique<Pipeline>(pool_.get_executor(), Config{}, letter_model(64),
                                          std::vector<DeviceRanks>{ranks->devices()}, how);
  }
  ~CutPipeline() {
    pipeline.reset();
    for (const auto& one : records) EXPECT_EQ(one->ends, 1) << "each request ends once";
  }

  void send() {
    Request request;
    for (std::uint64_t i = 0; i < 1 + random_() % 20; ++i) {
      request.prompt_tokens.push_back(static_cast<TokenId>(random_() % kLetters));
    }
    request.max_tokens = static_cast<std::int32_t>(20 + random_() % 20);
    request.sampling.seed = random_();
    records.push_back(std::make_shared<RequestRecord>(all_ended));
    requests.push_back(request);
    pipeline->submit(RequestTicket(pipeline->make_request(std::move(request), records.back())));
  }
  void send_all() {
    for (std::size_t i = 0; i < kRequests; ++i) send();
  }
  [[nodiscard]] static std::vector<TokenId> alone(const Request& request) {
    std::vector<TokenId> context = request.prompt_tokens;
    for (std::int32_t i = 0; i < request.max_tokens; ++i) {
      context.push_back(fake_token(*request.sampling.seed, context, kLetters));
    }
    return {context.end() - request.max_tokens, context.end()};
  }

  std::shared_ptr<FakeRanks> ranks;
  std::atomic<int> failed_actors{0};
  std::latch all_ended{kRequests};
  std::vector<Request> requests;
  std::vector<std::shared_ptr<RequestRecord>> records;
  std::unique_ptr<Pipeline> pipeline;

 private:
  std::mt19937_64 random_;
  boost::asio::thread_pool pool_{1};
};

class PipelineRanksStressTest : public testing::TestWithParam<Cut> {
 public:
  static constexpr std::uint64_t kRounds = 12;
};

TEST_P(PipelineRanksStressTest, RanksServeAsOneDeviceDoes) {
  CutPipeline cut(GetParam(), 1);
  cut.send_all();
  cut.all_ended.wait();
  for (std::size_t i = 0; i < kRequests; ++i) {
    EXPECT_EQ(cut.records[i]->tokens, CutPipeline::alone(cut.requests[i]));
  }
  // The last request has ended before the step that freed its pages is counted.
  std::promise<void> stopped;
  cut.pipeline->stop([&stopped] { stopped.set_value(); });
  stopped.get_future().wait();
  const EngineStats stats = cut.pipeline->stats();
  EXPECT_EQ(stats.pages_free, stats.pages);
  cut.pipeline.reset();
  EXPECT_EQ(cut.ranks->half_run(), 0U);
  EXPECT_EQ(cut.failed_actors, 0);
}

TEST_P(PipelineRanksStressTest, ARankThatFailsAtAnyMomentEndsEveryRequestOnce) {
  using Trouble = FakeRanks::Trouble;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (const Trouble trouble : {Trouble::kThrows, Trouble::kThrowsAfterwards, Trouble::kHangs}) {
      SCOPED_TRACE("round " + std::to_string(round));
      std::mt19937_64 random(round);
      CutPipeline cut(GetParam(), round);
      cut.ranks->befall(random() % cut.ranks->size(), trouble, random() % 25);
      cut.send_all();
      if (trouble == Trouble::kHangs) {
        cut.ranks->wait_for_hang();
        cut.ranks->time_out();
      }
      cut.all_ended.wait();
      std::size_t failed = 0;
      for (std::size_t i = 0; i < kRequests; ++i) {
        const Finish& end = cut.records[i]->end;
        if (end.reason == FinishReason::kLength) {
          EXPECT_EQ(cut.records[i]->tokens, CutPipeline::alone(cut.requests[i]));
          continue;
        }
        ++failed;
        EXPECT_TRUE(end.error.code == EngineErrc::kDeviceFailed ||
                    end.error.code == EngineErrc::kNotReady)
            << to_string(end.error);
      }
      EXPECT_GT(failed, 0U);
      EXPECT_FALSE(cut.pipeline->ready());
    }
  }
}

TEST_P(PipelineRanksStressTest, AStopAtAnyMomentWaitsForNoRank) {
  for (std::uint64_t round = 0; round < 4 * kRounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::mt19937_64 random(round);
    std::promise<void> reached;
    std::uint64_t left = 1 + random() % 15;
    CutPipeline cut(GetParam(), round, [&](const Plan&) {
      if (left == 0) return;
      --left;
      if (left == 0) reached.set_value();
    });
    cut.send_all();
    reached.get_future().wait();
    if (round % 2 == 0) {
      std::promise<void> stopped;
      cut.pipeline->stop([&stopped] { stopped.set_value(); });
      stopped.get_future().wait();
    }
    cut.pipeline.reset();
    EXPECT_EQ(cut.failed_actors, 0) << "a stop is no failure";
  }
}

INSTANTIATE_TEST_SUITE_P(Cuts, PipelineRanksStressTest,
                         testing::Values(Cut{1, 2}, Cut{2, 1}, Cut{3, 1}, Cut{2, 2}),
                         [](const auto& what) {
                           return std::to_string(what.param.stages) + "x" +
                                  std::to_string(what.param.ranks);
                         });

}  // namespace
}  // namespace weft::test
