// The steps that are measured, as a device sees them: contexts that are there, pages of one's own,
// and the bytes and operations that each is told to cost.

#include "weft/measure/steps/step_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/gpu/device_error.h"
#include "weft/measure/measure_error.h"
#include "weft/model/random_llama.h"

namespace weft::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A peak of a byte a nanosecond and, where it computes, of an operation a nanosecond.
class FixedPeak final : public DevicePeak {
 public:
  explicit FixedPeak(bool computes = true) : computes_(computes) {}

  Result<double> read(double bytes, std::int32_t times) override {
    times_.insert(times);
    return bytes * 1e-9;
  }
  std::optional<double> compute(double operations) override {
    if (!computes_) return std::nullopt;
    return operations * 1e-9;
  }
  [[nodiscard]] std::string reader() const override { return "reader"; }
  [[nodiscard]] std::string computer() const override { return "computer"; }

  [[nodiscard]] const std::set<std::int32_t>& times() const { return times_; }

 private:
  bool computes_;
  std::set<std::int32_t> times_;
};

/// Notes which sequence wrote each position of the KV, and checks that a step finds its own there.
class WatchedDevice final : public StepDevice {
 public:
  explicit WatchedDevice(const DeviceLimits& limits)
      : limits_(limits), tables_(static_cast<std::size_t>(limits.rows)) {}

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return limits_; }

  void run(const Plan& plan, StepResult& result) override {
    for (const PlanTable& table : plan.tables) {
      const auto from = plan.pages.begin() + table.first_page;
      this->table(table.row).assign(from, from + table.count);
    }
    std::int32_t tokens = 0;
    std::set<std::int32_t> rows;
    for (const PlanEntry& entry : plan.entries) {
      tokens += entry.count;
      EXPECT_TRUE(rows.insert(entry.row).second) << "row " << entry.row << " twice in a step";
      feed(plan, entry);
    }
    EXPECT_GT(tokens, 0);
    EXPECT_LE(tokens, limits_.step_tokens);
    result.samples.resize(plan.samples.size());
    ++steps_;
    if (steps_ == fails_at_) throw std::runtime_error("it burns");
  }

  /// Returns {sequences, position} of the steps in which all sequences decode, and how many there
  /// were.
  [[nodiscard]] const std::map<std::pair<std::size_t, std::int32_t>, int>& decodes() const {
    return decodes_;
  }
  /// Returns the lengths of the prompts that ended with a choice.
  [[nodiscard]] const std::map<std::int32_t, int>& prompts() const { return prompts_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  void fail_at(std::int64_t step) { fails_at_ = step; }

 private:
  using Owner = std::pair<std::int32_t, std::int32_t>;  // row and position

  std::vector<std::int32_t>& table(std::int32_t row) {
    return tables_.at(static_cast<std::size_t>(row));
  }

  Owner& place(std::int32_t row, std::int32_t position) {
    const std::int32_t page = table(row).at(static_cast<std::size_t>(position) /
                                            static_cast<std::size_t>(limits_.page_tokens));
    EXPECT_LT(page, limits_.pages);
    return owners_[page * limits_.page_tokens + position % limits_.page_tokens];
  }

  void feed(const Plan& plan, const PlanEntry& entry) {
    EXPECT_LE(entry.start + entry.count, limits_.context);
    for (std::int32_t i = 0; i < entry.count; ++i) {
      place(entry.row, entry.start + i) = {entry.row, entry.start + i};
      if (entry.first_id == kLastToken) continue;
      const TokenId id =
          plan.ids.at(static_cast<std::size_t>(entry.first_id) + static_cast<std::size_t>(i));
      EXPECT_TRUE(id >= 0 && id < limits_.vocabulary);
    }
    const std::int32_t end = entry.start + entry.count;
    for (std::int32_t at = 0; at < end; ++at) {
      ASSERT_EQ(place(entry.row, at), (Owner{entry.row, at})) << "what it attends to is not there";
    }
    if (entry.first_id == kLastToken) {
      if (entry.row == 0) ++decodes_[{plan.entries.size(), entry.start}];
      EXPECT_EQ(plan.samples.size(), plan.entries.size());
    } else if (!plan.samples.empty()) {
      ++prompts_[end];
    }
  }

  const DeviceLimits limits_;
  std::vector<std::vector<std::int32_t>> tables_;
  std::map<std::int32_t, Owner> owners_;
  std::map<std::pair<std::size_t, std::int32_t>, int> decodes_;
  std::map<std::int32_t, int> prompts_;
  std::int64_t steps_ = 0;
  std::int64_t fails_at_ = -1;
};

