// Ops that a GPU computes together: which they are, how many launches a layer has, and that numbers
// are those of the host.

#include "weft/gpu/cuda/op_groups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weft/gpu/cuda/cuda_device.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/gpu/step_options.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/value_program.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"

namespace weft::test {
namespace {

/// norm, product, norm, product: x0 -> h -> x1 -> g -> out.
struct NormedProducts {
  ValueProgram program;
  BufferId normed;

  NormedProducts() {
    const BufferId first = program.embed("x");
    const BufferId stream = program.linear(program.norm(first, "h"), "x", first);
    normed = program.norm(stream, "g");
    program.program.decode.result = program.linear(normed, "out");
    for (Op& op : program.program.decode.ops) {
      if (auto* norm = std::get_if<NormOp>(&op)) norm->spec.kind = NormKind::kRms;
    }
  }

  [[nodiscard]] bool are_group() const {
    return cuda::products_around_norm(program.program,
                                      std::span<const Op>(program.program.decode.ops).subspan(2))
        .has_value();
  }
  template <class One>
  One& op(std::size_t at) {
    return std::get<One>(program.program.decode.ops[at]);
  }
};

TEST(OpGroupsTest, ProductsAroundAnRmsNormAreAGroup) { EXPECT_TRUE(NormedProducts().are_group()); }

TEST(OpGroupsTest, ANormOfAnotherKindOrWithMoreToAddIsNone) {
  NormedProducts layer;
  layer.op<NormOp>(3).spec.kind = NormKind::kLayer;
  EXPECT_FALSE(layer.are_group());
  NormedProducts biased;
  biased.op<NormOp>(3).bias = 0;
  EXPECT_FALSE(biased.are_group());
  NormedProducts scaled;
  scaled.op<NormOp>(3).scale = 2;
  EXPECT_FALSE(scaled.are_group());
  NormedProducts with_residual;
  with_residual.op<NormOp>(3).residual = 0;
  EXPECT_FALSE(with_residual.are_group());
}

TEST(OpGroupsTest, ANormThatAnotherOpReadsTooIsNone) {
  NormedProducts layer;
  layer.program.linear(layer.normed, "again");
  EXPECT_FALSE(layer.are_group());
}

TEST(OpGroupsTest, ANormWhoseMemoryIsWrittenBeforeItIsReadAgainIsOne) {
  NormedProducts layer;
  LinearOp other;
  other.in = layer.program.program.decode.result;
  other.out = layer.normed;
  layer.program.program.decode.ops.emplace_back(other);
  layer.program.linear(layer.normed, "another's");
  EXPECT_TRUE(layer.are_group());
}

TEST(OpGroupsTest, ANormThatIsAResultIsNone) {
  NormedProducts layer;
  layer.program.program.hidden_states = layer.normed;
  EXPECT_FALSE(layer.are_group());
}

constexpr DeviceLimits kLimits{.rows = 3,
                               .pages = 16,
                               .page_tokens = 4,
                               .step_tokens = 16,
                               .context = 32,
                               .vocabulary = LlamaShape{}.vocabulary};

/// A llama whose heads have tiles, and whose rows can be added up by warps.
LlamaShape grouped_shape(std::int64_t layers, DType weights = DType::kBF16) {
  return {.layers = layers,
          .hidden = 128,
          .ffn = 192,
          .heads = 4,
          .kv_heads = 2,
          .weights = weights,
          .head_size = 64};
}

std::shared_ptr<FakeGpu> gpu_with(cuda::LinearWay way) {
  auto gpu = std::make_shared<FakeGpu>();
  gpu->can = [way](cuda::LinearWay asked, std::int64_t /*tokens*/) {
    return asked == way || asked == cuda::LinearWay::kVector;
  };
  return gpu;
}

std::unique_ptr<cuda::CudaDevice> load(const std::shared_ptr<FakeGpu>& gpu,
                                       const RandomLlama& llama, const DeviceOptions& options) {
  return cuda::CudaDevice::load(std::make_unique<FakeRuntime>(gpu), llama.checkpoint(),
                                llama.program(), options, {})
      .value();
}

/// Launches of a layer with so many rows that decode.
std::int64_t launches_of_layer(cuda::LinearWay way, std::int64_t rows) {
  const auto launches_of = [&](std::int64_t layers) {
    const RandomLlama llama(grouped_shape(layers), 3);
    const auto gpu = gpu_with(way);
    const auto device = load(gpu, llama, step_options(*llama.program(), kLimits, DType::kBF16, 1));
    device->writer().begin();
    device->writer().upload(device->stream(), rows, rows, false);
    const std::int64_t before = gpu->launches;
    device->launch(device->program().decode, {rows, rows, true, false});
    return gpu->launches - before;
  };
  return launches_of(3) - launches_of(2);
}

TEST(LaunchesTest, ALayerThatDecodesIsFive) {
  for (const std::int64_t rows : {1, 3}) {
    EXPECT_EQ(launches_of_layer(cuda::LinearWay::kFlat, rows), 5) << rows << " rows";
  }
}

TEST(LaunchesTest, ALayerIsSevenWhereItsProductsComputeNoNorms) {
  EXPECT_EQ(launches_of_layer(cuda::LinearWay::kVector, 1), 7);
}

/// An adapter with pairs of rank 16 for all matrices of the layers, great enough to change logits.
Adapter adapter_for(const Checkpoint& base) {
  constexpr std::int64_t kRank = 16;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  Adapter adapter;
  adapter.hash[0] = std::byte{1};
  for (const CheckpointTensor& tensor : base.tensors()) {
    if (tensor.shape.size() != 2 || tensor.name.find("layers.") == std::string::npos) continue;
    AdapterTarget& target = adapter.targets.emplace_back();
    target.tensor = tensor.name;
    target.outputs = tensor.shape[0];
    target.inputs = tensor.shape[1];
    target.rank = kRank;
    target.a.resize(static_cast<std::size_t>(kRank * target.inputs));
    target.b.resize(static_cast<std::size_t>(kRank * target.outputs));
    for (float& number : target.a) number = normal(random) / 4;
    for (float& number : target.b) number = normal(random) * 128;
  }
  return adapter;
}

/// The logits after each of some tokens, fed one by one.
std::vector<float> logits_of(ModelDevice& device, const Adapter* adapter = nullptr) {
  SequenceRunner runner(device);
  if (adapter != nullptr) runner.use(*adapter).value();
  std::vector<float> all;
  for (const TokenId token : {5, 17, 3, 71, 9, 9, 40}) {
    const std::vector<TokenId> one{token};
    const auto fed = runner.feed(
        one, [&](ConstRows rows) { all.insert(all.end(), rows.data, rows.data + rows.width); },
        true);
    EXPECT_TRUE(fed);
  }
  return all;
}

double distance(const std::vector<float>& got, const std::vector<float>& want) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += std::pow(static_cast<double>(got[i]) - static_cast<double>(want[i]), 2);
    norm += std::pow(static_cast<double>(want[i]), 2);
  }
  return std::sqrt(error / norm);
}

