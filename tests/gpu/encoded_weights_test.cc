// Models with encoded weights on every kind of device: the same bits as with the numbers that the
// codes stand for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "weft/gpu/cuda/buffer_types.h"
#include "weft/gpu/cuda/cuda_device.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/host/thread_team.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/gpu/model_device.h"
#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/tests/fixture/encoded_llama.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"
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
  // The others round rows to int8 to multiply them by codes. On ARM64 all do.
  const ForcedCpuTarget exact(CpuTarget::kPortable);
  const test::CompiledModel numbers = test::decoded(encoded, DType::kF32);
  const auto run = [&](const test::CompiledModel& model) {
    const auto device = kind.load(model.checkpoint, model.program, kOptions);
    return logits_of(*device, model.program->vocabulary);
  };
  const std::vector<float> got = run(encoded);
  const std::vector<float> want = run(numbers);
  ASSERT_EQ(got.size(), want.size());
  ASSERT_TRUE(std::ranges::all_of(want, [](float logit) { return std::isfinite(logit); }));
  const float largest =
      std::abs(*std::ranges::max_element(want, {}, [](float x) { return std::abs(x); }));
  // A GPU multiplies so many rows by what the blocks become in bf16; ranks are cut between blocks,
  // so not where those of plain numbers are, and add up in another order.
  const float of_ranks = kind.name.ends_with("tp2") ? 1e-5F : 0.0F;
  const bool rounds = kind.gpus > 0 || multiplies_codes(DType::kQ4_0);
  const float tolerance = rounds ? 0.05F : of_ranks;
  if (tolerance == 0) {
    EXPECT_TRUE(test::same_bits(got.data(), want.data(), static_cast<std::int64_t>(got.size())));
  }
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance * largest);
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

TEST(EncodedWeights, AreDecodedOnAGpuForProductsOfManyRows) {
  const auto gpu = std::make_shared<test::FakeGpu>();
  gpu->can = [](cuda::LinearWay way, std::int64_t /*tokens*/) {
    return way != cuda::LinearWay::kFlat;
  };
  const test::CompiledModel encoded = test::encoded_llama();
  const auto run = [&](const test::CompiledModel& model) {
    DeviceOptions options = kOptions;
    options.threads = 1;
    const auto device = cuda::CudaDevice::load(std::make_unique<test::FakeRuntime>(gpu),
                                               model.checkpoint, model.program, options, {})
                            .value();
    return logits_of(*device, model.program->vocabulary);
  };
  const std::vector<float> got = run(encoded);
  EXPECT_GT(gpu->decoded, 0) << "matrices";
  // The library takes inputs and weights of 16 bits on both sides.
  const std::vector<float> want = run(test::decoded(encoded, DType::kBF16));
  ASSERT_EQ(got.size(), want.size());
  const float largest =
      std::abs(*std::ranges::max_element(want, {}, [](float x) { return std::abs(x); }));
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 0.02F * largest);
}

/// The logits of a GPU, and how often each way multiplied by an encoded matrix.
std::vector<float> logits_on_a_gpu(const test::CompiledModel& model, bool codes,
                                   std::map<cuda::LinearWay, int>& ways) {
  const auto gpu = std::make_shared<test::FakeGpu>();
  gpu->multiplies_codes = codes;
  gpu->linear_seconds = [&](const cuda::CudaLinearParams& params) {
    const bool multiplies = params.way == cuda::LinearWay::kCodes;
    EXPECT_EQ(params.in.dtype, multiplies ? DType::kBF16 : DType::kF32);
    ++ways[params.way];
    return 0.0;
  };
  DeviceOptions options = kOptions;
  options.threads = 1;
  const auto device = cuda::CudaDevice::load(std::make_unique<test::FakeRuntime>(gpu),
                                             model.checkpoint, model.program, options, {})
                          .value();
  return logits_of(*device, model.program->vocabulary);
}

/// Expects at least `least` of five matrices' products to be by codes, and logits to stay close.
void expect_products_by_codes(const test::CompiledModel& model, int least) {
  std::map<cuda::LinearWay, int> ways;
  const std::vector<float> want = logits_on_a_gpu(model, false, ways);
  EXPECT_EQ(ways[cuda::LinearWay::kCodes], 0);
  const std::vector<float> got = logits_on_a_gpu(model, true, ways);
  EXPECT_GE(ways[cuda::LinearWay::kCodes], least);
  ASSERT_EQ(got.size(), want.size());
  const float largest =
      std::abs(*std::ranges::max_element(want, {}, [](float x) { return std::abs(x); }));
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 0.02F * largest);
}

