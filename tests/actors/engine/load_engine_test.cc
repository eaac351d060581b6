#include "weft/actors/engine/load_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/prompt_logprobs.h"
#include "weft/gpu/activation_reader.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/memory/memory_budget.h"
#include "weft/grammar/grammar_builder.h"
#include "weft/sampling/logit_processor.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

Config demo_config() {
  Config config;
  config.model = test::source_path("examples/demo_model/model");
  config.threads = 1;
  config.max_rows = 2;
  config.max_pages = 64;
  config.max_context = 1024;
  return config;
}

PipelineOptions within(std::shared_ptr<MemoryBudget> budget) {
  PipelineOptions options;
  options.memory_budget = std::move(budget);
  return options;
}

struct LoadEngineTest : testing::Test {
  /// Runs to the completion.
  Result<Engine> load(Config config, PipelineOptions options = {}) {
    std::optional<Result<Engine>> loaded;
    async_load_engine(io.get_executor(), std::move(config), std::move(options),
                      asio::bind_cancellation_slot(signal.slot(), [&](Result<Engine> engine) {
                        loaded = std::move(engine);
                      }));
    EXPECT_FALSE(loaded) << "within the call";
    io.restart();
    while (!loaded && io.run_one() != 0) {
    }
    return *std::move(loaded);
  }

  asio::io_context io;
  asio::cancellation_signal signal;
};

