// Plans made by hand, with what a SequenceRunner computes for the same tokens on the host beside
// them, on every kind of device.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "weft/gpu/sequence_runner.h"
#include "weft/kernels/sample/sample.h"
#include "weft/model/random_llama.h"
#include "weft/sampling/token_constraint.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

constexpr std::int32_t kPageTokens = 4;
const DeviceLimits small_limits{.rows = 4,
                                .pages = 32,
                                .page_tokens = kPageTokens,
                                .step_tokens = 32,
                                .context = 32,
                                .vocabulary = LlamaShape{}.vocabulary};

class StepDeviceTest : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    WEFT_SKIP_WITHOUT_GPU(GetParam());
    device_ = GetParam().load_steps(llama_.checkpoint(), llama_.program(), small_limits);
    DeviceOptions options = SequenceRunner::options_for(*llama_.program(), 32);
    options.kv_dtype = GetParam().kv_dtype;
    alone_ = host_kind().load(llama_.checkpoint(), llama_.program(), options);
  }

  /// The most probable tokens after `prompt`, one by one, computed alone.
  Tokens continuation(const Tokens& prompt, std::size_t count) {
    SequenceRunner runner(*alone_);
    Tokens tokens;
    Tokens input = prompt;
    while (tokens.size() < count) {
      const auto choose = [&](ConstRows rows) {
        logits_.assign(rows.row(0), rows.row(0) + rows.width);
      };
      runner.feed(input, choose, true).value();
      input = {weft::sample(logits_, {}, {})};
      tokens.push_back(input.front());
    }
    return tokens;
  }

  /// The token's logprob by the logits that continuation() has seen last.
  [[nodiscard]] double logprob(TokenId token) const {
    const double sum = std::accumulate(
        logits_.begin(), logits_.end(), 0.0,
        [](double so_far, float logit) { return so_far + std::exp(static_cast<double>(logit)); });
    return static_cast<double>(logits_[static_cast<std::size_t>(token)]) - std::log(sum);
  }

  /// Feeds row `row` its last token and samples, from position `at` on.
  Tokens decode(std::int32_t row, std::int32_t at, std::size_t count) {
    Tokens tokens;
    while (tokens.size() < count) {
      const auto result = plan_.feed_last(row, at++).sample().run(*device_);
      tokens.push_back(result.samples.front().token);
    }
    return tokens;
  }

  // With these weights hosts and GPUs round nothing.
  RandomLlama llama_{{.weights = DType::kF32}, 11};
  std::unique_ptr<StepDevice> device_;
  std::unique_ptr<ModelDevice> alone_;
  std::vector<float> logits_;
  PlanBuilder plan_;
};

const Tokens first_prompt = {3, 17, 42, 9, 61, 5};
const Tokens second_prompt = {70, 2, 2, 33, 8, 19, 54};

TEST_P(StepDeviceTest, ComputesWhatASequenceAloneComputesInPagesAnywhere) {
  const Tokens wanted = continuation(first_prompt, 5);
  plan_.start(2, greedy(), 6).table(2, 0, {30, 7, 12}).feed(2, 0, first_prompt).sample();
  StepResult result = plan_.run(*device_);
  Tokens got = {result.samples.front().token};
  for (std::int32_t at = 6; got.size() < wanted.size(); ++at) {
    result = plan_.feed_last(2, at).sample().run(*device_);
    got.push_back(result.samples.front().token);
  }
  EXPECT_EQ(got, wanted);
  EXPECT_NEAR(static_cast<double>(result.samples.front().logprob), logprob(wanted.back()), 1e-5);
}

TEST_P(StepDeviceTest, RunsChunksAndSingleTokensOfSeveralRowsInOneStep) {
  const Tokens first = continuation(first_prompt, 3);
  const Tokens second = continuation(second_prompt, 2);
  plan_.start(0, greedy(), 6).table(0, 0, {4, 5}).feed(0, 0, first_prompt).sample();
  plan_.start(1, greedy(), 7).table(1, 0, {9}).feed(1, 0, {70, 2, 2});
  StepResult result = plan_.run(*device_);
  ASSERT_EQ(result.samples.size(), 1U);
  EXPECT_EQ(result.samples[0].token, first[0]);

  // The table of the second row grows while the first one decodes.
  plan_.feed_last(0, 6).sample().table(1, 1, {1}).feed(1, 3, {33, 8, 19, 54}).sample();
  result = plan_.run(*device_);
  ASSERT_EQ(result.samples.size(), 2U);
  EXPECT_EQ(result.samples[0].token, first[1]);
  EXPECT_EQ(result.samples[1].token, second[0]);

  result = plan_.feed_last(0, 7).sample().table(1, 2, {0}).feed_last(1, 7).sample().run(*device_);
  EXPECT_EQ(result.samples[0].token, first[2]);
  EXPECT_EQ(result.samples[1].token, second[1]);
}

