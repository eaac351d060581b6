// Engines whose KV cache outlives them, in files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/engine/load_engine.h"
#include "weft/actors/loading/loaded_model.h"
#include "weft/actors/stepper/stepper.h"
#include "weft/config/config_error.h"
#include "weft/gpu/device_error.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

struct PageFilesEngineTest : testing::Test {
  [[nodiscard]] Config config() const {
    Config config;
    config.model = test::source_path("examples/demo_model/model");
    config.threads = 1;
    config.max_rows = 2;
    config.max_pages = 32;
    config.max_context = 256;
    config.cache_folder = (temp.path() / "pages").string();
    return config;
  }
  /// What one engine after another answers; each is gone when this returns.
  GenerationResult answer(Config how, const std::string& salt = {}) {
    asio::io_context io;
    std::optional<Result<Engine>> loaded;
    PipelineOptions options;
    options.notice = [this](const std::string& what) { told.push_back(what); };
    async_load_engine(io.get_executor(), std::move(how), std::move(options),
                      [&](Result<Engine> engine) { loaded = std::move(engine); });
    while (!loaded && io.run_one() != 0) {
    }
    Engine engine = std::move(*loaded).value();
    Request request;
    for (TokenId i = 0; i < 100; ++i) request.prompt_tokens.push_back(5 + i * 7 % 50);
    request.max_tokens = 12;
    request.sampling.ignore_eos = true;
    request.sampling.logprobs = true;
    request.sampling.temperature = 0;
    request.cache_salt = salt;
    auto result = engine.async_generate(std::move(request), asio::use_future);
    io.restart();
    while (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      if (io.run_one() == 0) io.restart();
    }
    metrics = engine.metrics_text();
    return result.get();
  }

  test::TempFolder temp;
  std::vector<std::string> told;
  std::string metrics;  // of the last engine
};

void expect_same(const GenerationResult& one, const GenerationResult& other) {
  ASSERT_EQ(one.choices.size(), other.choices.size());
  EXPECT_EQ(one.choices[0].text, other.choices[0].text);
  EXPECT_EQ(one.choices[0].tokens, other.choices[0].tokens);
  EXPECT_EQ(one.choices[0].logprobs, other.choices[0].logprobs);
}

TEST_F(PageFilesEngineTest, ARestartedEngineFindsThePromptAndGivesTheSameBits) {
  Config without = config();
  without.cache_folder.clear();
  const GenerationResult alone = answer(without);
  const GenerationResult first = answer(config());
  EXPECT_EQ(first.usage.cached_tokens, 0);
  const GenerationResult second = answer(config());
  EXPECT_EQ(second.usage.cached_tokens, 96);
  EXPECT_THAT(metrics, testing::HasSubstr("weft_file_cache_pages_read_total 6\n"));
  EXPECT_THAT(metrics, testing::HasSubstr("weft_file_cache_failures_total 0\n"));
  expect_same(alone, first);
  expect_same(alone, second);
  EXPECT_TRUE(told.empty());
}

TEST_F(PageFilesEngineTest, PagesOfAnotherTypeSizeOrSaltAreNotFound) {
  answer(config());
  Config other = config();
  other.kv_dtype = DType::kF16;
  EXPECT_EQ(answer(other).usage.cached_tokens, 0);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("cache.folder: 6 files are torn, or of another model"), std::string::npos)
      << told[0];
  other = config();
  other.page_tokens = 8;
  EXPECT_EQ(answer(other).usage.cached_tokens, 0);
  EXPECT_EQ(answer(config(), "salt").usage.cached_tokens, 0);
  EXPECT_EQ(answer(config(), "salt").usage.cached_tokens, 96);
  EXPECT_EQ(answer(config()).usage.cached_tokens, 96);
}

TEST_F(PageFilesEngineTest, ATornFileIsComputedAgainAndToldOf) {
  const GenerationResult first = answer(config());
  int torn = 0;
  for (const auto& file : fs::directory_iterator(config().cache_folder)) {
    if (file.path().extension() != ".kv") continue;
    std::fstream bytes(file.path(), std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekp(200);
    bytes.write("\x55\x55\x55\x55\x55\x55\x55\x55", 8);
    ++torn;
  }
  ASSERT_GE(torn, 6);
  const GenerationResult second = answer(config());
  EXPECT_EQ(second.usage.cached_tokens, 0);
  expect_same(first, second);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("cache.folder: reading pages"), std::string::npos) << told[0];
}

TEST_F(PageFilesEngineTest, IsRefusedByNameWhereItCannotBe) {
  const auto refusal = [](const Config& how) { return load_configured_model(how); };
  Config how = config();
  how.replicas = "2";
  EXPECT_THAT(refusal(how), test::FailsWith(DeviceErrc::kUnfit, "cache.folder: files are of one"));
  how = config();
  how.partition = "cpu,cpu";
  EXPECT_THAT(refusal(how), test::FailsWith(DeviceErrc::kUnfit, "cache.folder: of a model"));
  how = config();
  how.cache_folder = (temp.path() / "missing" / "pages").string();
  EXPECT_THAT(refusal(how), test::FailsWith(DeviceErrc::kUnfit, "cache.folder: "));
  EXPECT_THAT(Stepper::create(config()),
              test::FailsWith(ConfigErrc::kBadConfig, "cache.folder: a Stepper"));
  const auto first = load_configured_model(config());
  ASSERT_TRUE(first);
  EXPECT_THAT(refusal(config()),
              test::FailsWith(DeviceErrc::kUnfit, "another model or process has it"));
  how = config();
  how.cache_enabled = false;
  EXPECT_TRUE(refusal(how)) << "nothing is kept, so nothing goes there";
}

}  // namespace
}  // namespace weft