TEST_F(LoadEngineTest, GivesAnEngineThatServesAndTellsOfItsModel) {
  Result<Engine> engine = load(demo_config());
  ASSERT_TRUE(engine) << to_string(engine.error());
  const auto model = engine->model();
  EXPECT_GT(model->context, 0);
  EXPECT_FALSE(model->end_tokens.empty());
  EXPECT_EQ(model->facts.family, "llama");
  EXPECT_EQ(model->facts.format, "safetensors");
  EXPECT_FALSE(model->facts.weight_type.empty());
  EXPECT_GT(model->facts.parameters, 100'000);
  EXPECT_GT(model->facts.stored_bytes, model->facts.parameters / 2);
  EXPECT_GT(model->facts.hidden, 0);
  EXPECT_GT(model->facts.layers, 0);
  const std::string text = "What is 12 + 30?";
  std::vector<TokenId> ids;
  ASSERT_TRUE(model->tokenizer.encode(text, {}, ids));
  EXPECT_FALSE(ids.empty());
  Request request;
  request.prompt_tokens = ids;
  request.max_tokens = 2;
  request.sampling.ignore_eos = true;
  auto result = engine->async_generate(std::move(request), asio::use_future);
  io.restart();
  while (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) io.run_one();
  EXPECT_EQ(result.get().usage.output_tokens, 2);
}

TEST_F(LoadEngineTest, HasTwiceThePagesInTheSameMemoryWithKeysAndValuesAsCodes) {
  const auto loaded = [&](std::optional<DType> kv_dtype) {
    Config config = demo_config();
    config.kv_dtype = kv_dtype;
    config.max_rows = 64;
    config.max_pages = 0;
    config.memory_bytes = std::int64_t{48} << 20;
    io.restart();
    auto engine = load(std::move(config));
    EXPECT_TRUE(engine) << to_string(engine.error());
    const auto model = engine->model();
    EXPECT_EQ(model->kv_dtype, kv_dtype.value_or(DType::kF32));
    return std::pair(engine->stats().pages, model->kv_bytes);
  };
  const auto [wide_pages, wide_bytes] = loaded(std::nullopt);
  const auto [half_pages, half_bytes] = loaded(DType::kF16);
  const auto [code_pages, code_bytes] = loaded(DType::kI8);
  EXPECT_EQ(wide_bytes / wide_pages, 2 * (half_bytes / half_pages));
  // A head of D numbers takes D + 4 bytes for 2 D.
  EXPECT_GT(code_pages, half_pages * 7 / 4);
  EXPECT_LT(code_pages, half_pages * 2);
  EXPECT_NEAR(static_cast<double>(code_bytes), static_cast<double>(half_bytes),
              static_cast<double>(half_bytes) / 50);
}

/// Counts up from the last token of the prompt; a prompt of token 9 is too much.
class CountingProcessor final : public LogitProcessor {
 public:
  void process(const LogitContext& context, std::span<float> logits) override {
    if (context.tokens.back() == 9) throw std::runtime_error("nine");
    for (std::size_t token = 0; token < logits.size(); ++token) {
      const bool next = std::cmp_equal(token, context.tokens.back() + 1);
      logits[token] = next ? 0 : -std::numeric_limits<float>::infinity();
    }
  }
};

TEST_F(LoadEngineTest, ALogitProcessorChoosesForItsRequestAndEndsNoOther) {
  Result<Engine> engine = load(demo_config());
  ASSERT_TRUE(engine) << to_string(engine.error());
  const auto ask = [&](TokenId prompt) {
    Request request;
    request.prompt_tokens = {prompt};
    request.max_tokens = 3;
    request.sampling.ignore_eos = true;
    request.sampling.logit_processor = std::make_shared<CountingProcessor>();
    return engine->async_generate(std::move(request),
                                  asio::use_future([](error_code error, GenerationResult result) {
                                    return std::pair(error, std::move(result));
                                  }));
  };
  auto counted = ask(20);
  auto failed = ask(9);
  io.restart();
  for (auto* one : {&counted, &failed}) {
    while (one->wait_for(std::chrono::seconds(0)) != std::future_status::ready) io.run_one();
  }
  EXPECT_EQ(counted.get().second.choices.at(0).tokens, (std::vector<TokenId>{21, 22, 23}));
  const auto [error, result] = failed.get();
  EXPECT_EQ(error, EngineErrc::kProcessorFailed);
  EXPECT_EQ(result.error_detail, "nine");
}

TEST_F(LoadEngineTest, OutputsLookAsTheRequestSays) {
  Result<Engine> engine = load(demo_config());
  ASSERT_TRUE(engine) << to_string(engine.error());
  const auto ask = [&](StructuredOutput output) {
    Request request;
    request.prompt = "Tell me";
    request.structured_output = std::move(output);
    request.sampling.n = 2;  // as many as there are rows
    request.max_tokens = 24;
    request.sampling.temperature = 1.5F;
    auto done = engine->async_generate(
        std::move(request), asio::use_future([](error_code error, GenerationResult result) {
          return std::pair(error, std::move(result));
        }));
    io.restart();
    while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) io.run_one();
    return done.get();
  };
  using Kind = StructuredOutput::Kind;
  const GenerationResult lenient = ask({.kind = Kind::kJsonSchema,
                                        .text = R"({"enum":[1,2],"format":"x","contains":{}})",
                                        .strict = false,
                                        .name = "schema"})
                                       .second;
  EXPECT_EQ(lenient.not_enforced, std::vector<std::string>{"schema.contains"});
  for (const auto& choice : lenient.choices) {
    EXPECT_TRUE(choice.text == "1" || choice.text == "2") << choice.text;
  }
  for (const auto& choice :
       ask({.kind = Kind::kChoice, .choices = {"left", "right"}}).second.choices) {
    EXPECT_TRUE(choice.text == "left" || choice.text == "right") << choice.text;
    EXPECT_EQ(choice.end.reason, FinishReason::kStop);
  }
  GrammarBuilder builder;
  const auto digit = builder.regex("[0-9]");
  ASSERT_TRUE(digit);
  const auto whole =
      builder.sequence({builder.literal("<"), builder.repeat(*digit, 3, 3), builder.literal(">")});
  const auto grammar = std::move(builder).finish(whole);
  ASSERT_TRUE(grammar);
  for (const auto& choice : ask({.kind = Kind::kGrammar, .grammar = *grammar}).second.choices) {
    EXPECT_EQ(choice.text.size(), 5U) << choice.text;
    EXPECT_TRUE(choice.text.starts_with('<') && choice.text.ends_with('>')) << choice.text;
  }
  const auto refused = ask({.kind = Kind::kRegex, .text = "(", .name = "pattern"});
  EXPECT_EQ(refused.first, EngineErrc::kBadRequest);
}

