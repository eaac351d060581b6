#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/partitioned_device.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/model/program/operands.h"
#include "weft/model/spec/architecture.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/golden_runs.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Numbers = test::ReferenceNumbers::Rows;

// How far a sum of parts may be from the sum in one go, as a part of the row's norm.
constexpr double kTolerance = 1e-5;
constexpr std::int64_t kContext = 128;
// The last two of its four layers read the keys and values of the first two.
constexpr const char* kSharesKeys = "gemma4-e";

struct Cut {
  const char* name;
  const char* partition;
};

constexpr Cut kCuts[] = {{"tp2", "cpu,cpu"},
                         {"tp4", "cpu,cpu,cpu,cpu"},
                         {"pp2", "cpu | cpu"},
                         {"pp3", "cpu | cpu | cpu"},
                         {"tp2pp2", "cpu,cpu | cpu,cpu"}};

/// For models with experts: each rank has whole experts.
constexpr Cut kExpertCuts[] = {
    {"ep2", "cpu+cpu"}, {"ep4", "cpu+cpu+cpu+cpu"}, {"ep2pp2", "cpu+cpu | cpu+cpu"}};

std::vector<fs::path> goldens_with_experts() {
  std::vector<fs::path> folders = test::committed_goldens();
  std::erase_if(folders, [](const fs::path& folder) {
    const auto model = open_model(folder);
    return !model || model->program->max_experts == 0;
  });
  return folders;
}

/// A golden model on ranks of the host, beside the same on one.
class PartitionedModelTest : public testing::TestWithParam<std::tuple<fs::path, Cut>> {
 protected:
  void SetUp() override {
    auto golden = test::GoldenModel::open(std::get<0>(GetParam()));
    ASSERT_TRUE(golden) << to_string(golden.error());
    golden_ = std::make_unique<test::GoldenModel>(*std::move(golden));
    partition_ = parse_partition(std::get<1>(GetParam()).partition).value();
    if (partition_.stages.size() > golden_->model.architecture->decoder.layers.size()) {
      GTEST_SKIP() << "the model has fewer layers than there are stages";
    }
    if (partition_.stages.size() > 1 && std::get<0>(GetParam()).filename() == kSharesKeys) {
      GTEST_SKIP() << "its layers read the keys of others, which cannot be on another stage";
    }
  }

  [[nodiscard]] std::unique_ptr<ModelDevice> ranks() const {
    const auto options = SequenceRunner::options_for(*golden_->model.program, kContext);
    return PartitionedDevice::load(golden_->model, partition_, options).value();
  }

  [[nodiscard]] std::unique_ptr<ModelDevice> alone() const {
    const auto options = SequenceRunner::options_for(*golden_->model.program, kContext);
    return test::host_kind().load(golden_->model.checkpoint, golden_->model.program, options);
  }

  /// The results of all prompts, of which at most `piece` tokens are fed at once.
  [[nodiscard]] std::vector<Numbers> run(ModelDevice& device, std::size_t piece) const {
    std::vector<Numbers> results;
    for (int i = 0; golden_->expected->has_prompt(i); ++i) {
      SequenceRunner runner(device);
      std::vector<TokenId> ids = golden_->expected->ids("prompt_", i);
      if (golden_->model.program->has_encoder) {
        runner.encode(ids).value();
        ids = golden_->expected->ids("greedy_", i);
        ids.pop_back();
      }
      results.push_back(test::feed_in_pieces(runner, ids, piece));
    }
    return results;
  }

  /// Returns the results of one device, which are computed once for all cuts of a model: these are
  /// tested one after the other.
  [[nodiscard]] const std::vector<Numbers>& numbers_alone() const {
    static std::pair<fs::path, std::vector<Numbers>> last;
    if (last.first != std::get<0>(GetParam())) {
      last = {std::get<0>(GetParam()), run(*alone(), 1000)};
    }
    return last.second;
  }

  std::unique_ptr<test::GoldenModel> golden_;
  Partition partition_;
};

TEST_P(PartitionedModelTest, ComputesWhatOneDeviceComputes) {
  const std::vector<Numbers>& wanted = numbers_alone();
  const std::vector<Numbers> got = run(*ranks(), 1000);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(got[i].size(), wanted[i].size()) << "prompt " << i;
    for (std::size_t row = 0; row < wanted[i].size(); ++row) {
      EXPECT_LE(test::relative_error(got[i][row], wanted[i][row]), kTolerance)
          << "prompt " << i << ", row " << row;
    }
  }
}

TEST_P(PartitionedModelTest, GivesTheSameBitsTokenByTokenAsAtOnce) {
  if (!golden_->model.program->causal) GTEST_SKIP() << "an encoder takes its sequence at once";
  const auto device = ranks();
  EXPECT_EQ(run(*device, 1), run(*device, 1000));
}

INSTANTIATE_TEST_SUITE_P(Ours, PartitionedModelTest,
                         testing::Combine(testing::ValuesIn(test::committed_goldens()),
                                          testing::ValuesIn(kCuts)),
                         [](const auto& each) {
                           return test::test_name(std::get<0>(each.param)) + "_" +
                                  std::get<1>(each.param).name;
                         });

INSTANTIATE_TEST_SUITE_P(WithExperts, PartitionedModelTest,
                         testing::Combine(testing::ValuesIn(goldens_with_experts()),
                                          testing::ValuesIn(kExpertCuts)),
                         [](const auto& each) {
                           return test::test_name(std::get<0>(each.param)) + "_" +
                                  std::get<1>(each.param).name;
                         });

/// Returns the numbers of experts that ranks have of a model, by layer.
std::vector<std::vector<std::size_t>> experts_of(const fs::path& golden, const char* partition) {
  const auto model = open_model(golden).value();
  std::vector<std::vector<std::size_t>> all;
  for (const auto& program : compile_parts(model, parse_partition(partition).value()).value()) {
    std::vector<std::size_t>& own = all.emplace_back();
    for (const Op& op : program->decode.ops) {
      const auto* experts = std::get_if<ExpertLinearOp>(&op);
      if (experts != nullptr && gathers_rows(*program, *experts))
        own.push_back(experts->weights.size());
    }
  }
  return all;
}

TEST(SharedKeys, AreNotReadFromAnotherStage) {
  const auto model = open_model(test::committed_golden(kSharesKeys)).value();
  const auto parts = compile_parts(model, parse_partition("cpu | cpu").value());
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().detail,
            "layer 2 reads the keys and values of layer 0, which another stage has");
}

TEST(WholeExperts, AreDealtOutEvenlyWhereThereAreEnough) {
  const fs::path mixtral = test::committed_golden("mixtral");
  const auto whole = experts_of(mixtral, "cpu").front();
  ASSERT_FALSE(whole.empty());
  const auto halves = experts_of(mixtral, "cpu+cpu");
  EXPECT_EQ(halves[0].front() + halves[1].front(), whole.front());
  EXPECT_EQ(experts_of(mixtral, "cpu,cpu")[0], whole) << "columns of each";
  std::string many = "cpu";
  for (std::size_t i = 0; i < whole.front(); ++i) many += "+cpu";
  EXPECT_EQ(experts_of(mixtral, many.c_str())[0], whole) << "fewer experts than ranks";
}

}  // namespace
}  // namespace weft
