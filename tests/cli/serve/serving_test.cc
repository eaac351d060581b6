// `weft serve` within the test's process, over a fake device.

#include "weft/cli/serve/serving.h"

#include <gmock/gmock.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include <algorithm>
#include <atomic>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/cli/fail.h"
#include "weft/core/actor/supervision.h"
#include "weft/gpu/device_info.h"
#include "weft/tests/fixture/fake_device.h"
#include "weft/tests/net/api/tiny_model.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/tiny_service.h"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ServingTest : public testing::Test {
 public:
  ServingTest() {
    config_.preprocess_workers = 1;
    server_config_.port = 0;
  }

  /// Serves on a thread of its own until it ends by itself.
  std::future<Result<void>> serve() {
    auto logger = std::make_shared<spdlog::logger>("test", log_);
    logger->set_pattern("%v");
    auto log = std::make_shared<RequestLog>(std::move(logger), RequestLog::Format::kText, false);
    serving_ = std::make_unique<cli::Serving>(
        ModelsConfig::of(config_, "tiny"), server_config_, std::move(log),
        [this](auto executor, const Config& config, const PipelineOptions& options) {
          return make_pipeline(std::move(executor), config, options);
        },
        on_end);
    return std::async(std::launch::async, [this] { return serving_->run(); });
  }

  [[nodiscard]] bool was_logged(std::string_view what) const { return !logged(what).empty(); }

  void wait_for(std::string_view what) const {
    while (!was_logged(what)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  /// Waits until the model is served and returns the port.
  std::uint16_t port() const {
    wait_for("serving ");
    const std::string line = logged("listening on ");
    return static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  }

  /// An end of the process that no test expects must not look as if all tests had passed.
  cli::Serving::EndProcess on_end = [](int /*status*/) { std::abort(); };
  std::function<void(const Plan&)> on_step;
  std::function<void(const PipelineOptions&)> on_load;
  std::string chat_template;          ///< instead of the model's, where it is not empty
  std::vector<std::string> warnings;  ///< warnings about the model
  bool fails_to_load = false;

 private:
  std::unique_ptr<Pipeline> make_pipeline(boost::asio::any_io_executor executor,
                                          const Config& config, const PipelineOptions& options) {
    if (on_load) on_load(options);
    if (fails_to_load) throw boost::system::system_error(DeviceErrc::kOutOfMemory, "small");
    FakeDevice::Options fake{.limits = kTinyLimits, .remembers = false};
    fake.run = [this](const Plan& plan) {
      if (on_step) on_step(plan);
    };
    Vocabulary vocabulary = tiny_vocabulary();
    vocabulary.chat_template = chat_template;
    ServedModel model = tiny_model(kTinyLimits.context);
    if (!chat_template.empty()) {
      model.tokenizer = Tokenizer::from_vocabulary(vocabulary, "tiny").value();
      model.chat = ChatEncoder(model.tokenizer);
    }
    model.warnings = warnings;
    return std::make_unique<Pipeline>(
        std::move(executor), config, std::move(model),
        std::vector<DeviceRanks>{{std::make_shared<FakeDevice>(std::move(fake))}}, options);
  }

  /// Returns the first line of the log that contains `what`.
  [[nodiscard]] std::string logged(std::string_view what) const {
    for (const std::string& line : log_->last_formatted()) {
      if (line.find(what) != std::string::npos) return line;
    }
    return "";
  }

  Config config_;
  ServerConfig server_config_;
  const std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> log_ =
      std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  std::unique_ptr<cli::Serving> serving_;
};

TEST_F(ServingTest, ALostDeviceEndsItWithAStatusOfItsOwnOnceAllHaveBeenTold) {
  std::atomic<bool> lost = false;
  on_step = [&](const Plan&) {
    if (lost) throw ActorFailure(ExitKind::kDeviceLost, "an illegal address");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  auto served = serve();
  std::deque<PlainClient> clients;
  for (int i = 0; i < 6; ++i) {  // two of them wait for a row
    clients.emplace_back(port());
    clients.back().post(kCompletions, kStream);
    if (i >= 4) continue;
    EXPECT_THAT(clients.back().read_until("data: "), StartsWith("HTTP/1.1 200"));
  }
  PlainClient idle(port());
  idle.get("/health");
  EXPECT_THAT(idle.read_answer(), StartsWith("HTTP/1.1 200"));
  lost = true;
  const Result<void> end = served.get();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, EngineErrc::kNotReady);
  EXPECT_THAT(end.error().detail, HasSubstr("executor: device lost: an illegal address"));
  EXPECT_EQ(cli::exit_status(end.error()), 70);
  EXPECT_TRUE(was_logged("the engine has failed for good"));
  for (PlainClient& one : clients) {
    const std::string rest = one.read_to_end();
    EXPECT_THAT(rest, HasSubstr("\"error\""));
    EXPECT_THAT(rest, Not(HasSubstr("\"cancelled\"")));
  }
}

TEST_F(ServingTest, AStepThatFailsIsNoReasonToEnd) {
  std::atomic<int> failures = 1;
  on_step = [&](const Plan&) {
    if (failures-- > 0) throw std::runtime_error("out of luck");
  };
  auto served = serve();
  PlainClient one(port());
  one.post(kCompletions, kThreeTokens);
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 500"));
  one.post(kCompletions, kThreeTokens);
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(served.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  ::raise(SIGTERM);
  EXPECT_TRUE(served.get());
}

TEST_F(ServingTest, LoadingIsLeftHalfWayWhenItIsToldToStop) {
  on_load = [](const PipelineOptions& options) {
    ::raise(SIGTERM);
    const auto too_late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < too_late) options.progress(1, 100);
    ADD_FAILURE() << "nobody has asked it to stop";
  };
  EXPECT_TRUE(serve().get());
  EXPECT_TRUE(was_logged("stopping"));
  EXPECT_FALSE(was_logged("serving "));
}

TEST_F(ServingTest, ItEndsWellWhateverBecomesOfLoadingOnceItIsToldToStop) {
  fails_to_load = true;
  on_load = [this](const PipelineOptions&) {
    ::raise(SIGTERM);
    wait_for("stopping");
  };
  EXPECT_TRUE(serve().get());
}

TEST_F(ServingTest, LoadingThatDoesNotLookAtTheStopEndsWithTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto stopped_while_loading = [this] {
    on_end = [](int status) { std::_Exit(status); };
    on_load = [](const PipelineOptions&) {
      ::raise(SIGINT);
      std::promise<void>().get_future().wait_for(std::chrono::hours(1));
    };
    static_cast<void>(serve().get());
  };
  EXPECT_EXIT(stopped_while_loading(), testing::ExitedWithCode(0), "");
}

TEST_F(ServingTest, TellsHowMuchOfALargeModelIsLoaded) {
  on_load = [](const PipelineOptions& options) {
    for (std::int64_t done = 0; done <= 100; ++done) {
      options.progress(done, 100);
      options.progress(done * 20'000'000, 2'000'000'000);
    }
  };
  auto served = serve();
  wait_for("serving ");
  EXPECT_TRUE(was_logged("loading: 0.2 of 2.0 GB"));
  EXPECT_FALSE(was_logged("loading: 0.3 of 2.0 GB"));
  EXPECT_FALSE(was_logged("of 0.0 GB"));
  ::raise(SIGTERM);
  EXPECT_TRUE(served.get());
}

TEST_F(ServingTest, WarnsOfWhatTheModelsFilesLack) {
  warnings = {"m.gguf: tokenizer.ggml.token_type is missing"};
  auto served = serve();
  wait_for("serving ");
  EXPECT_TRUE(was_logged("m.gguf: tokenizer.ggml.token_type is missing"));
  ::raise(SIGTERM);
  EXPECT_TRUE(served.get());
}

TEST_F(ServingTest, WarnsOfATemplateThatCannotBeParsedAndServesCompletions) {
  chat_template = "{{ bos_token }}\n{% for m messages %}";
  auto served = serve();
  PlainClient one(port());
  EXPECT_TRUE(
      was_logged("the model cannot chat, and serves completions alone: chat_template: "
                 "chat_template:2:"));
  one.post(kCompletions, kThreeTokens);
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  one.post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"a"}]})");
  EXPECT_THAT(one.read_answer(), HasSubstr("this model cannot chat"));
  ::raise(SIGTERM);
  EXPECT_TRUE(served.get());
}

TEST_F(ServingTest, SighupChangesNothing) {
  auto served = serve();
  PlainClient one(port());
  for (int i = 0; i < 3; ++i) {
    ::raise(SIGHUP);
    one.post(kCompletions, kThreeTokens);
    EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  }
  wait_for("SIGHUP changes nothing");
  ::raise(SIGTERM);
  EXPECT_TRUE(served.get());
}

TEST_F(ServingTest, SighupStaysIgnoredWhereItWas) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  auto served = serve();
  port();
  EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);
  ::raise(SIGTERM);
  EXPECT_TRUE(served.get());
}

TEST_F(ServingTest, AModelThatCannotBeLoadedEndsItAsAnyFailureDoes) {
  fails_to_load = true;
  const Result<void> end = serve().get();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, DeviceErrc::kOutOfMemory);
  EXPECT_EQ(cli::exit_status(end.error()), cli::kExitFailed);
}

}  // namespace
}  // namespace weft::test
