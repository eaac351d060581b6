// Models with encoded weights on every kind of device: the same bits as with the numbers that the
// codes stand for, on a GPU in the type in which it holds them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "weft/gpu/host/host_device.h"
#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/host/thread_team.h"
#include "weft/gpu/model_device.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/tests/fixture/checkpoint_errors.h"
#include "weft/tests/fixture/encoded_llama.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/gpu/device_kinds.h"

namespace weft {
namespace {

constexpr std::int32_t kTokens = 9;
constexpr DeviceOptions kOptions{.max_tokens = kTokens,
                                 .max_outputs = kTokens,
                                 .max_sequences = 1,
                                 .page_tokens = 16,
                                 .pages = 1,
                                 .kv_dtype = DType::kF32};

/// The logits after each of a few tokens.
std::vector<float> logits_of(ModelDevice& device, std::int64_t vocabulary) {
  std::vector<TokenId> ids(kTokens);
  for (std::int32_t i = 0; i < kTokens; ++i) {
    ids[static_cast<std::size_t>(i)] = static_cast<TokenId>(std::int64_t{7} * i % vocabulary);
  }
  std::vector<std::int32_t> outputs(kTokens);
  std::iota(outputs.begin(), outputs.end(), 0);
  const std::int32_t page = 0;
  StepSequence sequence;
  sequence.count = kTokens;
  sequence.pages = {&page, 1};
  device.decode({ids, {&sequence, 1}, outputs});
  const ConstRows rows = device.results();
  std::vector<float> logits;
  for (std::int64_t r = 0; r < rows.count; ++r) {
    logits.insert(logits.end(), rows.row(r), rows.row(r) + rows.width);
  }
  return logits;
}

class EncodedWeightsTest : public testing::TestWithParam<test::DeviceKind> {};

INSTANTIATE_TEST_SUITE_P(EveryDevice, EncodedWeightsTest, testing::ValuesIn(test::device_kinds()),
                         test::kind_name);

void expect_logits_of_the_numbers(const test::DeviceKind& kind,
                                  const test::CompiledModel& encoded) {
  // What is above rounds rows to int8 to multiply them by codes.
  const ForcedCpuTarget exact(available_cpu_targets().size() > 2 ? CpuTarget::kAvx512
                                                                 : available_cpu_targets().back());
  const bool host = kind.name == test::host_kind().name;
  const test::CompiledModel numbers = test::decoded(encoded, host ? DType::kF32 : DType::kBF16);
  const auto run = [&](const test::CompiledModel& model) {
    const auto device = kind.load(model.checkpoint, model.program, kOptions);
    return logits_of(*device, model.program->vocabulary);
  };
  const std::vector<float> got = run(encoded);
  const std::vector<float> want = run(numbers);
  ASSERT_EQ(got.size(), want.size());
  ASSERT_TRUE(std::ranges::all_of(want, [](float logit) { return std::isfinite(logit); }));
  EXPECT_TRUE(test::same_bits(got.data(), want.data(), static_cast<std::int64_t>(got.size())));
}

TEST_P(EncodedWeightsTest, GiveTheSameLogitsAsTheirNumbers) {
  WEFT_SKIP_WITHOUT_GPU(GetParam());
  expect_logits_of_the_numbers(GetParam(), test::encoded_llama());
}

TEST_P(EncodedWeightsTest, GiveTheSameLogitsAsTheirNumbersInExperts) {
  WEFT_SKIP_WITHOUT_GPU(GetParam());
  const test::CompiledModel mixtral = test::encoded_mixtral();
  const auto expert = std::ranges::find_if(mixtral.program->matrices, [](const MatrixPlan& plan) {
    return plan.name.find("experts.0") != std::string::npos;
  });
  ASSERT_NE(expert, mixtral.program->matrices.end());
  EXPECT_TRUE(is_encoded(expert->dtype) || !expert->runs.empty());
  expect_logits_of_the_numbers(GetParam(), mixtral);
}

TEST(EncodedWeights, TakeNoMoreOfTheHostThanOfTheFile) {
  const test::CompiledModel model = test::encoded_llama();
  std::int64_t in_file = 0;
  for (const CheckpointTensor& tensor : model.checkpoint->tensors()) {
    // Norms are held as f32, and are bf16 here.
    in_file += static_cast<std::int64_t>(tensor.size) * (tensor.shape.size() == 1 ? 2 : 1);
  }
  EXPECT_EQ(HostWeights::bytes(*model.program), in_file);
  ThreadTeam team({.threads = 2});
  const HostWeights weights = HostWeights::load(*model.program, team, {}).value();
  std::size_t held = 0;
  for (MatrixId id = 0; id < static_cast<MatrixId>(model.program->matrices.size()); ++id) {
    held += weights.matrix(id).bytes();
  }
  EXPECT_LE(static_cast<double>(held), 1.03 * static_cast<double>(in_file));
}

TEST(EncodedWeights, OfAFileWithAScaleThatIsNoNumberAreNotLoaded) {
  const test::CompiledModel good = test::encoded_llama();
  for (const char* name : {"model.layers.1.self_attn.v_proj.weight", "model.embed_tokens.weight"}) {
    std::vector<CheckpointTensor> tensors;
    for (CheckpointTensor tensor : good.checkpoint->tensors()) {
      if (tensor.name == name) {
        auto bytes = test::bytes_of(tensor);
        const DTypeBlock block = block_of(tensor.dtype);
        const auto last = bytes.size() - static_cast<std::size_t>(block.bytes);
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(last), bytes.end(), std::byte{0xff});
        tensor.source = test::source_of(bytes, "model.gguf");
      }
      tensors.push_back(std::move(tensor));
    }
    const test::CompiledModel bad = test::compile_tensors(*good.checkpoint, std::move(tensors));
    EXPECT_THAT(HostDevice::load(bad.checkpoint, bad.program, kOptions),
                test::is_bad("model.gguf: tensor '" + std::string(name) + "': the scale of block"));
  }
}

}  // namespace
}  // namespace weft
