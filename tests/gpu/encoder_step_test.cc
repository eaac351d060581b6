// Plans for an encoder alone, on every kind of device: each entry is a whole sequence, of one text
// or two, that has no pages and of which nothing is chosen.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/gpu/activation_reader.h"
#include "weft/model/open_model.h"
#include "weft/model/vectors/read_vector_model.h"
#include "weft/model/vectors/vector_model.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

namespace json = boost::json;

/// Keeps the hidden state of the first token.
class FirstReader final : public ActivationReader {
 public:
  [[nodiscard]] std::int32_t end_position() const noexcept override { return 1; }
  void read(const TokenActivations& token) override {
    EXPECT_EQ(token.position, 0);
    EXPECT_TRUE(hidden.empty());
    hidden.assign(token.hidden_state.begin(), token.hidden_state.end());
  }
  std::vector<float> hidden;
};

/// Keeps the logits of the token at one position.
class LogitsReader final : public ActivationReader {
 public:
  explicit LogitsReader(std::int32_t position) : position_(position) {}
  [[nodiscard]] bool wants_logits() const noexcept override { return true; }
  [[nodiscard]] std::int32_t first_position() const noexcept override { return position_; }
  [[nodiscard]] std::int32_t end_position() const noexcept override { return position_ + 1; }
  void read(const TokenActivations& token) override {
    EXPECT_EQ(token.position, position_);
    logits.assign(token.logits.begin(), token.logits.end());
  }
  std::vector<float> logits;

 private:
  const std::int32_t position_;
};

/// A cross-encoder's reference scores of one or two texts (make_vectors.py).
struct Judged {
  Tokens tokens;
  std::int32_t second_text = 0;
  float score = 0;
};

class EncoderStepTest : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    WEFT_SKIP_WITHOUT_GPU(GetParam());
    const std::string folder = source_path("tests/model/data/vectors/bert-reranker");
    model_ = open_model(folder).value();
    vectors_ = read_vector_model(*model_.architecture, *model_.checkpoint).value();
    const DeviceLimits limits{.rows = 4,
                              .page_tokens = 4,
                              .step_tokens = 64,
                              .context = 64,
                              .vocabulary = 32,
                              .keeps_kv = false};
    device_ = GetParam().load_steps(model_.checkpoint, model_.program, limits);
    const json::value list =
        json::parse(read_text_file(folder + "/expected.json", kAnySize).value());
    for (const json::value& one : list.as_array()) {
      Judged& judged = judged_.emplace_back();
      for (const json::value& id : one.at("tokens").as_array()) {
        judged.tokens.push_back(static_cast<TokenId>(id.as_int64()));
      }
      // [CLS] first [SEP] second [SEP]
      const auto separator = std::ranges::find(judged.tokens, 2) - judged.tokens.begin();
      const bool pair = one.as_object().contains("second");
      judged.second_text = pair ? static_cast<std::int32_t>(separator) + 1 : 0;
      judged.score = one.at("vector").at(0).to_number<float>();
    }
  }

  /// Feeds the texts in one step, from row `first` on, and returns what their scores are.
  std::vector<float> scores(std::int32_t first, const std::vector<Judged>& texts) {
    std::vector<std::shared_ptr<FirstReader>> readers;
    for (const Judged& one : texts) {
      const auto row = first + static_cast<std::int32_t>(readers.size());
      plan_.start(row, greedy(), static_cast<std::int32_t>(one.tokens.size()));
      readers.push_back(std::make_shared<FirstReader>());
      plan_.plan().starts.back().reader = readers.back();
      plan_.plan().starts.back().traits.second_text = one.second_text;
      plan_.feed(row, 0, one.tokens);
    }
    EXPECT_TRUE(plan_.run(*device_).samples.empty());
    std::vector<float> scores;
    for (const auto& reader : readers) {
      scores.push_back(vectors_->score(reader->hidden, true).front());
    }
    return scores;
  }

  /// GPUs round the inputs of products to 16 bits.
  [[nodiscard]] static float tolerance() {
    return GetParam().name.find("gpu") == std::string::npos ? 1e-4F : 3e-2F;
  }

  OpenedModel model_;
  std::shared_ptr<const VectorModel> vectors_;
  std::unique_ptr<StepDevice> device_;
  std::vector<Judged> judged_;
  PlanBuilder plan_;
};

