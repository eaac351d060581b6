#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/adapters/adapter_file.h"
#include "weft/model/open_model.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/golden_runs.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Rows = test::ReferenceNumbers::Rows;

// How far float32 may differ in another order of summation, as a part of the row's norm.
constexpr double kTolerance = 1e-4;
// The tolerance if merged weights are rounded to f16.
constexpr double kRoundedTolerance = 1e-2;

fs::path adapters() { return test::source_path("tests/model/data/adapters"); }

/// The base of a case: its file has a path below tests/model/data.
fs::path base_of(const fs::path& adapter) {
  std::string name = read_text_file(adapter / "base", kAnySize).value();
  name.erase(name.find_last_not_of('\n') + 1);
  return fs::path(test::source_path("tests/model/data")) / name;
}

fs::path file_of(const fs::path& adapter) {
  return fs::exists(adapter / "adapter.gguf") ? adapter / "adapter.gguf" : adapter;
}

Rows logits_of(const OpenedModel& model, const std::vector<TokenId>& prompt,
               const test::DeviceKind& kind) {
  constexpr std::int64_t kContext = 64;
  DeviceOptions options = SequenceRunner::options_for(*model.program, kContext);
  options.kv_dtype = kind.kv_dtype;
  const auto device = kind.load(model.checkpoint, model.program, options);
  SequenceRunner runner(*device);
  return test::feed_in_pieces(runner, prompt, prompt.size());
}

/// An adapter as it is bound to an opened base.
Adapter adapter_of(const OpenedModel& base, const fs::path& folder) {
  const auto file = read_adapter(file_of(folder)).value();
  return bind_adapter(file, *base.checkpoint, *base.program, *base.architecture).value();
}

/// The logits with an adapter that is not merged.
Result<Rows> unmerged_logits(const OpenedModel& base, const Adapter& adapter,
                             const std::vector<TokenId>& prompt, const test::DeviceKind& kind) {
  DeviceOptions options = SequenceRunner::options_for(*base.program, 64);
  options.kv_dtype = kind.kv_dtype;
  options.adapter_places = 1;
  options.adapter_rank = 16;
  const auto device = kind.load(base.checkpoint, base.program, options);
  SequenceRunner runner(*device);
  if (auto used = runner.use(adapter); !used) return used.error();
  return test::feed_in_pieces(runner, prompt, prompt.size());
}

/// Adapters with more than pairs for products of layers.
bool can_only_be_merged(const std::string& name) {
  const std::vector<std::string> merged = {
      "bias",          "bias-of-pairs",      "dora",      "dora-transposed", "embedding",
      "experts-apart", "experts-transposed", "lora-bias", "saved",           "tokens",
      "tokens-tied"};
  return std::ranges::find(merged, name) != merged.end();
}

double worst_error(const Rows& got, const Rows& wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  double worst = 0;
  for (std::size_t row = 0; row < wanted.size(); ++row)
    worst = std::max(worst, test::relative_error(got[row], wanted[row]));
  return worst;
}

class AdaptedModelTest : public testing::TestWithParam<fs::path> {
 protected:
  [[nodiscard]] OpenedModel open(std::string_view weights) const {
    return open_model(base_of(GetParam()), {}, weights, file_of(GetParam())).value();
  }
  [[nodiscard]] std::vector<TokenId> prompt() const { return expected_.ids("prompt_", 0); }
  [[nodiscard]] Rows wanted() const { return expected_.rows("logits_", 0); }

  const test::ReferenceNumbers expected_{GetParam() / "expected.safetensors"};
};

TEST_P(AdaptedModelTest, ComputesWhatPeftComputesUnmerged) {
  const Rows got = logits_of(open("f32"), prompt(), test::host_kind());
  EXPECT_LE(worst_error(got, wanted()), kTolerance);
}

void expect_unmerged(const OpenedModel& base, const fs::path& folder,
                     const std::vector<TokenId>& prompt, const Rows& wanted,
                     const test::DeviceKind& kind) {
  SCOPED_TRACE(kind.name);
  const auto got = unmerged_logits(base, adapter_of(base, folder), prompt, kind);
  if (can_only_be_merged(folder.filename())) {
    EXPECT_THAT(got, test::FailsWith(DeviceErrc::kUnfit, "merge the adapter"));
    return;
  }
  ASSERT_TRUE(got) << got.error().detail;
  EXPECT_LE(worst_error(*got, wanted), kTolerance);
}

/// The adapter with pairs in bf16, as GPUs have them.
Adapter narrowed(Adapter adapter) {
  for (AdapterTarget& target : adapter.targets) {
    for (float& number : target.a) number = from_bf16(to_bf16(number));
    for (float& number : target.b) number = from_bf16(to_bf16(number));
  }
  return adapter;
}