class StepBenchTest : public testing::Test {
 protected:
  StepBenchTest() {
    wishes_.batches = {3, 1};
    wishes_.contexts = {40, 7};
    wishes_.prompts = {24};
    wishes_.page_tokens = 4;
    wishes_.steps = 5;
    wishes_.repeats = 2;
  }

  [[nodiscard]] static OpenedModel opened(const RandomLlama& llama) { return llama.opened(); }

  RandomLlama llama_{LlamaShape{}, 3};
  StepWishes wishes_;
  FixedPeak peak_;
  WatchedDevice watched_{{.rows = 3,
                          .pages = 30,
                          .page_tokens = 4,
                          .step_tokens = 16,
                          .context = 40,
                          .vocabulary = LlamaShape{}.vocabulary}};
};

TEST_F(StepBenchTest, DecodesAtTheContextThatWasAskedForWithAllOfItThere) {
  ASSERT_TRUE(measure_steps(watched_, *llama_.program(), peak_, wishes_));
  // Rounds of a step that is not counted and five that are; the first round is not counted either.
  const int steps = (2 + 1) * (5 + 1);
  EXPECT_THAT(
      watched_.decodes(),
      ElementsAre(testing::Pair(std::pair(1U, 6), steps), testing::Pair(std::pair(1U, 39), steps),
                  testing::Pair(std::pair(3U, 6), steps), testing::Pair(std::pair(3U, 39), steps)));
  EXPECT_THAT(watched_.prompts(), ElementsAre(testing::Pair(24, 2 + 1)));
}

TEST_F(StepBenchTest, DecodesWhereThereIsNothingButTheTokenItself) {
  wishes_.contexts = {1};
  wishes_.prompts = {};
  ASSERT_TRUE(measure_steps(watched_, *llama_.program(), peak_, wishes_));
  EXPECT_EQ(watched_.decodes().begin()->first.second, 0);
}

TEST_F(StepBenchTest, TellsHowFarItIsAndComesToTheEnd) {
  std::int64_t last = 0;
  std::int64_t total = 0;
  const auto told = [&](std::int64_t done, std::int64_t all) {
    EXPECT_EQ(done, last + 1);
    last = done;
    total = all;
  };
  ASSERT_TRUE(measure_steps(watched_, *llama_.program(), peak_, wishes_, told));
  EXPECT_EQ(last, total);
  EXPECT_EQ(total, watched_.steps());
}

TEST_F(StepBenchTest, CountsTheBytesAndOperationsOfADecodeStep) {
  const Program& program = *llama_.program();
  const auto figures = measure_steps(watched_, program, peak_, wishes_).value();
  ASSERT_EQ(figures.decode.size(), 4U);
  const StepCell& cell = figures.decode.back();
  EXPECT_EQ(cell.batch, 3);
  EXPECT_EQ(cell.tokens, 40);
  // bytes in bf16
  const std::int64_t embeddings = std::int64_t{3} * program.hidden * 2;
  const std::int64_t kv = std::int64_t{3} * 40 * program.kv_bytes_per_token(DType::kF32);
  EXPECT_EQ(cell.work.bytes, static_cast<double>(program.weight_bytes() + embeddings + kv));
  // By hand there are two for each weight and sequence, and scores and values of 4 heads of 16 in 2
  // layers.
  const double weights = 2 * (64 * 64 * 2 + 2 * 64 * 32 + 3 * 64 * 96) + 80 * 64;
  EXPECT_EQ(cell.work.operations, 3 * (2 * weights + 2 * 4 * 40 * 4 * 16));
  EXPECT_EQ(figures.weight_bytes, program.weight_bytes());
}