TEST_P(StepDeviceTest, ReadsAPartOfAPromptAfterWhichNothingIsSampled) {
  plan_.start(0, greedy(), 6).table(0, 0, {4, 5}).feed(0, 0, {3, 17, 42, 9});
  EXPECT_TRUE(plan_.run(*device_).samples.empty());
  const StepResult result = plan_.feed(0, 4, {61, 5}).sample().run(*device_);
  EXPECT_EQ(result.samples.front().token, continuation(first_prompt, 1).front());
}

TEST_P(StepDeviceTest, TakesAllThatIsOfARowWhereItMoves) {
  const Tokens wanted = continuation(first_prompt, 4);
  plan_.start(3, greedy(), 6)
      .table(3, 0, {8, 6, 11})
      .feed(3, 0, first_prompt)
      .sample()
      .run(*device_);
  plan_.plan().moves.push_back({3, 1});
  // Another one begins in the place that is free now, and must disturb nothing.
  plan_.start(3, greedy(), 7).table(3, 0, {20, 21}).feed(3, 0, second_prompt).sample();
  EXPECT_EQ(plan_.run(*device_).samples.front().token, continuation(second_prompt, 1).front());
  EXPECT_EQ(decode(1, 6, 3), Tokens(wanted.begin() + 1, wanted.end()));
}

TEST_P(StepDeviceTest, CopiesTheSlabsOfRowsBeforeAnythingIsWrittenOverThem) {
  const Tokens wanted = continuation(first_prompt, 4);
  plan_.start(2, greedy(), 6).table(2, 0, {16, 17}).feed(2, 0, first_prompt).sample().run(*device_);
  plan_.plan().slab_copies = {{16, 0}, {17, 1}};
  plan_.plan().moves.push_back({2, 0});
  plan_.table(0, 0, {0, 1, 2});
  plan_.start(2, greedy(), 7)
      .table(2, 0, {16, 17})
      .feed(2, 0, second_prompt)
      .sample()
      .run(*device_);
  EXPECT_EQ(decode(0, 6, 3), Tokens(wanted.begin() + 1, wanted.end()));
}

class HostPagesTest : public StepDeviceTest {
 protected:
  void SetUp() override {
    small_limits_ = small_limits;
    small_limits_.host_pages = 6;
    WEFT_SKIP_WITHOUT_GPU(GetParam());
    StepDeviceTest::SetUp();
    device_ = GetParam().load_steps(llama_.checkpoint(), llama_.program(), small_limits_);
  }
  [[nodiscard]] std::int32_t place(std::int32_t index) const { return small_limits_.pages + index; }
  /// Fills pages 4 and 5 with a prompt, and returns what comes after its first token.
  Tokens fill() {
    const Tokens all = continuation(first_prompt, 4);
    plan_.start(0, greedy(), 6).table(0, 0, {4, 5}).feed(0, 0, first_prompt).sample();
    plan_.run(*device_);
    return {all.begin() + 1, all.end()};
  }
  PlanBuilder& write_over(const Pages& pages) {
    return plan_.start(1, greedy(), 7).table(1, 0, pages).feed(1, 0, second_prompt);
  }

  DeviceLimits small_limits_;
};

TEST_P(HostPagesTest, PagesThatWentOutBesideAStepComeBackBesideAnother) {
  const Tokens wanted = fill();
  plan_.plan().copies = {{4, place(3)}, {5, place(0)}};
  plan_.start(2, greedy(), 7).table(2, 0, {20, 21}).feed(2, 0, second_prompt).run(*device_);
  write_over({4, 5}).run(*device_);
  plan_.plan().copies = {{place(3), 7}, {place(0), 8}};
  plan_.start(2, greedy(), 7).table(2, 0, {20, 21}).feed(2, 0, second_prompt).run(*device_);
  plan_.table(0, 0, {7, 8, 9});
  EXPECT_EQ(decode(0, 6, 3), wanted);
}

