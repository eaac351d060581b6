// Steps in which rows have different adapters, or none. On the host a row's bits depend on its
// sequence and its adapter alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/gpu/adapter_pairs.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/step_options.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/encoded_llama.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/gpu/golden_runs.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int32_t kRank = 9;
constexpr std::int32_t kPlaces = 2;
constexpr std::int32_t kPagesOfOne = 4;
constexpr std::int32_t kPageTokens = 16;
constexpr std::int32_t kSequences = 4;

LlamaShape shape_of(DType weights, LlamaShape::Family family = LlamaShape::Family::kLlama) {
  LlamaShape shape;
  shape.weights = weights;
  shape.family = family;
  if (block_of(weights).elements > 32) shape.hidden = shape.ffn = 256;
  return shape;
}

std::vector<float> numbers_of(const CheckpointTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= extent;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  read_values(tensor, 0, 1, numbers).value();
  return numbers;
}

/// The size of a matrix's products with rows of length 1.
float size_of(const CheckpointTensor& tensor) {
  const std::vector<float> numbers = numbers_of(tensor);
  const float squares = std::inner_product(numbers.begin(), numbers.end(), numbers.begin(), 0.0F);
  return std::sqrt(squares / static_cast<float>(tensor.shape[0]));
}

/// An adapter of pairs of rank `rank` for each matrix of the layers but the keys. It changes
/// products by about as much as they are.
Adapter random_adapter(const Checkpoint& base, std::int64_t rank, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Adapter adapter;
  adapter.hash[0] = static_cast<std::byte>(seed);
  for (const CheckpointTensor& tensor : base.tensors()) {
    const bool layers = tensor.name.find("layers.") != std::string::npos;
    const bool keys = tensor.name.find("k_proj") != std::string::npos;
    if (tensor.shape.size() != 2 || !layers || keys) continue;
    AdapterTarget& target = adapter.targets.emplace_back();
    target.tensor = tensor.name;
    target.outputs = tensor.shape[0];
    target.inputs = tensor.shape[1];
    target.rank = rank;
    target.scale = 0.25F;
    target.a.resize(static_cast<std::size_t>(rank * target.inputs));
    target.b.resize(static_cast<std::size_t>(rank * target.outputs));
    const float size = 1 / std::sqrt(static_cast<float>(target.inputs));
    for (float& number : target.a) number = size * normal(random);
    const float base_size = size_of(tensor);
    for (float& number : target.b) number = base_size * normal(random);
  }
  return adapter;
}

/// Which adapter each sequence has: place 0 or 1, or -1 for none.
constexpr std::int32_t kAdapters[kSequences] = {0, 1, -1, 0};
constexpr std::int32_t kLengths[kSequences] = {37, 5, 9, 1};

/// A device with an adapter of rank kRank in one place, and of rank 3 in the other.
class Steps {
 public:
  Steps(const test::CompiledModel& model, int threads) : model_(model) {
    DeviceOptions options;
    options.threads = threads;
    options.always_all_threads = true;
    options.max_tokens = options.max_outputs = 64;
    options.page_tokens = kPageTokens;
    options.pages = kSequences * kPagesOfOne;
    options.adapter_places = kPlaces;
    options.adapter_rank = kRank;
    device_ = HostDevice::load(model.checkpoint, model.program, options).value();
    for (std::int32_t place = 0; place < kPlaces; ++place) {
      const Adapter adapter = random_adapter(*model.checkpoint, place == 0 ? kRank : 3,
                                             static_cast<std::uint32_t>(place) + 1);
      device_->place_adapter(place, device_->prepare_adapter(adapter).value());
      ids_.push_back(adapter_id(adapter));
    }
    pages_.resize(static_cast<std::size_t>(options.pages));
    std::iota(pages_.begin(), pages_.end(), 0);
  }

  /// Feeds all of some sequences in one step; returns the logits after each token of each.
  std::vector<std::vector<float>> run(const std::vector<std::int32_t>& sequences,
                                      bool without_adapters = false) {
    std::vector<TokenId> tokens;
    std::vector<StepSequence> step;
    for (const std::int32_t s : sequences) {
      StepSequence& one = step.emplace_back();
      one.first = static_cast<std::int32_t>(tokens.size());
      one.count = kLengths[s];
      one.pages = std::span(pages_).subspan(static_cast<std::size_t>(s) * kPagesOfOne, kPagesOfOne);
      if (kAdapters[s] >= 0 && !without_adapters)
        one.traits.kv.adapter = ids_[static_cast<std::size_t>(kAdapters[s])];
      for (std::int32_t i = 0; i < one.count; ++i) tokens.push_back((s * 31 + i * 7 + 3) % 80);
    }
    std::vector<std::int32_t> outputs(tokens.size());
    std::iota(outputs.begin(), outputs.end(), 0);
    device_->decode({tokens, step, outputs});
    const ConstRows rows = device_->results();
    std::vector<std::vector<float>> logits;
    for (const StepSequence& one : step) {
      auto& own = logits.emplace_back();
      for (std::int32_t i = 0; i < one.count; ++i) {
        const float* row = rows.row(one.first + i);
        own.insert(own.end(), row, row + rows.width);
      }
    }
    return logits;
  }

 private:
  test::CompiledModel model_;
  std::unique_ptr<HostDevice> device_;
  std::vector<AdapterId> ids_;
  std::vector<std::int32_t> pages_;
};

