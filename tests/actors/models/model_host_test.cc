#include "weft/actors/models/model_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/actors/engine_error.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/load_progress.h"
#include "weft/tests/actors/models/model_host_fixture.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using test::EndSink;
using test::ModelHostTest;
using test::models_of;
using test::Outcome;
using testing::ElementsAre;

TEST_F(ModelHostTest, GivesARequestToTheModelThatItNames) {
  config.models[1].aliases = {"other"};
  start();
  const auto first = submit("");
  const auto named = submit("b");
  const auto by_alias = submit("other");
  EXPECT_EQ(port("a").size(), 1U);
  EXPECT_EQ(port("b").size(), 2U);
  EXPECT_EQ(refusal_of("c"), EngineErrc::kNoSuchModel);
  EXPECT_EQ(engine->stats().requests, 3U);
  port("a").finish(0);
  port("b").finish(0);
  port("b").finish(1);
  EXPECT_EQ(first->wait().reason, FinishReason::kStop);
  EXPECT_NE(handles[0].id(), handles[1].id()) << "requests of two models have one number";
}

TEST_F(ModelHostTest, LetsAModelThatFailsToLoadFailAlone) {
  failures["of a"] = {DeviceErrc::kOutOfMemory, "a needs 9 GB"};
  start();
  const ModelInfo& failed = engine->models()->models[0];
  EXPECT_EQ(failed.state, ModelState::kFailed);
  EXPECT_EQ(failed.failure.code, DeviceErrc::kOutOfMemory);
  EXPECT_EQ(failed.failure.detail, "a needs 9 GB");
  EXPECT_TRUE(engine->ready());
  const Finish end = submit("a")->wait();
  EXPECT_EQ(end.error.code, EngineErrc::kModelFailed);
  EXPECT_NE(end.error.detail.find("a needs 9 GB"), std::string::npos);
  const auto served = submit("b");
  port("b").finish(0);
  EXPECT_EQ(served->wait().reason, FinishReason::kStop);
  EXPECT_THAT(news, ElementsAre("a failed 0", "b loaded 1"));
}

TEST_F(ModelHostTest, DoesNotStartWhenAllModelsFail) {
  failures["of a"] = {DeviceErrc::kOutOfMemory, "a needs 9 GB"};
  failures["of b"] = {DeviceErrc::kOutOfMemory, "b needs 9 GB"};
  try {
    start();
    FAIL() << "it has started";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), DeviceErrc::kOutOfMemory);
    EXPECT_NE(std::string(error.what()).find("a needs 9 GB"), std::string::npos);
  }
}

TEST_F(ModelHostTest, LoadsAgainWhatHasFailed) {
  failures["of a"] = {DeviceErrc::kOutOfMemory, "a needs 9 GB"};
  start();
  EXPECT_EQ(wait(load("a")).detail, "a needs 9 GB");
  failures.clear();
  EXPECT_FALSE(wait(load("a")).error);
  EXPECT_EQ(state("a"), ModelState::kLoaded);
  EXPECT_FALSE(engine->models()->find("a")->failure.code);
}

TEST_F(ModelHostTest, UnloadsAModelOnceItsRequestsHaveEnded) {
  start();
  const auto runs = submit("b");
  auto gone = unload("b");
  EXPECT_EQ(state("b"), ModelState::kUnloading);
  EXPECT_EQ(refusal_of("b"), EngineErrc::kModelUnloading);
  EXPECT_EQ(wait(load("b")).error, EngineErrc::kModelUnloading);
  EXPECT_EQ(traces->destroyed, 0);
  port("b").say(0, "still there");
  port("b").finish(0);
  EXPECT_EQ(runs->wait().reason, FinishReason::kStop);
  EXPECT_FALSE(wait(std::move(gone)).error);
  EXPECT_EQ(traces->destroyed, 1);
  EXPECT_EQ(state("b"), ModelState::kUnloaded);
  EXPECT_EQ(refusal_of("b"), EngineErrc::kModelNotLoaded);
  EXPECT_EQ(engine->models()->find("b")->model, nullptr);
  EXPECT_FALSE(wait(unload("b")).error) << "what is wanted is so already";
  EXPECT_FALSE(wait(load("b")).error);
  const auto again = submit("b");
  port("b").finish(0);
  EXPECT_EQ(again->wait().reason, FinishReason::kStop);
}