TEST_P(HostPagesTest, PagesThatTheStepNeedsAreCopiedBeforeIt) {
  const Tokens wanted = fill();
  plan_.plan().copies = {{4, place(3)}, {5, place(0)}};
  write_over({4, 5}).run(*device_);
  // Pages that are in each other's way, one copy after the other.
  plan_.plan().copies = {{place(3), 5}, {5, 7}, {place(0), 5}, {5, place(3)}, {place(3), 8}};
  plan_.table(0, 0, {7, 8, 9});
  EXPECT_EQ(decode(0, 6, 3), wanted);
}

TEST_P(HostPagesTest, CopiesOfOnePlanAreDoneBeforeThoseOfTheNext) {
  const Tokens wanted = fill();
  plan_.plan().copies = {{4, place(3)}, {5, place(0)}};
  plan_.start(1, greedy(), 7).table(1, 0, {20, 21}).feed(1, 0, second_prompt).run(*device_);
  plan_.plan().copies = {{place(3), 11}, {place(0), 12}};
  plan_.start(1, greedy(), 7).table(1, 0, {20, 21}).feed(1, 0, second_prompt).run(*device_);
  plan_.plan().copies = {{11, place(1)}, {12, place(2)}, {place(1), 7}, {place(2), 8}};
  plan_.start(1, greedy(), 7).table(1, 0, {20, 21}).feed(1, 0, second_prompt).run(*device_);
  plan_.table(0, 0, {7, 8, 9});
  EXPECT_EQ(decode(0, 6, 3), wanted);
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostPagesTest,
                         testing::Values(fake_gpu_kind(), fake_gpu_kind(DType::kI8), gpu_kind()),
                         kind_name);

TEST_P(StepDeviceTest, ForksARowThatSharesPagesUntilItWritesToThem) {
  SamplingParams params;
  params.logprobs = true;
  params.penalties.frequency = 0.5F;
  const auto sampling = std::make_shared<const SamplingParams>(params);
  // Alone: each seed in a row of its own.
  std::vector<Tokens> wanted;
  for (const std::uint64_t seed : {5U, 6U}) {
    plan_.start(0, sampling, 6, {}, seed).table(0, 0, {0, 1, 2}).feed(0, 0, first_prompt).sample();
    wanted.push_back({plan_.run(*device_).samples.front().token});
    const Tokens rest = decode(0, 6, 4);
    wanted.back().insert(wanted.back().end(), rest.begin(), rest.end());
  }
  ASSERT_NE(wanted[0], wanted[1]);

  plan_.start(1, sampling, 6, {}, 5).table(1, 0, {10, 11}).feed(1, 0, first_prompt);
  plan_.table(3, 0, {10, 11}).sample(1).sample(3);
  plan_.plan().forks.push_back({.from = 1, .to = 3, .seed = 6});
  StepResult result = plan_.run(*device_);
  std::vector<Tokens> got = {{result.samples[0].token}, {result.samples[1].token}};
  plan_.plan().copies.push_back({11, 13});
  plan_.table(3, 1, {13});
  for (std::int32_t at = 6; got[0].size() < wanted[0].size(); ++at) {
    if (at == 8) plan_.table(1, 2, {14}).table(3, 2, {15});
    result = plan_.feed_last(1, at).sample().feed_last(3, at).sample().run(*device_);
    got[0].push_back(result.samples[0].token);
    got[1].push_back(result.samples[1].token);
  }
  EXPECT_EQ(got, wanted);
}

/// Allows two tokens: 2 n and the one behind it, after n tokens of output.
class PairState final : public ConstraintState {
 public:
  explicit PairState(bool is_known) : is_known_(is_known) {}
  void advance(std::span<const TokenId> tokens) noexcept override {
    count_ += static_cast<TokenId>(tokens.size());
  }
  bool roll_back(std::size_t /*tokens*/) noexcept override { return false; }
  AllowedTokens allowed() noexcept override {
    pair_ = {2 * count_, 2 * count_ + 1};
    return {.tokens = pair_, .count = 2};
  }
  bool is_known(std::span<const TokenId> /*next*/) const noexcept override { return is_known_; }
  std::unique_ptr<ConstraintState> clone() const override {
    auto copy = std::make_unique<PairState>(is_known_);
    copy->count_ = count_;
    return copy;
  }

 private:
  const bool is_known_;
  TokenId count_ = 0;
  std::array<TokenId, 2> pair_{};
};