TEST(EncodedWeights, AreMultipliedAsCodesOnAGpuThatCan) {
  expect_products_by_codes(test::llama_of(DType::kQ4_K), 5);
  // The head has 80 outputs, which fill no boxes.
  for (const DType dtype : {DType::kI4_64, DType::kI4_128, DType::kI4_256, DType::kQ6_K,
                            DType::kQ8_0, DType::kF8_128, DType::kF8_256}) {
    SCOPED_TRACE(to_string(dtype));
    expect_products_by_codes(test::llama_of(dtype), 4);
  }
}

TEST(EncodedWeights, AreMultipliedAsCodesWhereAMatrixHasSeveralEncodings) {
  const auto type_of = [](const std::string& name) {
    const bool longer =
        name.find("v_proj") != std::string::npos || name.find("down_proj") != std::string::npos;
    return longer ? DType::kQ6_K : DType::kQ4_K;
  };
  expect_products_by_codes(test::llama_of(type_of), 5);
}

/// How often each way multiplies in a prompt of `tokens` on a GPU that multiplies codes.
std::map<cuda::LinearWay, int> ways_of_a_prompt(const test::CompiledModel& model,
                                                std::int32_t tokens, bool rounds_rows) {
  std::map<cuda::LinearWay, int> ways;
  const auto gpu = std::make_shared<test::FakeGpu>();
  gpu->multiplies_codes = true;
  gpu->linear_seconds = [&](const cuda::CudaLinearParams& params) {
    ++ways[params.way];
    return 0.0;
  };
  DeviceOptions options = kOptions;
  options.threads = 1;
  options.max_tokens = tokens;
  options.page_tokens = tokens;
  options.rounds_rows = rounds_rows;
  const auto device = cuda::CudaDevice::load(std::make_unique<test::FakeRuntime>(gpu),
                                             model.checkpoint, model.program, options, {})
                          .value();
  const std::vector<TokenId> ids(static_cast<std::size_t>(tokens), 1);
  const std::int32_t output = tokens - 1;
  const std::int32_t page = 0;
  StepSequence sequence;
  sequence.count = tokens;
  sequence.pages = {&page, 1};
  device->decode({ids, {&sequence, 1}, {&output, 1}});
  return ways;
}

TEST(EncodedWeights, AreMultipliedByRoundedRowsWhereAskedForAndRowsAreMany) {
  constexpr auto kFew = static_cast<std::int32_t>(cuda::kMaxStreamedTokens);
  const test::CompiledModel floats = test::llama_of(DType::kF8_128);
  EXPECT_EQ(ways_of_a_prompt(floats, kFew + 1, false)[cuda::LinearWay::kRounded], 0);
  EXPECT_EQ(ways_of_a_prompt(floats, kFew, true)[cuda::LinearWay::kRounded], 0);
  auto many = ways_of_a_prompt(floats, kFew + 1, true);
  EXPECT_GE(many[cuda::LinearWay::kRounded], 4);  // the head has one row
  EXPECT_EQ(many[cuda::LinearWay::kCodes], 0);
  const test::CompiledModel integers = test::llama_of(DType::kI4_128);
  EXPECT_EQ(ways_of_a_prompt(integers, kFew + 1, true)[cuda::LinearWay::kRounded], 0);
}

TEST(EncodedWeights, OfExpertsStayBlocksOnAGpuThatMultipliesCodes) {
  std::map<cuda::LinearWay, int> ways;
  const test::CompiledModel mixtral = test::encoded_mixtral();
  const std::vector<float> want = logits_on_a_gpu(mixtral, false, ways);
  const std::vector<float> got = logits_on_a_gpu(mixtral, true, ways);
  ASSERT_EQ(got.size(), want.size());
  const float largest =
      std::abs(*std::ranges::max_element(want, {}, [](float x) { return std::abs(x); }));
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 0.02F * largest);
}

TEST(EncodedWeights, HaveKeysAndValuesOf16BitsOnAGpu) {
  const test::CompiledModel model = test::encoded_llama();
  EXPECT_EQ(kv_dtype_for("cuda:0", *model.program), DType::kBF16);
  EXPECT_EQ(kv_dtype_for("cpu", *model.program), DType::kF32);
}

TEST(EncodedWeights, TakeNoMoreOfAGpuThanOfTheFile) {
  const test::CompiledModel model = test::encoded_llama();
  std::int64_t in_file = 0;
  for (const CheckpointTensor& tensor : model.checkpoint->tensors()) {
    in_file += static_cast<std::int64_t>(tensor.size);
  }
  std::int64_t held = 0;
  for (const MatrixPlan& plan : model.program->matrices) {
    for (const WeightRun& run : cuda::encoded_runs(plan)) {
      held += bytes_of(run.dtype, run.outputs * plan.inputs).value();
    }
  }
  EXPECT_GT(held, in_file / 2) << "nearly all is encoded";
  EXPECT_LE(held, in_file);
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
  for (std::size_t id = 0; id < model.program->matrices.size(); ++id) {
    held += weights.matrix(MatrixId(id)).bytes();
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