TEST_F(ModelHostTest, NamesWhatCannotBeDone) {
  start();
  EXPECT_EQ(wait(load("c")).error, EngineErrc::kNoSuchModel);
  EXPECT_EQ(wait(load("")).error, EngineErrc::kNoSuchModel);
  EXPECT_EQ(wait(unload("c")).error, EngineErrc::kNoSuchModel);
  EXPECT_FALSE(wait(load("a")).error) << "it is loaded already";
}

TEST_F(ModelHostTest, LoadsOneAtATimeWhileOthersServe) {
  config = models_of({"a", "b", "c"});
  config.models[1].load = config.models[2].load = false;
  start();
  std::latch begun(1);
  std::latch may_go_on(1);
  std::atomic<int> at_once{0};
  std::atomic<int> most{0};
  on_make = [&](const Config& what, const PipelineOptions& /*how*/) {
    most = std::max(most.load(), ++at_once);
    if (what.model == "of b") {
      begun.count_down();
      may_go_on.wait();
    }
    --at_once;
  };
  auto first = load("b");
  auto second = load("c");
  begun.wait();
  EXPECT_EQ(state("b"), ModelState::kLoading);
  EXPECT_EQ(wait(unload("b")).error, EngineErrc::kModelLoading);
  const auto served = submit("a");
  port("a").finish(0);
  EXPECT_EQ(served->wait().reason, FinishReason::kStop);
  const auto waits = submit("b");  // it is on its way
  may_go_on.count_down();
  EXPECT_FALSE(wait(std::move(first)).error);
  EXPECT_FALSE(wait(std::move(second)).error);
  EXPECT_EQ(most, 1);
  while (port("b").size() == 0) std::this_thread::yield();
  port("b").finish(0);
  EXPECT_EQ(waits->wait().reason, FinishReason::kStop);
}

TEST_F(ModelHostTest, BoundsThoseThatWaitForAModel) {
  config.models[1].load = false;
  config.models[1].config.max_queued_requests = 3;
  start();
  std::latch may_go_on(1);
  on_make = [&](const Config& /*what*/, const PipelineOptions& /*how*/) { may_go_on.wait(); };
  std::vector<std::future<Outcome>> waiting;
  for (int i = 0; i < 64; ++i) waiting.push_back(load("b"));
  EXPECT_EQ(wait(load("b")).error, EngineErrc::kOverloaded);
  std::vector<std::shared_ptr<EndSink>> requests;
  for (int i = 0; i < 3; ++i) requests.push_back(submit("b"));
  EXPECT_EQ(refusal_of("b"), EngineErrc::kOverloaded);
  may_go_on.count_down();
  for (auto& one : waiting) EXPECT_FALSE(wait(std::move(one)).error);
  while (port("b").size() < 3) std::this_thread::yield();
  for (std::size_t i = 0; i < 3; ++i) port("b").finish(i);
  for (const auto& one : requests) EXPECT_EQ(one->wait().reason, FinishReason::kStop);
}

