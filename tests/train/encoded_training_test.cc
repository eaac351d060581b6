// Training over an encoded base is training over the same base, decoded to float32.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/io/byte_source.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/train/gradients.h"
#include "weft/tests/train/training_case.h"

namespace weft {
namespace {

using test::gradients_of;
using test::TrainingCase;
using test::worst_difference;

/// A tensor's numbers, with its inputs in their natural order.
std::vector<float> numbers_of(const CheckpointTensor& tensor) {
  std::vector<std::byte> blocks(tensor.size);
  tensor.read_blocks(0, blocks).value();
  const DTypeBlock block = block_of(tensor.dtype);
  const auto count = static_cast<std::int64_t>(tensor.size) / block.bytes;
  std::vector<float> numbers(static_cast<std::size_t>(count * block.elements));
  decode_blocks({tensor.dtype, blocks.data(), count}, numbers.data());
  if (tensor.input_order == nullptr) return numbers;
  const std::vector<std::int32_t>& order = *tensor.input_order;
  std::vector<float> ordered(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t row = i / order.size() * order.size();
    ordered[row + static_cast<std::size_t>(order[i - row])] = numbers[i];
  }
  return ordered;
}

/// The same model with its encoded tensors as float32.
OpenedModel decoded(const OpenedModel& model) {
  std::vector<CheckpointTensor> tensors(model.checkpoint->tensors().begin(),
                                        model.checkpoint->tensors().end());
  for (CheckpointTensor& tensor : tensors) {
    if (!is_encoded(tensor.dtype)) continue;
    const std::vector<float> numbers = numbers_of(tensor);
    const auto bytes = std::as_bytes(std::span(numbers));
    tensor.dtype = DType::kF32;
    tensor.size = bytes.size();
    tensor.offset = 0;
    tensor.input_order = nullptr;
    tensor.source = std::make_shared<MemorySource>(
        "decoded", std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  OpenedModel plain = model;
  plain.checkpoint =
      std::make_shared<Checkpoint>(model.checkpoint->with_tensors(std::move(tensors)).value());
  plain.program =
      std::make_shared<Program>(compile(*model.architecture, *plain.checkpoint).value());
  return plain;
}

bool has_encoded_matrix(const TrainedModel& model) {
  const std::size_t count = model.program().matrices.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (is_encoded(model.weights().matrix(static_cast<MatrixId>(i)).dtype())) return true;
  }
  return false;
}

void expect_same(TrainedModel& encoded, TrainedModel& plain, const MicroBatch& batch) {
  ASSERT_TRUE(has_encoded_matrix(encoded));
  ASSERT_FALSE(has_encoded_matrix(plain));
  const double wanted = GradientStep(plain).loss(batch);
  EXPECT_NEAR(GradientStep(encoded).loss(batch), wanted, 1e-5 * wanted);
  EXPECT_LE(worst_difference(gradients_of(encoded, {batch}), gradients_of(plain, {batch})), 1e-4);
}

TEST(EncodedTrainingTest, WeightsThatAreEncodedWhenLoadedGiveTheGradientsOfTheDecodedBase) {
  const TrainingCase demo("demo");
  for (const char* type : {"q4_0", "q8_0", "q4_k"}) {
    SCOPED_TRACE(type);
    TrainedModel encoded = demo.load(1, type);
    TrainedModel plain = demo.load(decoded(demo.open(type)));
    expect_same(encoded, plain, demo.batch_of(0));
  }
}

class QuantizedBaseTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, QuantizedBaseTest,
                         testing::Values("fp8-blocks", "fp8-channel", "fp8-tensor", "nf4", "gptq4",
                                         "gptq4-order", "awq", "int8-channel", "packed4"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TrainedModel load(const OpenedModel& opened) {
  TrainingProgram training =
      make_training_program(*opened.architecture, *opened.checkpoint).value();
  LowRankPairs pairs = test::random_pairs(training, *opened.architecture);
  return TrainedModel::load(opened, std::move(training), std::move(pairs),
                            {.threads = 1, .tokens = 17})
      .value();
}

TEST_P(QuantizedBaseTest, GivesTheLossAndGradientsOfItsDecodedBase) {
  const OpenedModel opened =
      open_model(test::source_path("tests/model/data/quantized/" + std::string(GetParam())))
          .value();
  TrainedModel encoded = load(opened);
  TrainedModel plain = load(decoded(opened));
  expect_same(encoded, plain, test::random_batch(encoded.program().vocabulary));
}

}  // namespace
}  // namespace weft