TEST_F(LoadEngineTest, WhatAGrammarForcesIsPutInAsTheTokenizerWritesIt) {
  const std::string forced = ", and that is all there is to say of \"it\" today.";
  struct Answer {
    std::vector<TokenId> tokens;
    std::uint64_t steps = 0;
  };
  const auto ask = [&](bool jump_ahead, bool logprobs) {
    Config config = demo_config();
    config.jump_ahead = jump_ahead;
    Result<Engine> engine = load(std::move(config));
    EXPECT_TRUE(engine) << to_string(engine.error());
    Request request;
    request.prompt = "Tell me";
    request.structured_output = {.kind = StructuredOutput::Kind::kRegex,
                                 .text =
                                     "(left|right), and that is all there is to say of "
                                     "\"it\" today[.]"};
    request.max_tokens = 80;
    request.sampling.temperature = 0;
    request.sampling.logprobs = logprobs;
    const std::uint64_t before = engine->stats().ticks;
    auto done = engine->async_generate(
        std::move(request),
        asio::use_future([](error_code /*error*/, GenerationResult result) { return result; }));
    io.restart();
    while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) io.run_one();
    const GenerationResult result = done.get();
    const std::string& text = result.choices.at(0).text;
    EXPECT_TRUE(text == "left" + forced || text == "right" + forced) << text;
    return Answer{result.choices[0].tokens, engine->stats().ticks - before};
  };
  const Answer ahead = ask(true, false);
  const Answer spelled = ask(false, false);
  EXPECT_LT(2 * ahead.steps, spelled.steps);
  EXPECT_EQ(ask(true, true).tokens, spelled.tokens) << "each token's logprob needs its own step";
  std::vector<TokenId> expected;
  const Tokenizer tokenizer = Tokenizer::load(demo_config().model).value();
  ASSERT_TRUE(tokenizer.encode(forced, {.add_special = false}, expected));
  ASSERT_GE(ahead.tokens.size(), expected.size());
  const auto tail = std::span(ahead.tokens).last(expected.size());
  EXPECT_TRUE(std::ranges::equal(tail, expected));
}

/// Counts what it is shown; too many tokens are too much.
class CountingReader final : public ActivationReader {
 public:
  explicit CountingReader(std::size_t most) : most_(most) {}
  [[nodiscard]] bool wants_logits() const noexcept override { return true; }
  void read(const TokenActivations& token) override {
    if (tokens.size() == most_) throw std::runtime_error("too many");
    tokens.push_back(token.token);
    hidden = token.hidden_state.size();
    logits = token.logits.size();
  }

  std::vector<TokenId> tokens;
  std::size_t hidden = 0, logits = 0;

 private:
  std::size_t most_;
};

TEST_F(LoadEngineTest, AnActivationReaderSeesItsSequenceAndEndsItWhenItThrows) {
  Result<Engine> engine = load(demo_config());
  ASSERT_TRUE(engine) << to_string(engine.error());
  const auto ask = [&](const std::shared_ptr<CountingReader>& reader, std::int32_t n) {
    Request request;
    request.prompt_tokens = {20, 21, 22};
    request.max_tokens = 3;
    request.sampling.ignore_eos = true;
    request.sampling.n = n;
    request.activation_reader = reader;
    auto asked = engine->async_generate(
        std::move(request), asio::use_future([](error_code error, GenerationResult result) {
          return std::pair(error, std::move(result));
        }));
    io.restart();
    while (asked.wait_for(std::chrono::seconds(0)) != std::future_status::ready) io.run_one();
    return asked.get();
  };
  const auto reader = std::make_shared<CountingReader>(100);
  const auto answer = ask(reader, 1).second.choices.at(0).tokens;
  ASSERT_EQ(answer.size(), 3U);
  ASSERT_GE(reader->tokens.size(), 5U);
  reader->tokens.resize(5);  // the last one of the output may have been fed, too
  EXPECT_EQ(reader->tokens, (std::vector<TokenId>{20, 21, 22, answer[0], answer[1]}));
  EXPECT_GT(reader->hidden, 0U);
  EXPECT_EQ(reader->logits, static_cast<std::size_t>(engine->model()->vocabulary));

  for (const std::size_t most : {0U, 4U}) {  // in its prompt, and in its output
    const auto failed = ask(std::make_shared<CountingReader>(most), 1);
    EXPECT_EQ(failed.first, EngineErrc::kReaderFailed);
    EXPECT_EQ(failed.second.error_detail, "too many");
  }
  const auto refused = ask(reader, 2);
  EXPECT_EQ(refused.first, EngineErrc::kBadRequest);
  EXPECT_NE(refused.second.error_detail.find("activation_reader"), std::string::npos);
}