TEST_F(ModelHostTest, LoadsOnDemandAndLetsTheLeastRecentlyUsedIdleModelGo) {
  config = models_of({"a", "b", "c"});
  config.max_loaded = 2;
  start();
  EXPECT_EQ(state("c"), ModelState::kUnloaded) << "more are loaded than may be";
  const auto in_b = submit("b");
  port("b").finish(0);
  EXPECT_EQ(in_b->wait().reason, FinishReason::kStop);
  const auto in_a = submit("a");
  const auto in_c = submit("c");  // b was used before a, and is idle
  while (state("c") != ModelState::kLoaded) std::this_thread::yield();
  EXPECT_EQ(state("b"), ModelState::kUnloaded);
  EXPECT_EQ(traces->destroyed, 1);
  while (port("c").size() == 0) std::this_thread::yield();
  // Both are busy now.
  EXPECT_EQ(refusal_of("b"), EngineErrc::kOverloaded);
  EXPECT_EQ(state("b"), ModelState::kUnloaded);
  port("c").finish(0);
  EXPECT_EQ(in_c->wait().reason, FinishReason::kStop);
  const auto back = submit("b");
  while (state("b") != ModelState::kLoaded) std::this_thread::yield();
  EXPECT_EQ(state("c"), ModelState::kUnloaded);
  while (port("b").size() == 0) std::this_thread::yield();
  port("b").finish(0);
  EXPECT_EQ(back->wait().reason, FinishReason::kStop);
  port("a").finish(0);
  EXPECT_EQ(in_a->wait().reason, FinishReason::kStop);
}

TEST_F(ModelHostTest, EndsARequestThatIsCancelledWhileItsModelLoads) {
  config.models[1].load = false;
  config.max_loaded = 2;
  start();
  std::latch begun(1);
  std::latch may_go_on(1);
  on_make = [&](const Config& /*what*/, const PipelineOptions& how) {
    begun.count_down();
    may_go_on.wait();
    how.progress(1, 2);
  };
  const auto cancelled = submit("b");
  const auto goes_on = submit("b");
  begun.wait();
  handles[0].ask_to_end(EndCause::kCancel);
  may_go_on.count_down();
  EXPECT_EQ(cancelled->wait().error.code, EngineErrc::kCancelled);
  while (state("b") != ModelState::kLoaded) std::this_thread::yield();
  while (port("b").size() == 0) std::this_thread::yield();
  EXPECT_EQ(port("b").size(), 1U);
  port("b").finish(0);
  EXPECT_EQ(goes_on->wait().reason, FinishReason::kStop);
}

TEST_F(ModelHostTest, LosesOneModelAndServesTheOthers) {
  start();
  const auto runs = submit("b");
  ExitReport report;
  report.actor = "executor@b";
  report.reason = {.kind = ExitKind::kDeviceLost, .what = "gone"};
  report.action = SupervisionAction::kNotReady;
  hooks["b"](report);
  while (state("b") != ModelState::kFailed) std::this_thread::yield();
  EXPECT_EQ(engine->models()->find("b")->failure.code, EngineErrc::kNotReady);
  EXPECT_EQ(refusal_of("b"), EngineErrc::kNotReady);
  EXPECT_TRUE(engine->ready());
  port("b").fail(0, {EngineErrc::kDeviceFailed, {}});
  EXPECT_EQ(runs->wait().error.code, EngineErrc::kDeviceFailed);
  while (traces->destroyed == 0) std::this_thread::yield();
  EXPECT_EQ(state("b"), ModelState::kFailed);
  // It has gone a moment after its pipeline has; until then it is leaving.
  while (wait(load("b")).error) std::this_thread::yield();
  EXPECT_EQ(state("b"), ModelState::kLoaded);
}

TEST_F(ModelHostTest, AnswersEverybodyWhenTheEngineEnds) {
  config.models[1].load = false;
  config.max_loaded = 2;
  start();
  std::latch begun(1);
  on_make = [&](const Config& /*what*/, const PipelineOptions& how) {
    begun.count_down();
    while (true) how.progress(1, 2);  // until the host wants no more
  };
  const auto runs = submit("a");
  const auto waits = submit("b");
  auto load_b = load("b");
  begun.wait();
  engine.reset();
  EXPECT_EQ(runs->wait().error.code, EngineErrc::kStopping);
  EXPECT_EQ(waits->wait().error.code, EngineErrc::kStopping);
  EXPECT_EQ(wait(std::move(load_b)).error, EngineErrc::kStopping);
}