class PairConstraint final : public TokenConstraint {
 public:
  explicit PairConstraint(bool is_known) : is_known_(is_known) {}
  std::unique_ptr<ConstraintState> begin() const override {
    return std::make_unique<PairState>(is_known_);
  }

 private:
  const bool is_known_;
};

TEST_P(StepDeviceTest, HoldsRowsToAConstraintWhoeverMakesItsMasks) {
  std::vector<std::vector<Tokens>> got;
  for (const bool is_known : {true, false}) {
    SamplingParams params;
    params.constraint = std::make_shared<PairConstraint>(is_known);
    const auto sampling = std::make_shared<const SamplingParams>(params);
    plan_.start(1, sampling, 6, {}, 5).table(1, 0, {10, 11}).feed(1, 0, first_prompt);
    plan_.table(3, 0, {20, 21}).sample(1).sample(3);
    plan_.plan().forks.push_back({.from = 1, .to = 3, .copied_pages = 2, .seed = 6});
    // A row that comes back with two tokens of output.
    Tokens longer = first_prompt;
    longer.insert(longer.end(), {0, 2});
    plan_.start(0, sampling, 6, {}, 7).table(0, 0, {1, 2, 3}).feed(0, 0, longer).sample();
    StepResult result = plan_.run(*device_);
    std::vector<Tokens> rows(3);
    for (std::int32_t n = 0; n < 5; ++n) {
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(result.samples[i].token);
      if (n == 2) plan_.table(1, 2, {14}).table(3, 2, {15});
      plan_.feed_last(1, 6 + n).sample().feed_last(3, 6 + n).sample();
      result = plan_.feed_last(0, 8 + n).sample().run(*device_);
      EXPECT_EQ(rows[0].back() / 2, n);
      EXPECT_EQ(rows[1].back() / 2, n);
      EXPECT_EQ(rows[2].back() / 2, n + 2);
    }
    got.push_back(std::move(rows));
  }
  EXPECT_EQ(got[0], got[1]);
}

TEST_P(StepDeviceTest, CopiesTheSlabOfARowToItsForkAfterTheStep) {
  const Tokens wanted = continuation(first_prompt, 3);
  plan_.start(0, greedy(), 6).table(0, 0, {0, 1, 2}).feed(0, 0, first_prompt);
  plan_.table(1, 0, {8, 9, 10}).sample(0).sample(1);
  plan_.plan().forks.push_back({.from = 0, .to = 1, .copied_pages = 2});
  ASSERT_EQ(plan_.run(*device_).samples[1].token, wanted[0]);
  // The content of the first slab no longer matters.
  plan_.start(0, greedy(), 7).feed(0, 0, second_prompt).run(*device_);
  EXPECT_EQ(decode(1, 6, 2), Tokens(wanted.begin() + 1, wanted.end()));
}

TEST_P(StepDeviceTest, BeginsWithTokensThatAreInTheCacheAlready) {
  SamplingParams params;
  params.temperature = 0;
  params.penalties.presence = 4;
  const auto sampling = std::make_shared<const SamplingParams>(params);
  plan_.start(0, sampling, 2).table(0, 0, {0, 1, 2}).feed(0, 0, first_prompt).sample();
  const TokenId first = plan_.run(*device_).samples.front().token;
  const Tokens wanted = decode(0, 6, 4);

  // The sampler must know of all six, and of the first two that they are no output.
  Tokens history = first_prompt;
  plan_.start(1, sampling, 2, history).table(1, 0, {0, 1, 2}).feed(1, 6, {first}).sample();
  Tokens got = {plan_.run(*device_).samples.front().token};
  const Tokens rest = decode(1, 7, 3);
  got.insert(got.end(), rest.begin(), rest.end());
  EXPECT_EQ(got, wanted);
}

TEST_P(StepDeviceTest, RunsARowThatCouldChooseNothingWhereItsPlanWasMadeAlready) {
  SamplingParams params;
  params.allowed_tokens = {5};
  params.bad_tokens = {5};
  params.penalties.presence = 1;  // looks back at what was fed
  const Tokens wanted = continuation(first_prompt, 3);
  plan_.start(0, std::make_shared<const SamplingParams>(params), 7)
      .table(0, 0, {4, 5, 6})
      .feed(0, 0, second_prompt)
      .sample();
  plan_.start(1, greedy(), 6).table(1, 0, {8, 9, 10}).feed(1, 0, first_prompt).sample();
  StepResult result = plan_.run(*device_);
  EXPECT_EQ(result.samples[0].token, kNoToken);
  EXPECT_EQ(result.samples[1].token, wanted[0]);
  for (std::int32_t i = 0; i < 2; ++i) {
    plan_.feed_last(0, 7 + i).sample().feed_last(1, 6 + i).sample();
    result = plan_.run(*device_);
    EXPECT_EQ(result.samples[0].token, kNoToken);
    EXPECT_EQ(result.samples[1].token, wanted[static_cast<std::size_t>(i) + 1]);
  }
}

