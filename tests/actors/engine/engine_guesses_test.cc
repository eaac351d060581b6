// What is guessed of the demo model's outputs, and that it changes none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/engine/load_engine.h"
#include "weft/gpu/device_error.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

Config small_config() {
  Config config;
  config.model = test::source_path("examples/demo_model/model");
  config.threads = 1;
  config.max_rows = 2;
  config.max_pages = 64;
  config.max_context = 1024;
  config.target_inter_token = std::chrono::minutes(1);  // guesses do not depend on the machine
  return config;
}

/// A folder with another model than the demo model, of the same vocabulary: its first two layers.
class ShallowModel {
 public:
  ShallowModel() {
    const std::filesystem::path demo = test::source_path("examples/demo_model/model");
    std::ifstream file(demo / "config.json");
    std::string config{std::istreambuf_iterator<char>(file), {}};
    const std::string key = "\"num_hidden_layers\": ";
    const std::size_t at = config.find(key) + key.size();
    config.replace(at, config.find_first_not_of("0123456789", at) - at, "2");
    folder_.write("config.json", config);
    for (const char* const name :
         {"model.safetensors", "tokenizer.json", "tokenizer_config.json"}) {
      std::filesystem::create_symlink(demo / name, folder_.path() / name);
    }
  }
  [[nodiscard]] std::string path() const { return folder_.path().string(); }

 private:
  test::TempFolder folder_;
};

/// Asks for a story at a temperature at which hardly anything is said twice.
Request story() {
  Request request;
  request.prompt = "Once upon a time";
  request.max_tokens = 60;
  request.sampling.temperature = 1.2F;
  request.sampling.seed = 5;
  request.sampling.ignore_eos = true;
  return request;
}

struct EngineGuessesTest : testing::Test {
  /// Runs to the completion.
  Result<Engine> load(Config config) {
    std::optional<Result<Engine>> loaded;
    async_load_engine(io.get_executor(), std::move(config), PipelineOptions(),
                      [&](Result<Engine> engine) { loaded = std::move(engine); });
    io.restart();
    while (!loaded && io.run_one() != 0) {
    }
    return *std::move(loaded);
  }

  GenerationResult answer(Engine& engine, const Request& request) {
    auto done = engine.async_generate(
        request,
        asio::use_future([](error_code /*error*/, GenerationResult result) { return result; }));
    io.restart();
    while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) io.run_one();
    return done.get();
  }

  asio::io_context io;
};

TEST_F(EngineGuessesTest, GuessesChangeNoOutput) {
  const auto answers = [&](SpeculationKind kind) {
    Config config = small_config();
    config.jump_ahead = false;  // rows that are jumped ahead are not guessed
    config.speculation = kind;
    Result<Engine> engine = load(std::move(config));
    EXPECT_TRUE(engine) << to_string(engine.error());
    std::vector<GenerationResult> all;
    for (const float temperature : {0.0F, 0.7F, 1.5F}) {
      Request request;
      request.prompt = "one two three. one two three. one two";
      request.max_tokens = 60;
      request.sampling.temperature = temperature;
      request.sampling.seed = 5;
      request.sampling.ignore_eos = true;
      all.push_back(answer(*engine, request));
      request.sampling.ignore_eos = false;
      request.structured_output = {
          .kind = StructuredOutput::Kind::kRegex,
          .text = R"((\{"name": "[a-z]{1,6}", "size": [0-9]{1,3}\}, ){6})"};
      all.push_back(answer(*engine, request));
      request.sampling.penalties.frequency = 0.3F;
      request.sampling.logprobs = true;
      request.sampling.n = 2;
      all.push_back(answer(*engine, request));
    }
    return all;
  };
  const std::vector<GenerationResult> plain = answers(SpeculationKind::kOff);
  const std::vector<GenerationResult> guessed = answers(SpeculationKind::kSuffix);
  std::int32_t rejected = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    for (std::size_t choice = 0; choice < plain[i].choices.size(); ++choice) {
      EXPECT_EQ(guessed[i].choices.at(choice).tokens, plain[i].choices[choice].tokens) << i;
      EXPECT_EQ(guessed[i].choices.at(choice).logprobs, plain[i].choices[choice].logprobs) << i;
    }
    EXPECT_EQ(plain[i].usage.accepted_guesses, 0);
    rejected += guessed[i].usage.rejected_guesses;
  }
  EXPECT_GT(guessed[0].usage.accepted_guesses, 5) << "the text repeats itself";
  EXPECT_GT(guessed[1].usage.accepted_guesses, 5) << "and so does what the expression wants";
  EXPECT_GT(rejected, 0) << "and some of what was drawn does not";
}