/// Fake GPUs, and the machine's own where there is one.
std::vector<std::unique_ptr<cuda::Runtime>> runtimes() {
  std::vector<std::unique_ptr<cuda::Runtime>> all;
  for (const auto way : {cuda::LinearWay::kVector, cuda::LinearWay::kFlat}) {
    all.push_back(std::make_unique<FakeRuntime>(gpu_with(way)));
  }
  if (auto real = cuda::open_runtime(0)) all.push_back(std::move(*real));
  return all;
}

TEST(OpGroupsTest, LogitsAreThoseOfTheHost) {
  for (const DType weights : {DType::kBF16, DType::kQ4_K, DType::kI4_64}) {
    LlamaShape shape = grouped_shape(3, weights);
    shape.hidden = 256;
    shape.ffn = 512;
    const RandomLlama llama(shape, 3);
    DeviceOptions options = SequenceRunner::options_for(*llama.program(), 32);
    options.kv_dtype = DType::kBF16;
    options.threads = 1;
    const auto host = HostDevice::load(llama.checkpoint(), llama.program(), options).value();
    const std::vector<float> want = logits_of(*host);
    int number = 0;
    for (auto& runtime : runtimes()) {
      const auto device = cuda::CudaDevice::load(std::move(runtime), llama.checkpoint(),
                                                 llama.program(), options, {})
                              .value();
      const std::vector<float> got = logits_of(*device);
      ASSERT_EQ(got.size(), want.size());
      EXPECT_LT(distance(got, want), 2e-2) << to_string(weights) << ", runtime " << number;
      ++number;
    }
  }
}

DeviceOptions adapted_options(const RandomLlama& llama) {
  DeviceOptions options = SequenceRunner::options_for(*llama.program(), 32);
  options.kv_dtype = DType::kBF16;
  options.threads = 1;
  options.adapter_places = 1;
  options.adapter_rank = 16;
  return options;
}

LlamaShape adapted_shape(std::int64_t layers, DType weights = DType::kBF16) {
  LlamaShape shape = grouped_shape(layers, weights);
  shape.hidden = 256;
  shape.ffn = 512;
  return shape;
}

TEST(OpGroupsTest, LogitsWithAnAdapterAreThoseOfTheHost) {
  for (const DType weights : {DType::kBF16, DType::kI4_128}) {
    const RandomLlama llama(adapted_shape(3, weights), 3);
    const DeviceOptions options = adapted_options(llama);
    const Adapter adapter = adapter_for(*llama.checkpoint());
    const auto host = HostDevice::load(llama.checkpoint(), llama.program(), options).value();
    const std::vector<float> want = logits_of(*host, &adapter);
    EXPECT_GT(distance(logits_of(*host), want), 0.1) << "the adapter does not matter";
    int number = 0;
    for (auto& runtime : runtimes()) {
      const auto device = cuda::CudaDevice::load(std::move(runtime), llama.checkpoint(),
                                                 llama.program(), options, {})
                              .value();
      EXPECT_LT(distance(logits_of(*device, &adapter), want), 2e-2)
          << to_string(weights) << ", runtime " << number;
      ++number;
    }
  }
}

/// Launches of a layer for the tokens of logits_of().
std::int64_t launches_for_logits(cuda::LinearWay way, bool with_adapter) {
  const auto launches_of = [&](std::int64_t layers) {
    const RandomLlama llama(adapted_shape(layers), 3);
    const Adapter adapter = adapter_for(*llama.checkpoint());
    const auto gpu = gpu_with(way);
    const auto device = load(gpu, llama, adapted_options(llama));
    const std::int64_t before = gpu->launches;
    logits_of(*device, with_adapter ? &adapter : nullptr);
    return gpu->launches - before;
  };
  return launches_of(3) - launches_of(2);
}

TEST(LaunchesTest, ALayerWithAdaptersHasNoMoreWhereItsProductsComputeThem) {
  EXPECT_EQ(launches_for_logits(cuda::LinearWay::kFlat, true),
            launches_for_logits(cuda::LinearWay::kFlat, false));
  EXPECT_GT(launches_for_logits(cuda::LinearWay::kVector, true),
            launches_for_logits(cuda::LinearWay::kVector, false));
}

}  // namespace
}  // namespace weft::test