TEST_P(StepDeviceTest, OfSeveralTablesOfARowTheLastHolds) {
  const Tokens prompt = {3, 17, 42, 9, 61, 5, 33};
  const Tokens wanted = continuation(prompt, 2);
  PlanBuilder plan;
  // An amended plan may set an entry twice, for example for a row that was moved to another slab.
  plan.start(0, greedy(), 7).table(0, 0, {9, 10}).table(0, 1, {11}).table(0, 0, {2, 3, 4});
  plan.start(1, greedy(), 7).table(1, 0, {9, 10, 11});
  plan.feed(0, 0, prompt).sample().feed(1, 0, {5, 5, 5, 5, 5, 5, 5});
  EXPECT_EQ(plan.run(*device_).samples.front().token, wanted[0]);
  plan.feed_last(0, 7).sample();
  EXPECT_EQ(plan.run(*device_).samples.front().token, wanted[1]);
}

INSTANTIATE_TEST_SUITE_P(, StepDeviceTest, testing::ValuesIn(device_kinds()), kind_name);
INSTANTIATE_TEST_SUITE_P(CodedKv, StepDeviceTest, testing::ValuesIn(coded_kv_kinds()), kind_name);
INSTANTIATE_TEST_SUITE_P(KvOnHost, StepDeviceTest, testing::ValuesIn(kv_on_host_kinds()),
                         kind_name);

class EncodingStepDeviceTest : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    WEFT_SKIP_WITHOUT_GPU(GetParam());
    device_ = GetParam().load_steps(golden_.model.checkpoint, golden_.model.program, limits_);
  }

  const GoldenModel golden_ = GoldenModel::open(committed_golden("m2m100")).value();
  const TokenId start_ = static_cast<TokenId>(golden_.model.program->start_token);
  const DeviceLimits limits_{.rows = 2,
                             .pages = 16,
                             .page_tokens = kPageTokens,
                             .step_tokens = 32,
                             .context = 24,
                             .cross_pages = 12,
                             .vocabulary = golden_.model.program->vocabulary};
  std::unique_ptr<StepDevice> device_;
};

TEST_P(EncodingStepDeviceTest, EncodesSeveralInputsInOneStep) {
  PlanBuilder plan;
  for (std::int32_t row = 0; row < 2; ++row) {
    const Tokens input = golden_.expected->ids("prompt_", row);
    Pages pages(static_cast<std::size_t>(limits_.pages_for(std::ssize(input))));
    std::iota(pages.rbegin(), pages.rend(), 6 * row);  // in no order
    plan.start(row, greedy(), 1).encode(row, input, pages);
    plan.table(row, 0, {8 * row + 3, 8 * row, 8 * row + 5}).feed(row, 0, {start_}).sample();
  }
  std::vector<Tokens> got = {{start_}, {start_}};
  const std::vector<Tokens> wanted = {golden_.expected->ids("greedy_", 0),
                                      golden_.expected->ids("greedy_", 1)};
  StepResult result = plan.run(*device_);
  for (std::int32_t at = 1;; ++at) {
    got[0].push_back(result.samples[0].token);
    got[1].push_back(result.samples[1].token);
    if (got[0].size() == wanted[0].size()) break;
    result = plan.feed_last(0, at).sample().feed_last(1, at).sample().run(*device_);
  }
  EXPECT_EQ(got, wanted);
}