TEST_F(StepBenchTest, CountsTheHeadOfAPromptOnceAndItsAttentionBelowTheDiagonal) {
  wishes_.batches = {};
  const Program& program = *llama_.program();
  const auto figures = measure_steps(watched_, program, peak_, wishes_).value();
  ASSERT_EQ(figures.prefill.size(), 1U);
  EXPECT_TRUE(figures.decode.empty());
  const double layers = 2 * (64 * 64 * 2 + 2 * 64 * 32 + 3 * 64 * 96);
  const double pairs = 300;  // 1 + 2 + ... + 24
  EXPECT_EQ(figures.prefill[0].work.operations,
            24 * 2 * layers + 2 * 80 * 64 + 2 * 4 * pairs * 4 * 16);
  // It takes two steps, of which the first has no use for the head; a weight has 2 bytes.
  const double vectors = static_cast<double>(program.weight_bytes()) - 2 * (layers + 80 * 64);
  const double kv = static_cast<double>((16 + 24) * program.kv_bytes_per_token(DType::kF32));
  EXPECT_EQ(figures.prefill[0].work.bytes,
            2 * (2 * layers + vectors) + 2 * 80 * 64 + 24 * 64 * 2 + kv);
}

TEST_F(StepBenchTest, TakesTheLongerOfReadingAndComputingForTheLimit) {
  const auto figures = measure_steps(watched_, *llama_.program(), peak_, wishes_).value();
  const StepCell& one = figures.decode.front();
  const StepCell& three = figures.decode[1];
  EXPECT_DOUBLE_EQ(three.reading.median, three.work.bytes * 1e-9);
  EXPECT_DOUBLE_EQ(three.computing->median, three.work.operations * 1e-9);
  // Two bytes a weight against two operations for each sequence.
  EXPECT_FALSE(one.computes());
  EXPECT_TRUE(three.computes());
  EXPECT_EQ(one.times_first.median, 1);
  EXPECT_GT(three.times_first.median, 0);
  // Reading is repeated as often as steps are, and for a prompt as rarely.
  EXPECT_THAT(peak_.times(), ElementsAre(1, 5));
}

TEST_F(StepBenchTest, InventsNoPeakWhereComputingIsNotMeasured) {
  FixedPeak reads_only(false);
  const auto figures = measure_steps(watched_, *llama_.program(), reads_only, wishes_).value();
  EXPECT_FALSE(figures.decode.back().computing);
  EXPECT_FALSE(figures.decode.back().of_peak);
  EXPECT_FALSE(figures.decode.back().computes());
  EXPECT_GT(figures.decode.back().of_limit.median, 0);
}

TEST_F(StepBenchTest, SaysThatAStepFailed) {
  watched_.fail_at(4);
  const auto figures = measure_steps(watched_, *llama_.program(), peak_, wishes_);
  ASSERT_FALSE(figures);
  EXPECT_EQ(figures.error().code, DeviceErrc::kDriver);
  EXPECT_THAT(figures.error().detail, HasSubstr("it burns"));
}

TEST_F(StepBenchTest, MeasuresEachCellOnTheHostBesideItsPeak) {
  wishes_.threads = 2;
  auto loaded = load_for_steps(opened(llama_), wishes_);
  ASSERT_TRUE(loaded) << loaded.error().detail;
  StepDevice& device = *loaded->devices.front().front();
  EXPECT_EQ(device.limits().rows, 3);
  EXPECT_EQ(device.limits().context, 40);
  EXPECT_EQ(device.limits().pages, 3 * 10);
  const auto peak =
      make_device_peak("cpu", 2, *llama_.program(), most_bytes(*llama_.program(), wishes_)).value();
  const auto figures = measure_steps(device, *llama_.program(), *peak, wishes_).value();
  ASSERT_EQ(figures.decode.size(), 4U);
  EXPECT_EQ(figures.decode[0].tokens, 7);
  EXPECT_EQ(figures.decode[0].batch, 1);
  EXPECT_EQ(figures.decode[3].tokens, 40);
  EXPECT_EQ(figures.decode[3].batch, 3);
  for (const StepCell& cell : figures.decode) {
    EXPECT_GT(cell.seconds.low, 0);
    EXPECT_LE(cell.seconds.low, cell.seconds.high);
    EXPECT_GT(cell.reading.median, 0);
    ASSERT_TRUE(cell.computing);
    EXPECT_GT(cell.computing->median, 0);
  }
  EXPECT_THAT(figures.reader, HasSubstr("2 threads"));
}