TEST_P(EncoderStepTest, ReadsTextsAndPairsSideBySide) {
  ASSERT_EQ(judged_.size(), 6);
  for (const std::size_t first : {0U, 3U}) {
    const std::vector<Judged> texts(judged_.begin() + static_cast<std::ptrdiff_t>(first),
                                    judged_.begin() + static_cast<std::ptrdiff_t>(first) + 3);
    const std::vector<float> got = scores(1, texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_NEAR(got[i], texts[i].score, tolerance()) << first + i;
    }
  }
}

TEST_P(EncoderStepTest, ATextIsTheSameBesideOthersAndAlone) {
  const std::vector<float> beside = scores(0, {judged_[1], judged_[4], judged_[2], judged_[5]});
  EXPECT_NEAR(scores(2, {judged_[4]}).front(), beside[1], tolerance());
}

TEST_P(EncoderStepTest, ReadsTextsOfOneTokenEach) {
  const std::vector<float> alone = scores(0, {{.tokens = {7}}});
  const std::vector<float> together = scores(0, {{.tokens = {9}}, {.tokens = {7}}});
  EXPECT_NEAR(together[1], alone[0], tolerance());
  EXPECT_NE(together[0], together[1]);
}

/// Tests the devices with a masked language model.
class MaskStepTest : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    WEFT_SKIP_WITHOUT_GPU(GetParam());
    const std::string folder = source_path("tests/model/data/vectors/bert-masked");
    model_ = open_model(folder).value();
    const DeviceLimits limits{.rows = 4,
                              .page_tokens = 4,
                              .step_tokens = 64,
                              .context = 64,
                              .vocabulary = 31,
                              .keeps_kv = false};
    device_ = GetParam().load_steps(model_.checkpoint, model_.program, limits);
    expected_ = json::parse(read_text_file(folder + "/expected.json", kAnySize).value());
  }

  OpenedModel model_;
  std::unique_ptr<StepDevice> device_;
  json::value expected_;
  PlanBuilder plan_;
};

TEST_P(MaskStepTest, ReadsTheLogitsOfMaskTokensSideBySide) {
  std::vector<std::shared_ptr<LogitsReader>> readers;
  for (const json::value& one : expected_.as_array()) {
    Tokens tokens;
    for (const json::value& id : one.at("tokens").as_array()) {
      tokens.push_back(static_cast<TokenId>(id.as_int64()));
    }
    const auto mask = std::ranges::find(tokens, 4) - tokens.begin();
    const auto row = static_cast<std::int32_t>(readers.size());
    plan_.start(row, greedy(), static_cast<std::int32_t>(tokens.size()));
    readers.push_back(std::make_shared<LogitsReader>(static_cast<std::int32_t>(mask)));
    plan_.plan().starts.back().reader = readers.back();
    plan_.feed(row, 0, tokens);
  }
  EXPECT_TRUE(plan_.run(*device_).samples.empty());
  ASSERT_EQ(readers.size(), 4);
  const bool rounds = GetParam().name.find("gpu") != std::string::npos;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const std::vector<float>& logits = readers[i]->logits;
    ASSERT_EQ(logits.size(), 31);
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    for (const json::value& fill : expected_.at(i).at("masks").at(0).as_array()) {
      const float logit = logits[fill.at("token").to_number<std::size_t>()];
      EXPECT_NEAR(std::exp(static_cast<double>(logit)) / sum, fill.at("score").to_number<double>(),
                  rounds ? 3e-2 : 1e-4)
          << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MaskStepTest, testing::ValuesIn(device_kinds()), kind_name);
INSTANTIATE_TEST_SUITE_P(Devices, EncoderStepTest, testing::ValuesIn(device_kinds()), kind_name);
INSTANTIATE_TEST_SUITE_P(KvOnHost, EncoderStepTest, testing::ValuesIn(kv_on_host_kinds()),
                         kind_name);

}  // namespace
}  // namespace weft::test