TEST_F(LoadEngineTest, APromptsLogprobsAreThoseThatItsTokensHadAsOutput) {
  Result<Engine> engine = load(demo_config());
  ASSERT_TRUE(engine) << to_string(engine.error());
  const auto ask = [&](Request request) {
    request.sampling.logprobs = true;
    request.sampling.top_logprobs = 3;
    auto asked = engine->async_generate(
        std::move(request), asio::use_future([](error_code error, GenerationResult result) {
          EXPECT_FALSE(error) << result.error_detail;
          return result;
        }));
    io.restart();
    while (asked.wait_for(std::chrono::seconds(0)) != std::future_status::ready) io.run_one();
    return asked.get();
  };
  Request first;
  first.prompt_tokens = {20, 21, 22};
  first.max_tokens = 40;
  first.sampling.ignore_eos = true;
  const GeneratedChoice output = ask(first).choices.at(0);
  Request second;
  second.prompt_tokens = first.prompt_tokens;
  second.prompt_tokens.insert(second.prompt_tokens.end(), output.tokens.begin(),
                              output.tokens.end());
  second.max_tokens = 1;
  second.sampling.n = 2;
  for (int round = 0; round < 2; ++round) {  // the KV cache has it by then
    second.prompt_logprobs = std::make_shared<PromptLogprobs>(3);
    const GenerationResult result = ask(second);
    EXPECT_EQ(result.choices.size(), 2U);
    EXPECT_EQ(result.usage.cached_tokens, 0);
    const PromptLogprobs& prompt = *second.prompt_logprobs;
    ASSERT_TRUE(prompt.complete());
    ASSERT_EQ(prompt.tokens().size(), 43U);
    for (std::size_t i = 0; i < output.tokens.size(); ++i) {
      const PromptLogprobs::Entry entry = prompt.entry(i + 3);
      EXPECT_EQ(entry.logprob, output.logprobs[i]) << "to the last bit, at " << i;
      ASSERT_EQ(entry.top.size(), 3U);
      for (std::size_t j = 0; j < 3; ++j) {
        EXPECT_EQ(entry.top[j].token, output.top[3 * i + j].token);
        EXPECT_EQ(entry.top[j].logprob, output.top[3 * i + j].logprob);
      }
    }
  }
}

TEST_F(LoadEngineTest, SaysWhyThereIsNone) {
  Config config = demo_config();
  config.model = "/nowhere";
  const Result<Engine> engine = load(std::move(config));
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().detail.find("/nowhere"), std::string::npos);
}

TEST_F(LoadEngineTest, EnginesTakeTheirMemoryFromOneBudgetAndGiveItBack) {
  const auto budget = MemoryBudget::make(std::int64_t{1} << 30);
  PipelineOptions options;
  options.memory_budget = budget;
  std::optional<Engine> first = load(demo_config(), options).value();
  const std::int64_t taken = budget->bytes() - budget->left();
  EXPECT_GT(taken, std::int64_t{1} << 20) << "weights and pages";
  {
    const Engine second = load(demo_config(), options).value();
    EXPECT_EQ(budget->bytes() - budget->left(), 2 * taken);
  }
  EXPECT_EQ(budget->bytes() - budget->left(), taken);
  first.reset();
  EXPECT_EQ(budget->left(), budget->bytes());
}