TEST_F(ModelHostTest, AsksALoadThatTellsNothingToStop) {
  config.models[1].load = false;
  start();
  std::latch begun(1);
  on_make = [&](const Config& /*what*/, const PipelineOptions& how) {
    const std::stop_token& stop = how.progress.stop;
    EXPECT_FALSE(stop.stop_requested());
    begun.count_down();
    std::latch asked(1);
    const std::stop_callback count(stop, [&asked] { asked.count_down(); });
    asked.wait();
    throw_if_stopped(stop);
  };
  auto load_b = load("b");
  begun.wait();
  engine.reset();
  EXPECT_EQ(wait(std::move(load_b)).error, EngineErrc::kStopping);
}

TEST_F(ModelHostTest, StopsWhenAllOfItsModelsHave) {
  start();
  for (const char* name : {"a", "b"}) port(name).stops_at_once = false;
  bool stopped = false;
  engine->async_shutdown([&](boost::system::error_code) { stopped = true; });
  const auto run = [this] {
    io.restart();
    io.poll();
  };
  while (traces->stops < 2) std::this_thread::yield();
  port("a").finish_stop();
  run();
  EXPECT_FALSE(stopped) << "the other has not stopped";
  port("b").finish_stop();
  io.restart();
  while (!stopped) {
    if (io.run_one() == 0) io.restart();
  }
  EXPECT_EQ(refusal_of("a"), EngineErrc::kStopping);
}

TEST_F(ModelHostTest, TakesBackAWaitThatIsCancelled) {
  config.models[1].load = false;
  start();
  std::latch may_go_on(1);
  on_make = [&](const Config& /*what*/, const PipelineOptions& /*how*/) { may_go_on.wait(); };
  asio::cancellation_signal signal;
  std::optional<boost::system::error_code> ended;
  engine->async_load(
      "b", asio::bind_cancellation_slot(
               signal.slot(), [&](boost::system::error_code error, const std::string& /*detail*/) {
                 ended = error;
               }));
  signal.emit(asio::cancellation_type::terminal);
  io.restart();
  io.run_one();
  EXPECT_EQ(ended, asio::error::operation_aborted);
  may_go_on.count_down();
  EXPECT_FALSE(wait(load("b")).error) << "it was loaded all the same";
}

/// A pipeline that gives its requests their end on a thread of its own, in order.
class EndingPort final : public RequestPort {
 public:
  EndingPort() : thread_([this] { run(); }) {}
  ~EndingPort() override {
    {
      const std::scoped_lock lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  std::shared_ptr<ActiveRequest> make_request(Request /*request*/,
                                              std::shared_ptr<RequestSink> /*sink*/) override {
    return nullptr;  // the host makes them
  }
  void submit(RequestTicket ticket) noexcept override {
    {
      const std::scoped_lock lock(mutex_);
      tickets_.push_back(std::move(ticket));
    }
    changed_.notify_all();
  }
  void stop(std::function<void()> stopped) noexcept override { stopped(); }
  [[nodiscard]] EngineStats stats() const override { return {}; }
  [[nodiscard]] MetricsRegistry& metrics() const noexcept override { return metrics_; }
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stops_ || !tickets_.empty(); });
      if (tickets_.empty()) return;
      RequestTicket ticket = std::move(tickets_.front());
      tickets_.pop_front();
      lock.unlock();
      std::move(ticket).finish({});
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RequestTicket> tickets_;
  bool stops_ = false;
  mutable MetricsRegistry metrics_;
  std::thread thread_;
};

/// How the requests to one model have ended.
struct EndCounts {
  std::atomic<int> submitted{0};
  std::atomic<int> ended{0};
  std::atomic<int> served{0};
  std::atomic<int> refused{0};  ///< because as many wait for the model as may
};