TEST_F(EngineGuessesTest, APredictionIsGuessedAndChangesNoOutput) {
  Request request = story();
  Config predicting = small_config();
  predicting.speculation_prediction = true;
  Result<Engine> engine = load(predicting);
  ASSERT_TRUE(engine) << to_string(engine.error());
  const GenerationResult plain = answer(*engine, request);
  EXPECT_EQ(plain.usage.accepted_guesses, 0) << "nothing is guessed unasked";
  EXPECT_EQ(plain.usage.rejected_guesses, 0);

  request.speculation.prediction = plain.choices.at(0).text;
  const GenerationResult predicted = answer(*engine, request);
  EXPECT_EQ(predicted.choices.at(0).tokens, plain.choices[0].tokens);
  EXPECT_GT(predicted.usage.accepted_guesses, 30);
  EXPECT_EQ(predicted.usage.prompt_tokens, plain.usage.prompt_tokens);

  Request otherwise = request;
  otherwise.speculation.prediction = "Another text, which is not what the model says.";
  const GenerationResult wrong = answer(*engine, otherwise);
  EXPECT_EQ(wrong.choices.at(0).tokens, plain.choices[0].tokens);

  Result<Engine> another = load(small_config());
  ASSERT_TRUE(another);
  const GenerationResult ignored = answer(*another, request);
  EXPECT_EQ(ignored.choices.at(0).tokens, plain.choices[0].tokens);
  EXPECT_EQ(ignored.usage.accepted_guesses, 0);

  Config cut = std::move(predicting);
  cut.partition = "cpu, cpu";
  Result<Engine> ranks = load(std::move(cut));
  ASSERT_TRUE(ranks) << to_string(ranks.error());
  EXPECT_EQ(answer(*ranks, request).choices.at(0).tokens, plain.choices[0].tokens);
}

TEST_F(EngineGuessesTest, GuessesByWhatTheSameClientGotRecently) {
  struct Seen {
    std::int32_t accepted = 0;  ///< of the second request
    std::string metrics;
  };
  const auto play = [&](const std::string& second, const std::function<void(Config&)>& change) {
    Config config = small_config();
    config.speculation = SpeculationKind::kSuffix;
    change(config);
    Result<Engine> engine = load(std::move(config));
    EXPECT_TRUE(engine) << to_string(engine.error());
    Request request = story();
    request.client = "a";
    const GenerationResult before = answer(*engine, request);
    request.client = second;
    const GenerationResult after = answer(*engine, request);
    EXPECT_EQ(after.choices.at(0).tokens, before.choices.at(0).tokens);
    return Seen{after.usage.accepted_guesses, engine->metrics_text()};
  };
  const auto as_it_is = [](Config& /*config*/) {};
  EXPECT_GT(play("a", as_it_is).accepted, 30);
  EXPECT_GT(play("b", [](Config& config) { config.cache_share = CacheShare::kAll; }).accepted, 30);

  constexpr const char* kNone = "weft_speculation_guessed_tokens_total{drafter=\"recent\"} 0\n";
  EXPECT_THAT(play("b", as_it_is).metrics, testing::HasSubstr(kNone)) << "others got it";
  const auto keeps_none = [](Config& config) { config.speculation_recent_tokens = 0; };
  EXPECT_THAT(play("a", keeps_none).metrics, testing::HasSubstr(kNone));
  const auto caches_none = [](Config& config) { config.cache_enabled = false; };
  EXPECT_THAT(play("a", caches_none).metrics, testing::HasSubstr(kNone));
}