TEST_F(LoadEngineTest, ReplicasOnTheHostHaveTheWeightsInCommonAndTheRestEach) {
  PipelineOptions options;
  options.memory_budget = MemoryBudget::make(std::int64_t{1} << 30);
  const auto taken_by = [&](const char* replicas) {
    Config config = demo_config();
    config.replicas = replicas;
    const Engine engine = load(config, options).value();
    return options.memory_budget->bytes() - options.memory_budget->left();
  };
  const std::int64_t one = taken_by("1");
  const std::int64_t two = taken_by("2");
  EXPECT_GT(two, one);
  EXPECT_LT(two, 2 * one);
  EXPECT_EQ(taken_by("3") - two, two - one);
  EXPECT_EQ(taken_by("cpu; cpu"), two);
}

TEST_F(LoadEngineTest, ReplicasShareWhatMemoryThereIs) {
  // Without the limit each would take all that its rows can use.
  const auto pages_of = [&](const char* replicas) {
    Config config = demo_config();
    config.max_pages = 0;
    config.max_rows = 64;
    config.memory_bytes = std::int64_t{64} << 20;
    config.replicas = replicas;
    return load(config, {}).value().stats().pages;
  };
  const std::int32_t one = pages_of("1");
  const std::int32_t two = pages_of("2");
  EXPECT_LT(two, one);
  EXPECT_GT(two, one / 2);
}

TEST_F(LoadEngineTest, ChoosesAPartitionThatIsLeftOpen) {
  Config config = demo_config();
  config.partition = "auto";
  const Engine engine = load(config).value();
  EXPECT_EQ(engine.stats().pages, config.max_pages);
}

TEST_F(LoadEngineTest, ChoosesAPartitionForOneReplicaWithoutABudgetAlone) {
  Config config = demo_config();
  config.partition = "auto";
  const auto budget = MemoryBudget::make(std::int64_t{1} << 30);
  EXPECT_THAT(load(config, within(budget)),
              test::FailsWith(DeviceErrc::kUnfit, "partition: auto: a memory budget"));
  config.replicas = "2";
  EXPECT_THAT(load(config), test::FailsWith(DeviceErrc::kUnfit, "replicas: a partition"));
}

TEST_F(LoadEngineTest, PagesGoToHostMemoryFromOneGpuAlone) {
  Config config = demo_config();
  config.cache_host_bytes = 1 << 20;
  EXPECT_THAT(load(config), test::FailsWith(DeviceErrc::kUnfit, "cache.host_bytes: the KV cache"));
  config.partition = "cpu,cpu";
  EXPECT_THAT(load(config), test::FailsWith(DeviceErrc::kUnfit, "cache.host_bytes: of a model"));
  config.cache_enabled = false;
  EXPECT_TRUE(load(config)) << "nothing is kept, so nothing goes there";
}

TEST_F(LoadEngineTest, WhereTheKvCacheOfAGpuLiesIsAllTheSameToTheHost) {
  Config config = demo_config();
  config.kv_placement = KvPlacement::kHost;
  EXPECT_EQ(load(config).value().stats().pages, config.max_pages);
  config.device = "cuda:0";
  config.cache_host_bytes = 1 << 20;
  EXPECT_THAT(load(config),
              test::FailsWith(DeviceErrc::kUnfit, "cache.host_bytes: with memory.kv_placement"));
}

TEST_F(LoadEngineTest, AnEngineWithoutRoomInItsBudgetIsRefused) {
  PipelineOptions options;
  options.memory_budget = MemoryBudget::make(std::int64_t{1} << 20);
  const Result<Engine> engine = load(demo_config(), options);
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().detail.find("memory budget: weights and buffers take"),
            std::string::npos)
      << engine.error().detail;
  EXPECT_EQ(options.memory_budget->left(), options.memory_budget->bytes());
}

TEST_F(LoadEngineTest, IsCancelledWhileItLoads) {
  PipelineOptions options;
  int told = 0;
  options.progress = [&](std::int64_t /*done*/, std::int64_t /*total*/) {
    if (++told == 1) signal.emit(asio::cancellation_type::terminal);
  };
  const Result<Engine> engine = load(demo_config(), std::move(options));
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, asio::error::operation_aborted);
  EXPECT_EQ(told, 1) << "the rest of the weights was loaded, too";
}

}  // namespace
}  // namespace weft
