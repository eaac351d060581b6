// Readers see the same numbers of a step as a sequence that is computed alone on the host, on every
// kind of device.

#include "weft/gpu/activation_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "weft/gpu/sequence_runner.h"
#include "weft/model/random_llama.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/golden_runs.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

const DeviceLimits activation_limits{.rows = 4,
                                     .pages = 32,
                                     .page_tokens = 4,
                                     .step_tokens = 32,
                                     .context = 32,
                                     .vocabulary = LlamaShape{}.vocabulary};
const Tokens six_tokens = {3, 17, 42, 9, 61, 5};

struct Seen {
  std::int32_t position = 0;
  TokenId token = kNoToken;
  std::vector<float> hidden_state;
  std::vector<float> logits;
};

class KeepingReader : public ActivationReader {
 public:
  explicit KeepingReader(bool wants_logits) : wants_logits_(wants_logits) {}
  [[nodiscard]] bool wants_logits() const noexcept override { return wants_logits_; }
  void read(const TokenActivations& token) override {
    seen.push_back({token.position,
                    token.token,
                    {token.hidden_state.begin(), token.hidden_state.end()},
                    {token.logits.begin(), token.logits.end()}});
  }

  std::vector<Seen> seen;

 private:
  bool wants_logits_;
};

class ThrowingReader final : public ActivationReader {
 public:
  void read(const TokenActivations& token) override {
    if (token.position == 7) throw std::runtime_error("seven");
  }
};

void expect_near(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-4) << "at " << i;
}

class ActivationReaderTest : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    WEFT_SKIP_WITHOUT_GPU(GetParam());
    load(llama_);
  }

  void load(const RandomLlama& llama) {
    device_ = GetParam().load_steps(llama.checkpoint(), llama.program(), activation_limits);
  }

  /// Returns the numbers of the same tokens, fed one by one, alone on the host.
  [[nodiscard]] std::vector<Seen> alone(const Tokens& tokens) const {
    return alone(tokens, llama_);
  }
  [[nodiscard]] static std::vector<Seen> alone(const Tokens& tokens, const RandomLlama& llama) {
    const auto device = host_kind().load(llama.checkpoint(), llama.program(),
                                         SequenceRunner::options_for(*llama.program(), 32));
    SequenceRunner runner(*device);
    std::vector<Seen> all;
    for (const TokenId token : tokens) {
      Seen one{static_cast<std::int32_t>(all.size()), token, {}, {}};
      const auto keep = [&](ConstRows rows) {
        one.logits.assign(rows.row(0), rows.row(0) + rows.width);
      };
      runner.feed(std::vector{token}, keep, true).value();
      const Rows hidden = device->hidden_states(0, 1);
      one.hidden_state.assign(hidden.row(0), hidden.row(0) + hidden.width);
      all.push_back(std::move(one));
    }
    return all;
  }

  void start(std::int32_t row, std::shared_ptr<ActivationReader> reader, const Pages& pages) {
    plan_.start(row, greedy(), static_cast<std::int32_t>(six_tokens.size())).table(row, 0, pages);
    plan_.plan().starts.back().reader = std::move(reader);
  }

  // With these weights hosts and GPUs round nothing.
  RandomLlama llama_{{.weights = DType::kF32}, 11};
  std::unique_ptr<StepDevice> device_;
  PlanBuilder plan_;
};

TEST_P(ActivationReaderTest, SeesEachTokenOfPromptAndOutputInChunksAndBesideOthers) {
  const auto reader = std::make_shared<KeepingReader>(true);
  // Six tokens at once want the logits of more rows than the device gives in one go.
  start(1, nullptr, {9, 10, 11});
  plan_.feed(1, 0, six_tokens).sample();
  start(2, reader, {4, 7, 2});
  const TokenId first = plan_.feed(2, 0, six_tokens).sample().run(*device_).samples[1].token;
  plan_.feed_last(1, 6).sample();
  const TokenId second = plan_.feed_last(2, 6).sample().run(*device_).samples[1].token;
  const StepResult last = plan_.feed_last(1, 7).sample().feed_last(2, 7).sample().run(*device_);
  EXPECT_EQ(last.samples[0].token, last.samples[1].token) << "reading has changed what is chosen";

  Tokens all = six_tokens;
  all.insert(all.end(), {first, second});
  const std::vector<Seen> wanted = alone(all);
  ASSERT_EQ(reader->seen.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(reader->seen[i].position, wanted[i].position);
    EXPECT_EQ(reader->seen[i].token, wanted[i].token);
    expect_near(reader->seen[i].hidden_state, wanted[i].hidden_state);
    expect_near(reader->seen[i].logits, wanted[i].logits);
  }
}

