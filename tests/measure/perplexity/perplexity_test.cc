// Which logits are compared with which token, on a device whose logits show what it has read.

#include "weft/measure/perplexity/perplexity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/measure/measure_error.h"
#include "weft/measure/perplexity/logit_scores.h"

namespace weft::measure {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kVocabulary = 5;

/// Its logits after a token depend on all that the sequence has read since its start.
class CountingDevice final : public ModelDevice {
 public:
  explicit CountingDevice(float slope, std::int32_t outputs = 3) : slope_(slope) {
    program_.vocabulary = kVocabulary;
    program_.context = 16;
    options_.max_context = 16;
    options_.max_tokens = 4;
    options_.max_outputs = outputs;
  }

  void decode(const Step& step) override {
    const StepSequence& sequence = step.sequences.front();
    if (sequence.start == 0) read_ = 0;
    rows_.clear();
    std::size_t output = 0;
    for (std::size_t i = 0; i < step.ids.size(); ++i) {
      read_ = read_ * 3 + static_cast<std::uint64_t>(step.ids[i]) + 1;
      if (output == step.outputs.size() || step.outputs[output] != static_cast<int>(i)) continue;
      ++output;
      const std::vector<float> logits = logits_after(read_);
      rows_.insert(rows_.end(), logits.begin(), logits.end());
    }
  }
  void encode(const Step& /*step*/) override { internal_error("CountingDevice has no encoder"); }
  Rows results() override {
    return {rows_.data(), static_cast<std::int64_t>(rows_.size()) / kVocabulary, kVocabulary,
            kVocabulary};
  }
  Rows hidden_states(std::int32_t /*first*/, std::int32_t /*count*/) override {
    internal_error("CountingDevice has no hidden states");
  }
  Rows logits_of(std::span<const std::int32_t> /*rows*/) override {
    internal_error("CountingDevice has no hidden states");
  }
  [[nodiscard]] const Program& program() const override { return program_; }
  [[nodiscard]] const DeviceOptions& options() const override { return options_; }

  void fail_after(std::uint64_t read) { bad_ = read; }

  [[nodiscard]] std::vector<float> logits_after(std::uint64_t read) const {
    std::vector<float> logits;
    for (std::uint64_t v = 0; v < kVocabulary; ++v) {
      const std::uint64_t mixed = (read * 2654435761U + v * 40503U) % 1000;
      logits.push_back(slope_ * static_cast<float>(mixed) / 200);
    }
    if (read == bad_) logits[2] = std::numeric_limits<float>::quiet_NaN();
    return logits;
  }

  /// Returns the hash of the tokens read so far.
  [[nodiscard]] static std::uint64_t read_of(std::span<const TokenId> ids) {
    std::uint64_t read = 0;
    for (const TokenId id : ids) read = read * 3 + static_cast<std::uint64_t>(id) + 1;
    return read;
  }

 private:
  Program program_;
  DeviceOptions options_;
  float slope_;
  std::uint64_t read_ = 0;
  std::uint64_t bad_ = 0;
  std::vector<float> rows_;
};

constexpr auto kText = std::to_array<TokenId>({0, 3, 1, 4, 2, 2, 0, 1, 3, 4, 1, 0, 2});

/// Every token's loss by the windows' definition, one token at a time.
TokenMean loss_by_hand(const CountingDevice& device, std::span<const TokenWindow> windows) {
  TokenMean mean;
  for (const TokenWindow& window : windows) {
    for (std::size_t at = window.first_scored; at < window.end; ++at) {
      const auto before = std::span(kText).subspan(window.begin, at - window.begin);
      mean.add(negative_log_likelihood(device.logits_after(CountingDevice::read_of(before)),
                                       static_cast<std::size_t>(kText[at])));
    }
  }
  return mean;
}

PerplexityRun run_of(CountingDevice& device, std::span<const TokenWindow> windows) {
  PerplexityRun run;
  run.model = &device;
  run.tokens = kText;
  run.windows = windows;
  return run;
}

TEST(Perplexity, ScoresEachTokenByTheLogitsOfTheTokenBeforeInItsWindow) {
  for (const std::size_t context : {2U, 5U, 9U, 16U}) {
    for (std::size_t stride = 1; stride <= context; ++stride) {
      for (const std::int32_t outputs : {1, 3, 4}) {
        CountingDevice device(1, outputs);
        const auto windows = sliding_windows(kText.size(), context, stride);
        const auto report = measure_perplexity(run_of(device, windows));
        ASSERT_TRUE(report) << to_string(report.error());
        const TokenMean expected = loss_by_hand(device, windows);
        EXPECT_EQ(report->loss.count(), expected.count());
        EXPECT_DOUBLE_EQ(report->loss.mean(), expected.mean()) << context << ' ' << stride;
        EXPECT_FALSE(report->difference);
      }
    }
  }
}

TEST(Perplexity, ComparesTheModelsAfterTheSameTokens) {
  CountingDevice model(0.5F, 4);
  CountingDevice reference(1, 3);
  const auto windows = sliding_windows(kText.size(), 6, 3);
  PerplexityRun run = run_of(model, windows);
  run.reference = &reference;
  const auto report = measure_perplexity(run);
  ASSERT_TRUE(report && report->difference);
  const TokenMean own = loss_by_hand(model, windows);
  const TokenMean other = loss_by_hand(reference, windows);
  EXPECT_DOUBLE_EQ(report->loss.mean(), own.mean());
  EXPECT_DOUBLE_EQ(report->difference->reference_loss.mean(), other.mean());
  EXPECT_NEAR(report->difference->loss_difference.mean(), own.mean() - other.mean(), 1e-12);
  // Halved logits have the same order and are less certain.
  EXPECT_EQ(report->difference->same_top.mean(), 1);
  EXPECT_GT(report->difference->divergence.mean(), 0.05);
  EXPECT_EQ(report->difference->divergences.size(), kText.size() - 1);

  CountingDevice opposite(-1, 4);
  run.model = &opposite;
  const auto turned = measure_perplexity(run);
  ASSERT_TRUE(turned);
  EXPECT_EQ(turned->difference->same_top.mean(), 0);
}

TEST(Perplexity, NamesTheTokenWhoseLogitsAreNotNumbers) {
  const auto windows = sliding_windows(kText.size(), 16, 8);
  CountingDevice device(1);
  device.fail_after(CountingDevice::read_of(std::span(kText).first(7)));
  const auto report = measure_perplexity(run_of(device, windows));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, MeasureErrc::kBadSteps);
  EXPECT_THAT(report.error().detail, HasSubstr("token 7"));

  CountingDevice good(1);
  PerplexityRun run = run_of(good, windows);
  run.reference = &device;
  const auto compared = measure_perplexity(run);
  ASSERT_FALSE(compared);
  EXPECT_THAT(compared.error().detail, HasSubstr("token 7"));
}

TEST(Perplexity, EndsWhenItIsToldTo) {
  CountingDevice device(1, 3);
  const auto windows = sliding_windows(kText.size(), 16, 8);
  PerplexityRun run = run_of(device, windows);
  std::vector<std::int64_t> counts;
  run.progress = [&](std::int64_t scored) {
    counts.push_back(scored);
    return counts.size() < 2;
  };
  const auto report = measure_perplexity(run);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->loss.count(), 6);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{3, 6}));
}

}  // namespace
}  // namespace weft::measure