/// With forks, penalties, structured output and preemption by pages that are too few for all.
TEST_F(EngineGuessesTest, ADraftModelChangesNoOutput) {
  const ShallowModel shallow;
  const auto play = [&](const std::string& draft, SpeculationKind kind) {
    Config config = small_config();
    config.jump_ahead = false;
    config.speculation_model = draft;
    config.speculation = kind;
    config.max_rows = 6;
    config.max_pages = 16;
    config.max_context = 200;
    Result<Engine> engine = load(std::move(config));
    EXPECT_TRUE(engine) << to_string(engine.error());
    std::vector<std::future<GenerationResult>> under_way;
    for (const float temperature : {0.0F, 0.7F, 1.5F}) {
      Request request = story();
      request.sampling.temperature = temperature;
      const auto submit = [&] {
        under_way.push_back(engine->async_generate(
            request, asio::use_future(
                         [](error_code /*error*/, GenerationResult result) { return result; })));
      };
      submit();
      request.sampling.penalties.frequency = 0.3F;
      request.sampling.logprobs = true;
      request.sampling.n = 2;
      submit();
      request.sampling.ignore_eos = false;
      request.structured_output = {.kind = StructuredOutput::Kind::kRegex,
                                   .text = R"((\{"name": "[a-z]{1,6}"\}, ){6})"};
      submit();
    }
    std::vector<GenerationResult> all;
    for (auto& one : under_way) {
      io.restart();
      while (one.wait_for(std::chrono::seconds(0)) != std::future_status::ready) io.run_one();
      all.push_back(one.get());
    }
    return std::pair(std::move(all), engine->metrics_text());
  };
  const std::string demo = small_config().model;
  const auto [plain, none] = play("", SpeculationKind::kOff);
  EXPECT_THAT(none, testing::HasSubstr("guessed_tokens_total{drafter=\"model\"} 0\n"));
  for (const auto& [draft, kind] :
       {std::pair(demo, SpeculationKind::kOff), std::pair(shallow.path(), SpeculationKind::kOff),
        std::pair(demo, SpeculationKind::kSuffix)}) {
    const auto [drafted, metrics] = play(draft, kind);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      ASSERT_EQ(drafted[i].choices.size(), plain[i].choices.size());
      for (std::size_t choice = 0; choice < plain[i].choices.size(); ++choice) {
        EXPECT_EQ(drafted[i].choices[choice].tokens, plain[i].choices[choice].tokens) << i;
        EXPECT_EQ(drafted[i].choices[choice].logprobs, plain[i].choices[choice].logprobs) << i;
      }
    }
    EXPECT_THAT(metrics,
                testing::ContainsRegex("guessed_tokens_total.drafter=\"model\". [1-9][0-9]*\n"));
  }
}

TEST_F(EngineGuessesTest, AllGreedyGuessesOfAModelForItselfAreRight) {
  Config config = small_config();
  config.speculation_model = config.model;
  Result<Engine> engine = load(std::move(config));
  ASSERT_TRUE(engine) << to_string(engine.error());
  Request request = story();
  request.sampling.temperature = 0;
  request.max_tokens = 200;
  const GenerationResult drafted = answer(*engine, request);
  EXPECT_GT(drafted.usage.accepted_guesses, 0);
  EXPECT_EQ(drafted.usage.rejected_guesses, 0);
  EXPECT_EQ(drafted.usage.output_tokens, 200);

  request.speculation.kind = SpeculationKind::kOff;
  const GenerationResult plain = answer(*engine, request);
  EXPECT_EQ(plain.choices.at(0).tokens, drafted.choices.at(0).tokens);
  EXPECT_EQ(plain.usage.accepted_guesses, 0) << "the request wants none";
}

TEST_F(EngineGuessesTest, DraftModelsThatCannotBeUsedAreRefusedByName) {
  const auto refusal = [&](const std::function<void(Config&)>& change) {
    Config config = small_config();
    config.speculation_model = config.model;
    change(config);
    const Result<Engine> engine = load(std::move(config));
    return engine ? std::string("none") : to_string(engine.error());
  };
  EXPECT_THAT(refusal([](Config& config) { config.partition = "cpu, cpu"; }),
              testing::AllOf(testing::HasSubstr("speculation.model"), testing::HasSubstr("cpu")));
  EXPECT_THAT(refusal([](Config& config) { config.speculation_model = "/no/such/model"; }),
              testing::AllOf(testing::HasSubstr("speculation.model"),
                             testing::HasSubstr("/no/such/model")));
  EXPECT_THAT(refusal([](Config& config) {
                config.speculation_model = test::source_path("tests/model/data/goldens/llama");
              }),
              testing::HasSubstr("speculation.model: its vocabulary has"));
}

TEST_F(EngineGuessesTest, GuessesOfAModelThatIsCutAreRefused) {
  Config config = small_config();
  config.speculation = SpeculationKind::kSuffix;
  config.partition = "cpu, cpu";
  const Result<Engine> engine = load(std::move(config));
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, DeviceErrc::kUnfit);
  EXPECT_NE(engine.error().detail.find("speculation.kind"), std::string::npos);
}

}  // namespace
}  // namespace weft