/// Counts ends, each of which is a good one or says where the model is, or that too many wait for
/// it: the clients here wait for no answer.
class CountingSink final : public RequestSink {
 public:
  explicit CountingSink(EndCounts& ends) : ends_(ends) {}
  void deliver(const DeltaView& /*delta*/) noexcept override {}
  void finish(Finish&& finish) noexcept override {
    if (finish.reason == FinishReason::kStop) {
      ends_.served.fetch_add(1);
    } else if (finish.error.code == EngineErrc::kOverloaded) {
      ends_.refused.fetch_add(1);
    } else {
      const bool known = finish.error.code == EngineErrc::kModelUnloading ||
                         finish.error.code == EngineErrc::kModelNotLoaded;
      EXPECT_TRUE(known) << to_string(finish.error);
    }
    ends_.ended.fetch_add(1);
  }

 private:
  EndCounts& ends_;
};

constexpr int kMayWait = 8;
constexpr int kClientsOfB = 2;

/// While b loads: until one was refused because as many wait as may. Those of an earlier load that
/// are counted late are one of each client.
void wait_until_refused(const EndCounts& b) {
  for (const int before = b.refused; b.refused <= before + kClientsOfB;) std::this_thread::yield();
  // What comes between two counts makes these more, and the next ones less.
  const int ended_first = b.ended;
  EXPECT_GE(b.submitted - ended_first, kMayWait) << "refused before that";
  const int submitted_first = b.submitted;
  EXPECT_LE(submitted_first - b.ended, kMayWait + kClientsOfB);
}

TEST(ModelHostStressTest, LosesNoRequestWhileModelsComeAndGo) {
  asio::io_context io;
  EndCounts a, b;
  std::atomic<bool> fills{false};
  ModelHostOptions options;
  options.make = [&](const asio::any_io_executor& /*executor*/, const Config& /*config*/,
                     const PipelineOptions& /*how*/) {
    if (fills) wait_until_refused(b);  // only b is loaded by then
    return std::make_unique<EndingPort>();
  };
  ModelsConfig config = models_of({"a", "b"});
  config.models[1].config.max_queued_requests = kMayWait;
  ModelHost host(io.get_executor(), std::move(config), std::move(options));
  std::atomic<bool> done{false};
  const auto ask = [&](const std::string& model, EndCounts& ends) {
    Request request;
    request.model = model;
    const auto sink = std::make_shared<CountingSink>(ends);
    ends.submitted.fetch_add(1);
    host.submit(RequestTicket(host.make_request(std::move(request), sink)));
  };
  std::vector<std::thread> clients;
  for (int i = 0; i <= kClientsOfB; ++i) {
    clients.emplace_back([&, i] {
      while (!done) i == 0 ? ask("a", a) : ask("b", b);
    });
  }
  const auto wait = [](auto begin) {
    std::promise<Result<void>> promise;
    begin([&promise](const Result<void>& result) { promise.set_value(result); });
    return promise.get_future().get();
  };
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    fills = round % 2 == 0;
    EXPECT_TRUE(wait([&](ModelDone told) { host.unload_model("b", std::move(told)); }));
    EXPECT_EQ(host.models()->find("b")->state, ModelState::kUnloaded);
    EXPECT_TRUE(wait([&](ModelDone told) { host.load_model("b", std::move(told)); }));
  }
  done = true;
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(wait([&](ModelDone told) { host.unload_model("a", std::move(told)); }));
  EXPECT_TRUE(wait([&](ModelDone told) { host.unload_model("b", std::move(told)); }));
  EXPECT_EQ(a.served, a.submitted) << "it was there all the time";
  EXPECT_EQ(b.ended, b.submitted);
  EXPECT_GE(b.served, kMayWait * kRounds / 2) << "who waits for the model gets it";
}

}  // namespace
}  // namespace weft