TEST_F(StepBenchTest, MeasuresPartitionsBesideWhatAllTheirRanksRead) {
  wishes_.device = "cpu,cpu | cpu";
  wishes_.threads = 2;
  wishes_.stages = stages_of(llama_.opened(), wishes_.device).value();
  ASSERT_EQ(wishes_.stages.size(), 2U);
  EXPECT_EQ(wishes_.stages.front().size(), 2U);
  EXPECT_EQ(limiting_device(wishes_.device), "cpu");
  const auto loaded = load_for_steps(llama_.opened(), wishes_).value();
  const auto device = as_one_device(loaded);
  const auto figures = measure_steps(*device, *llama_.program(), peak_, wishes_).value();
  double bytes = 0;
  for (const auto& stage : wishes_.stages) {
    for (const auto& rank : stage) {
      bytes +=
          decode_work(*rank, DType::kF32, figures.decode[0].batch, figures.decode[0].tokens).bytes;
    }
  }
  EXPECT_DOUBLE_EQ(figures.decode[0].work.bytes, bytes);
  // As if the first stage were on a GPU.
  wishes_.device = "cuda:0,cuda:1 | cpu";
  EXPECT_EQ(limiting_device(wishes_.device), "cpu");
  const auto mixed = measure_steps(*device, *llama_.program(), peak_, wishes_).value();
  const auto on_host =
      decode_work(*wishes_.stages.back().front(), kv_dtype_for(wishes_.device, *llama_.program()),
                  mixed.decode[0].batch, mixed.decode[0].tokens);
  EXPECT_DOUBLE_EQ(mixed.decode[0].work.bytes, on_host.bytes);
}

TEST_F(StepBenchTest, RefusesWhatIsLongerThanTheModelsContext) {
  wishes_.contexts = {257};
  auto loaded = load_for_steps(opened(llama_), wishes_);
  EXPECT_EQ(loaded.error().code, MeasureErrc::kBadSteps);
  EXPECT_EQ(loaded.error().detail, "--context 257: the model knows 256 positions");
  wishes_.contexts = {8};
  wishes_.prompts = {300};
  EXPECT_THAT(load_for_steps(opened(llama_), wishes_).error().detail, HasSubstr("--prefill 300"));
  wishes_.prompts = {};
  wishes_.steps = 256;
  EXPECT_THAT(load_for_steps(opened(llama_), wishes_).error().detail, HasSubstr("--steps 256"));
}

TEST_F(StepBenchTest, NamesTheFlagsThatAskForMoreMemoryThanThereIs) {
  wishes_.batches = {60'000};
  wishes_.contexts = {256};
  const RandomLlama wide({.layers = 64, .hidden = 1024, .ffn = 64, .heads = 8, .kv_heads = 8}, 1);
  const auto loaded = load_for_steps(opened(wide), wishes_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, DeviceErrc::kOutOfMemory);
  EXPECT_THAT(loaded.error().detail, HasSubstr("--batch 60000 at --context 256: "));
  EXPECT_THAT(loaded.error().detail, HasSubstr("MiB"));
}

TEST_F(StepBenchTest, RefusesModelsWithAnEncoder) {
  Program program = *llama_.program();
  program.has_logits = false;
  const OpenedModel encoder{llama_.checkpoint(), std::make_shared<Program>(program), "random"};
  const auto loaded = load_for_steps(encoder, wishes_);
  EXPECT_EQ(loaded.error().code, MeasureErrc::kBadSteps);
  EXPECT_THAT(loaded.error().detail, HasSubstr("encoder"));
}

}  // namespace
}  // namespace weft::measure