TEST_P(EncodingStepDeviceTest, BeginsWithAnotherRowsEncoderOutput) {
  const Tokens wanted = golden_.expected->ids("greedy_", 1);
  const Tokens input = golden_.expected->ids("prompt_", 1);
  const Pages cross = {3, 1, 4, 5, 9};
  PlanBuilder plan;
  plan.start(0, greedy(), 1).encode(0, input, cross).table(0, 0, {0}).feed(0, 0, {start_}).sample();
  ASSERT_EQ(plan.run(*device_).samples.front().token, wanted[1]);
  plan.start(1, greedy(), 1).table(1, 0, {2}).feed(1, 0, {start_}).sample();
  PlanStart& begins = plan.plan().starts.back();
  begins.cross_context = static_cast<std::int32_t>(input.size());
  begins.first_cross_page = static_cast<std::int32_t>(plan.plan().pages.size());
  begins.cross_pages = static_cast<std::int32_t>(cross.size());
  plan.plan().pages.insert(plan.plan().pages.end(), cross.begin(), cross.end());
  const StepResult result = plan.run(*device_);
  EXPECT_EQ(result.samples.front().token, wanted[1]);
}

TEST_P(EncodingStepDeviceTest, SamplersDoNotCountWhatTheEncoderReads) {
  constexpr TokenId kOften = 7;
  const auto first_token = [&](float frequency_penalty) {
    SamplingParams params;
    params.temperature = 0;
    params.penalties.frequency = frequency_penalty;
    PlanBuilder plan;
    plan.start(0, std::make_shared<const SamplingParams>(params), 1);
    plan.encode(0, Tokens(20, kOften), {3, 1, 4, 5, 9}).table(0, 0, {0});
    return plan.feed(0, 0, {start_}).sample().run(*device_).samples.front().token;
  };
  const TokenId plain = first_token(0);
  ASSERT_NE(plain, kOften);
  // A reward that would make it the most probable by far.
  EXPECT_EQ(first_token(-2), plain);
}

INSTANTIATE_TEST_SUITE_P(, EncodingStepDeviceTest, testing::ValuesIn(device_kinds()), kind_name);
INSTANTIATE_TEST_SUITE_P(KvOnHost, EncodingStepDeviceTest, testing::ValuesIn(kv_on_host_kinds()),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(CodedKv, EncodingStepDeviceTest, testing::ValuesIn(coded_kv_kinds()),
                         kind_name);

// Rows enough that the team shares the work; with one thread there is nobody to share it with.
TEST(HostStepDevice, ChoosesTheSameOnAnyNumberOfThreads) {
  constexpr std::int32_t kRows = 18;
  const RandomLlama llama({.layers = 1,
                           .hidden = 16,
                           .ffn = 16,
                           .heads = 2,
                           .kv_heads = 1,
                           .vocabulary = 4096,
                           .context = 8},
                          3);
  const DeviceLimits limits{.rows = kRows,
                            .pages = kRows,
                            .page_tokens = 8,
                            .step_tokens = kRows,
                            .context = 8,
                            .vocabulary = 4096};
  SamplingParams params;
  params.top_p = 0.9F;
  params.top_logprobs = 3;
  params.logprobs = true;
  const auto sampling = std::make_shared<const SamplingParams>(params);
  const auto run = [&](int threads) {
    const auto device = host_kind(threads).load_steps(llama.checkpoint(), llama.program(), limits);
    PlanBuilder plan;
    for (std::int32_t row = 0; row < kRows - 1; ++row) {
      plan.start(row, sampling, 1, {}, static_cast<std::uint64_t>(row)).table(row, 0, {row});
      plan.feed(row, 0, {100 * row}).sample();
    }
    // The last one draws from the logits of the one before it.
    plan.plan().forks.push_back({.from = kRows - 2, .to = kRows - 1, .seed = 77});
    plan.table(kRows - 1, 0, {kRows - 2}).sample(kRows - 1);
    return plan.run(*device);
  };
  const StepResult serial = run(1);
  ASSERT_EQ(serial.samples.size(), static_cast<std::size_t>(kRows));
  for (const int threads : {2, 3}) {
    const StepResult shared = run(threads);
    for (std::size_t i = 0; i < serial.samples.size(); ++i) {
      const SampleResult& one = serial.samples[i];
      const SampleResult& other = shared.samples[i];
      EXPECT_EQ(other.token, one.token) << "row " << i << " of " << threads << " threads";
      EXPECT_TRUE(same_bits(other.logprob, one.logprob));
      ASSERT_EQ(one.top_count, 3);
      ASSERT_EQ(other.top_count, 3);
      for (std::int32_t k = 0; k < 3; ++k) {
        EXPECT_EQ(shared.top[static_cast<std::size_t>(other.first_top + k)].token,
                  serial.top[static_cast<std::size_t>(one.first_top + k)].token);
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