TEST_P(ActivationReaderTest, SeesAPromptThatComesInPieces) {
  const auto reader = std::make_shared<KeepingReader>(false);
  start(0, reader, {4, 7});
  plan_.feed(0, 0, {3, 17, 42, 9}).run(*device_);
  plan_.feed(0, 4, {61, 5}).sample().run(*device_);
  const std::vector<Seen> wanted = alone(six_tokens);
  ASSERT_EQ(reader->seen.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(reader->seen[i].token, wanted[i].token);
    expect_near(reader->seen[i].hidden_state, wanted[i].hidden_state);
    EXPECT_TRUE(reader->seen[i].logits.empty()) << "nobody wanted them";
  }
}

/// Reads what stands before a position.
class BeginningReader final : public KeepingReader {
 public:
  explicit BeginningReader(std::int32_t end) : KeepingReader(true), end_(end) {}
  [[nodiscard]] std::int32_t end_position() const noexcept override { return end_; }

 private:
  const std::int32_t end_;
};

TEST_P(ActivationReaderTest, SeesActivationsThatWereRoundedToBf16) {
  // A GPU rounds what it multiplies by such weights, and a product that computes the norm before it
  // rounds its input before the norm's root is applied; hosts may round nothing. Each number is
  // rounded by up to 1/512 of itself, in some twelve products one after the other.
  constexpr double kTolerance = 2e-2;  // of a row's norm
  const RandomLlama llama({.weights = DType::kBF16}, 11);
  load(llama);
  const auto reader = std::make_shared<KeepingReader>(true);
  start(0, reader, {4, 7});
  plan_.feed(0, 0, six_tokens).sample().run(*device_);
  const std::vector<Seen> wanted = alone(six_tokens, llama);
  ASSERT_EQ(reader->seen.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Seen& seen = reader->seen[i];
    EXPECT_LT(relative_error(seen.hidden_state, wanted[i].hidden_state), kTolerance);
    EXPECT_LT(relative_error(seen.logits, wanted[i].logits), kTolerance);
  }
}

TEST_P(ActivationReaderTest, SeesNothingBehindItsEnd) {
  const auto reader = std::make_shared<BeginningReader>(5);
  start(0, reader, {4, 7, 2});
  plan_.feed(0, 0, {3, 17, 42, 9}).run(*device_);
  plan_.feed(0, 4, {61, 5}).sample().run(*device_);
  plan_.feed_last(0, 6).sample().run(*device_);
  const std::vector<Seen> wanted = alone(six_tokens);
  ASSERT_EQ(reader->seen.size(), 5U);
  for (std::size_t i = 0; i < reader->seen.size(); ++i) {
    EXPECT_EQ(reader->seen[i].position, wanted[i].position);
    expect_near(reader->seen[i].logits, wanted[i].logits);
  }
}

TEST_P(ActivationReaderTest, AReaderThatThrowsEndsItsSequenceAndNoOther) {
  start(0, nullptr, {9, 10, 11});
  plan_.feed(0, 0, six_tokens).sample();
  start(1, std::make_shared<ThrowingReader>(), {4, 7, 2});
  StepResult result = plan_.feed(1, 0, six_tokens).sample().run(*device_);
  EXPECT_EQ(result.samples[1].token, result.samples[0].token);
  const auto decode = [&](std::int32_t at) {
    return plan_.feed_last(0, at).sample().feed_last(1, at).sample().run(*device_);
  };
  result = decode(6);
  EXPECT_EQ(result.samples[1].token, result.samples[0].token);
  for (const std::int32_t at : {7, 8}) {
    result = decode(at);
    EXPECT_NE(result.samples[0].token, kNoToken);
    EXPECT_EQ(result.samples[1].token, kNoToken) << "at " << at;
  }
  // The next sequence in the row is not affected.
  start(1, nullptr, {4, 7, 2});
  EXPECT_NE(plan_.feed(1, 0, six_tokens).sample().run(*device_).samples[0].token, kNoToken);
}

INSTANTIATE_TEST_SUITE_P(, ActivationReaderTest, testing::ValuesIn(device_kinds()), kind_name);

}  // namespace
}  // namespace weft::test
