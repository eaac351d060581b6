// Several models on threads of their own, with all caches, that come and go while requests are
// cancelled at any moment from any thread.

#include <gtest/gtest.h>

#include <algorithm>
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
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/actors/models/model_host.h"
#include "weft/tests/actors/cancelling_requests.h"
#include "weft/tests/actors/checking_observer.h"
#include "weft/tests/fixture/fake_device_with_files.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

constexpr std::array<const char*, 3> kNames = {"a", "b", "c"};
constexpr std::int64_t kContext = 128;

std::uint64_t weights_of(std::size_t model) { return model * 0xA24BAED4963EE407U; }

std::size_t number_of(const std::string& model) {
  return static_cast<std::size_t>(model.front() - 'a');
}

/// Whose pages each sequence may have, by its seed.
class Domains {
 public:
  void know(const Request& request) {
    const std::int32_t domain = static_cast<std::int32_t>(number_of(request.model)) * 16 +
                                (request.client.front() - 'a') * 4 +
                                static_cast<std::int32_t>(request.cache_salt.size());
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < 2; ++i) domains_[seed_of_choice(request, i)] = domain;
  }
  [[nodiscard]] std::int32_t of(std::uint64_t seed) {
    const std::scoped_lock lock(mutex_);
    return domains_.at(seed);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::int32_t> domains_;
};

class ModelsStressTest : public testing::Test {
 protected:
  static DeviceLimits limits() {
    DeviceLimits limits;
    limits.rows = 8;
    limits.page_tokens = 4;
    limits.context = kContext;
    limits.pages = 96;  // three of the longest
    limits.step_tokens = 48;
    limits.vocabulary = kLetters;
    return limits;
  }

  /// The first model has places in host memory, the others files.
  DeviceRanks devices(std::size_t number) {
    FakeDevice::Options options{.limits = limits(), .weights = weights_of(number)};
    if (number == 0) options.limits.host_pages = 64;
    options.domain = [this](const PlanStart& start) { return domains_.of(start.seed); };
    auto random = std::make_shared<std::minstd_rand>(7);
    options.run = [random](const Plan&) {
      std::this_thread::sleep_for(std::chrono::microseconds((*random)() % 200));
    };
    // So slow, it says, that pages are copied and read rather than computed.
    options.took = [](const Plan& plan) { return std::chrono::milliseconds(2) * tokens_of(plan); };
    auto device = std::make_shared<FakeDeviceWithFiles>(std::move(options));
    if (number > 0) {
      device->open_files(folder_.path() / kNames.at(number),
                         PageKey{static_cast<std::byte>(number)}, pages_read_);
    }
    return {device};
  }

  static ModelsConfig config() {
    ModelsConfig all;
    all.memory_bytes = 1 << 20;
    for (const char* const name : kNames) {
      ModelConfig model;
      model.name = name;
      model.config.model = name;
      model.config.device = "cpu";
      model.config.max_queued_requests = static_cast<std::int32_t>(4 * kCancelOpen);
      model.config.preprocess_workers = 1;
      all.models.push_back(std::move(model));
    }
    return all;
  }

  std::unique_ptr<ModelHost> host() {
    ModelHostOptions how;
    how.pipeline.observer = std::make_shared<CheckingObserver>();
    how.make = [this](const boost::asio::any_io_executor& executor, const Config& config,
                      const PipelineOptions& options) -> std::unique_ptr<RequestPort> {
      return std::make_unique<Pipeline>(executor, config, letter_model(kContext),
                                        std::vector<DeviceRanks>{devices(number_of(config.model))},
                                        options);
    };
    return std::make_unique<ModelHost>(pool_.get_executor(), config(), std::move(how));
  }

  Request random_request(std::mt19937_64& random) {
    Request request = random_cancelling_request(random);
    request.model = kNames.at(random() % kNames.size());
    request.client = std::string(1, static_cast<char>('a' + random() % 2));
    if (random() % 4 == 0) request.cache_salt = "x";
    domains_.know(request);
    return request;
  }

  boost::asio::thread_pool pool_{1};
  TempFolder folder_;
  std::shared_ptr<std::uint64_t> pages_read_ = std::make_shared<std::uint64_t>(0);
  Domains domains_;
};

/// Waits until the model is loaded, or unloaded.
void change(ModelHost& host, const std::string& name, bool load) {
  std::promise<Result<void>> done;
  const auto tell = [&done](Result<void> result) { done.set_value(std::move(result)); };
  load ? host.load_model(name, tell) : host.unload_model(name, tell);
  const Result<void> result = done.get_future().get();
  EXPECT_TRUE(result) << to_string(result.error());
}

TEST_F(ModelsStressTest, TenThousandRequestsTakenBackAtAnyMomentLeaveNoPageOfAnyModel) {
  std::unique_ptr<ModelHost> models = host();
  CancelTally tally;
  std::atomic<std::size_t> refused{0};
  std::atomic<bool> over{false};
  std::atomic<std::size_t> made{0}, rounds{0}, waiting{0};
  std::int32_t most_host_pages = 0;
  std::jthread changes([&] {
    while (!over) {
      const std::size_t until = tally.ends + 200;
      while (!over && tally.ends < until && waiting == 0) std::this_thread::yield();
      change(*models, kNames[2], /*load=*/false);
      change(*models, kNames[2], /*load=*/true);
      ++rounds;
      most_host_pages = std::max(most_host_pages, models->stats().host_pages);
    }
  });
  // However fast requests end, a model goes and comes back for each thousand of them.
  const auto make = [&](std::mt19937_64& random) {
    const std::size_t wanted = made.fetch_add(1) / 1000;
    if (rounds < wanted) {
      waiting.fetch_add(1);
      while (rounds < wanted) std::this_thread::yield();
      waiting.fetch_sub(1);
    }
    return random_request(random);
  };
  cancel_ten_thousand(*models, tally, make, [&](const SimulatedRequest& one) {
    one.check_outputs({.weights = weights_of(number_of(one.request.model)), .context = kContext});
    const auto& code = one.end()->error.code;
    const bool goes = code == EngineErrc::kModelNotLoaded || code == EngineErrc::kModelUnloading;
    if (goes) refused.fetch_add(1);
  });
  over = true;
  changes.join();
  std::promise<void> stopped;
  models->stop([&stopped] { stopped.set_value(); });
  stopped.get_future().wait();

  EXPECT_EQ(tally.failed, refused);
  EXPECT_LT(refused, 5000U) << "hardly anything but refusals";
  EXPECT_GT(rounds, 5U);
  EXPECT_GT(tally.without_tokens, 100U);
  EXPECT_GT(tally.while_streaming, 100U);
  EXPECT_GT(tally.completed, 10U);
  const EngineStats stats = models->stats();
  EXPECT_EQ(stats.requests, 0U);
  EXPECT_EQ(stats.waiting, 0U);
  EXPECT_EQ(stats.running, 0U);
  EXPECT_EQ(stats.pages, 3 * limits().pages);
  EXPECT_EQ(stats.pages_free, stats.pages);
  EXPECT_GT(stats.prefix_hits, 100U);
  EXPECT_GT(most_host_pages, 0);
  EXPECT_GT(stats.file_pages, 0);
  models = nullptr;
  EXPECT_GT(*pages_read_, 0U);
}

}  // namespace
}  // namespace weft::test