TEST_P(AdaptedModelTest, AGpuComputesBesideTheBaseWhatTheHostComputes) {
  const OpenedModel base = open_model(base_of(GetParam()), {}, "f32").value();
  const Adapter adapter = narrowed(adapter_of(base, GetParam()));
  const auto wanted = unmerged_logits(base, adapter, prompt(), test::host_kind());
  std::vector<test::DeviceKind> kinds = {
      test::fake_gpu_kind(), test::fake_gpu_ranks_kind("fake_gpu_tp2", "cuda:0,cuda:1")};
  if (test::has_gpu()) kinds.push_back(test::gpu_kind());
  for (const test::DeviceKind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    const auto got = unmerged_logits(base, adapter, prompt(), kind);
    if (!wanted) {
      EXPECT_THAT(got, test::FailsWith(DeviceErrc::kUnfit, "merge the adapter"));
    } else if (!got) {
      EXPECT_THAT(got, test::FailsWith(DeviceErrc::kUnfit, "more than 8 parts"));
    } else {
      EXPECT_LE(worst_error(*got, *wanted), kTolerance);
    }
  }
}

TEST_P(AdaptedModelTest, ComputesBesideTheBaseWhatPeftComputes) {
  const OpenedModel base = open_model(base_of(GetParam()), {}, "f32").value();
  expect_unmerged(base, GetParam(), prompt(), wanted(), test::host_kind(2));
  expect_unmerged(base, GetParam(), prompt(), wanted(), test::ranks_kind("host_tp2", "cpu,cpu"));
  if (base.program->layers > 1 && !base.program->has_encoder) {
    expect_unmerged(base, GetParam(), prompt(), wanted(),
                    test::ranks_kind("host_pp2", "cpu | cpu"));
  }
}

TEST_P(AdaptedModelTest, IsCutForRanksAsItsBaseIs) {
  const OpenedModel model = open("f32");
  const Rows got = logits_of(model, prompt(), test::ranks_kind("host_tp2", "cpu,cpu"));
  EXPECT_LE(worst_error(got, wanted()), kTolerance);
}

TEST_P(AdaptedModelTest, KeepsTheTypesOfItsBase) {
  const OpenedModel base = open_model(base_of(GetParam())).value();
  const OpenedModel model = open("");
  ASSERT_EQ(model.checkpoint->tensors().size(), base.checkpoint->tensors().size());
  for (const CheckpointTensor& tensor : base.checkpoint->tensors()) {
    const CheckpointTensor* own = model.checkpoint->find(tensor.name);
    ASSERT_NE(own, nullptr) << tensor.name;
    EXPECT_EQ(own->dtype, tensor.dtype) << tensor.name;
    EXPECT_EQ(own->shape, tensor.shape) << tensor.name;
  }
  const Rows got = logits_of(model, prompt(), test::host_kind());
  EXPECT_LE(worst_error(got, wanted()), kRoundedTolerance);
}

TEST_P(AdaptedModelTest, WarnsOfNoOtherBase) {
  EXPECT_THAT(open("").adapter->warnings, testing::IsEmpty());
}

TEST(AdaptedModelsTest, AnAdapterOfZerosGivesTheBitsOfTheBase) {
  const fs::path adapter = adapters() / "zeros";
  const std::vector<TokenId> prompt = {5, 9, 3, 17};
  const OpenedModel base = open_model(base_of(adapter)).value();
  const OpenedModel model = open_model(base_of(adapter), {}, {}, adapter).value();
  EXPECT_EQ(logits_of(model, prompt, test::host_kind()),
            logits_of(base, prompt, test::host_kind()));
}

TEST(AdaptedModelsTest, AnAdapterOfZerosBesideTheBaseGivesItsBits) {
  const fs::path folder = adapters() / "zeros";
  const std::vector<TokenId> prompt = {5, 9, 3, 17};
  const OpenedModel base = open_model(base_of(folder)).value();
  EXPECT_EQ(unmerged_logits(base, adapter_of(base, folder), prompt, test::host_kind()).value(),
            logits_of(base, prompt, test::host_kind()));
}

TEST(AdaptedModelsTest, ARankAboveTheBoundIsRefused) {
  const fs::path folder = adapters() / "llama";
  const OpenedModel base = open_model(base_of(folder)).value();
  Adapter adapter = adapter_of(base, folder);
  adapter.targets.front().rank = 17;
  EXPECT_THAT(unmerged_logits(base, adapter, {1}, test::host_kind()),
              test::FailsWith(DeviceErrc::kUnfit, "has rank 17 for"));
}

TEST(AdaptedModelsTest, TheHashIsOfTheContentAndNotOfTheName) {
  const auto hash_of = [](const char* name) {
    const fs::path adapter = adapters() / name;
    return open_model(base_of(adapter), {}, {}, adapter).value().adapter->hash;
  };
  EXPECT_EQ(hash_of("llama"), hash_of("llama"));
  EXPECT_NE(hash_of("llama"), hash_of("zeros"));
  EXPECT_NE(hash_of("bias"), hash_of("bias-of-pairs"));
}

INSTANTIATE_TEST_SUITE_P(Committed, AdaptedModelTest,
                         testing::ValuesIn(test::folders_in(adapters())),
                         [](const auto& each) { return test::test_name(each.param); });

}  // namespace
}  // namespace weft