test::CompiledModel model_of(const LlamaShape& shape) {
  const RandomLlama llama(shape, 11);
  return {llama.checkpoint(), llama.program()};
}

class AdapterStepsTest : public testing::TestWithParam<DType> {};

TEST_P(AdapterStepsTest, RowsOfAMixedStepHaveTheBitsThatTheyHaveAlone) {
  const test::CompiledModel model = model_of(shape_of(GetParam()));
  Steps alone(model, 1);
  Steps mixed(model, 3);
  const auto together = mixed.run({3, 0, 2, 1});
  EXPECT_EQ(together[0], alone.run({3})[0]);
  EXPECT_EQ(together[1], alone.run({0})[0]);
  EXPECT_EQ(together[2], alone.run({2})[0]);
  EXPECT_EQ(together[3], alone.run({1})[0]);
}

TEST_P(AdapterStepsTest, ARowWithoutAnAdapterHasTheBitsOfTheBaseBesideOthers) {
  const test::CompiledModel model = model_of(shape_of(GetParam()));
  Steps steps(model, 2);
  const auto base = steps.run({0, 2}, true);
  const auto adapted = steps.run({0, 2});
  EXPECT_EQ(adapted[1], base[1]);
  // Random q4_k embeddings are much larger than what layers add to them.
  EXPECT_GT(test::relative_error(adapted[0], base[0]), GetParam() == DType::kQ4_K ? 1e-3 : 0.3);
}

/// The model with an adapter's pairs added to its weights, in f32.
test::CompiledModel merged(const Checkpoint& base, const Adapter& adapter) {
  std::vector<CheckpointTensor> tensors;
  for (const CheckpointTensor& tensor : base.tensors()) {
    std::vector<float> numbers = numbers_of(tensor);
    for (const AdapterTarget& target : adapter.targets) {
      if (target.tensor != tensor.name) continue;
      for (std::int64_t at = 0; at < std::ssize(numbers); ++at) {
        float sum = 0;
        for (std::int64_t r = 0; r < target.rank; ++r) {
          sum += target.b[static_cast<std::size_t>(at / target.inputs * target.rank + r)] *
                 target.a[static_cast<std::size_t>(r * target.inputs + at % target.inputs)];
        }
        numbers[static_cast<std::size_t>(at)] += target.scale * sum;
      }
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
    const std::vector<std::byte> all(bytes, bytes + numbers.size() * sizeof(float));
    tensors.push_back(
        {tensor.name, DType::kF32, tensor.shape, test::source_of(all, "merged"), 0, all.size()});
  }
  return test::compile_tensors(base, std::move(tensors));
}

TEST_P(AdapterStepsTest, AddsTheSameToWeightsOfEachEncodingAsAMerge) {
  const test::CompiledModel model = model_of(shape_of(GetParam()));
  const Adapter adapter = random_adapter(*model.checkpoint, kRank, 1);
  Steps unmerged(model, 1);
  Steps merge(merged(*model.checkpoint, adapter), 1);
  const auto got = unmerged.run({0})[0];
  const double error = test::relative_error(got, merge.run({0}, true)[0]);
  const double effect = test::relative_error(got, unmerged.run({0}, true)[0]);
  // Where codes are multiplied, rows are rounded to int8.
  EXPECT_LE(error, (GetParam() == DType::kF32 ? 1e-3 : 0.3) * effect) << "effect " << effect;
}

INSTANTIATE_TEST_SUITE_P(, AdapterStepsTest,
                         testing::Values(DType::kF32, DType::kBF16, DType::kQ8_0, DType::kQ4_K,
                                         DType::kNF4_64),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST(AdapterPlacesTest, APlanPutsAnAdapterIntoAPlaceAndItsResultNamesThePlace) {
  const RandomLlama llama(shape_of(DType::kF32), 11);
  DeviceLimits limits;
  limits.rows = 2;
  limits.pages = 8;
  limits.page_tokens = kPageTokens;
  limits.step_tokens = 32;
  limits.context = 64;
  limits.vocabulary = llama.program()->vocabulary;
  limits.adapter_places = kPlaces;
  limits.adapter_rank = kRank;
  auto host = HostDevice::load(llama.checkpoint(), llama.program(),
                               step_options(*llama.program(), limits, DType::kF32, 1))
                  .value();
  HostStepDevice device(std::move(host), limits, {});
  const Adapter adapter = random_adapter(*llama.checkpoint(), kRank, 1);
  auto prepared = std::make_shared<PreparedAdapter>();
  prepared->id = adapter_id(adapter);
  prepared->by_rank = {device.prepare_adapter(adapter).value()};

  test::PlanBuilder build;
  build.plan().adapters.push_back({1, prepared});
  EXPECT_THAT(build.run(device).adapters, ElementsAre(1));
  build.start(0, test::greedy(), 3).start(1, test::greedy(), 3);
  build.plan().starts[0].traits.kv.adapter = prepared->id;
  build.table(0, 0, {0}).table(1, 0, {1});
  build.feed(0, 0, {3, 17, 42}).sample().feed(1, 0, {3, 17, 42}).sample();
  const StepResult result = build.run(device);
  EXPECT_THAT(result.adapters, IsEmpty());
  ASSERT_EQ(result.samples.size(), 2U);
  EXPECT_NE(result.samples[0].logprob, result.samples[1].logprob);
}

}  // namespace
}  // namespace weft
