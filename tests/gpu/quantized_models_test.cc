// Checkpoints of Hugging Face's quantizers: every weight stands for the numbers that the
// quantizer's own code makes of it, and every kind of device computes with it what the reference
// does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "weft/gpu/sequence_runner.h"
#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/program/program.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/gpu/device_kinds.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Rows = test::ReferenceNumbers::Rows;

// How far float32 may differ in another order of summation, as a part of the row's norm.
constexpr double kExactTolerance = 1e-4;
// How far results may differ where weights are rounded to bf16, and where each row of inputs is
// rounded to int8: to 1/254 of the largest of 32 numbers, in seven products one after the other.
constexpr double kBf16Tolerance = 3e-2;
constexpr double kInt8Tolerance = 1e-1;
constexpr std::int64_t kContext = 64;

std::vector<fs::path> folders() {
  std::vector<fs::path> found;
  for (const auto& entry :
       fs::directory_iterator(test::source_path("tests/model/data/quantized"))) {
    found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

/// FNV-1a over the numbers' bits, -0 as 0: the codes of MXFP4 have both.
std::uint64_t hash_of(const std::vector<float>& numbers) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const float number : numbers) {
    const auto bits = std::bit_cast<std::uint32_t>(number + 0.0F);
    for (unsigned shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ (bits >> shift & 0xffU)) * 0x100000001b3;
    }
  }
  return hash;
}

/// A weight's numbers, each row in the order of the inputs.
std::vector<float> numbers_of(const CheckpointTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= extent;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  read_values(tensor, 0, 1, numbers).value();
  if (tensor.input_order == nullptr) return numbers;
  std::vector<float> ordered(numbers.size());
  const std::size_t inputs = tensor.input_order->size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto input = static_cast<std::size_t>((*tensor.input_order)[i % inputs]);
    ordered[i / inputs * inputs + input] = numbers[i];
  }
  return ordered;
}

double relative_error(const std::vector<float>& got, const std::vector<float>& wanted) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    difference += std::pow(static_cast<double>(got[i]) - static_cast<double>(wanted[i]), 2);
    norm += std::pow(static_cast<double>(wanted[i]), 2);
  }
  return std::sqrt(difference / norm);
}

class QuantizedModelTest : public testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    auto golden = test::GoldenModel::open(GetParam());
    ASSERT_TRUE(golden) << to_string(golden.error());
    model_ = std::move(golden->model);
    expected_ = golden->expected;
  }

  void expect_reference(const test::DeviceKind& kind, double tolerance) const {
    const auto device = kind.load(model_.checkpoint, model_.program,
                                  SequenceRunner::options_for(*model_.program, kContext));
    for (int prompt = 0; expected_->has_prompt(prompt); ++prompt) {
      SequenceRunner runner(*device);
      Rows got;
      const auto keep = [&](ConstRows results) {
        for (std::int64_t i = 0; i < results.count; ++i) {
          got.emplace_back(results.row(i), results.row(i) + results.width);
        }
      };
      const auto ids = expected_->ids("prompt_", prompt);
      runner.feed(ids, keep, false, std::ssize(ids)).value();
      const Rows wanted = expected_->rows("logits_", prompt);
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t row = 0; row < wanted.size(); ++row) {
        EXPECT_LE(relative_error(got[row], wanted[row]), tolerance)
            << "prompt " << prompt << ", row " << row;
      }
    }
  }

  OpenedModel model_;
  std::shared_ptr<const test::ReferenceNumbers> expected_;
};

INSTANTIATE_TEST_SUITE_P(EveryScheme, QuantizedModelTest, testing::ValuesIn(folders()),
                         [](const auto& folder) { return test::test_name(folder.param); });

TEST_P(QuantizedModelTest, HoldsEveryWeightToTheBit) {
  int weights = 0;
  for (const CheckpointTensor& tensor : model_.checkpoint->tensors()) {
    const CheckpointTensor* hash = expected_->find("hash." + tensor.name);
    EXPECT_EQ(hash != nullptr, is_encoded(tensor.dtype)) << tensor.name;
    if (hash == nullptr) continue;
    std::uint64_t wanted = 0;
    hash->read(0, std::as_writable_bytes(std::span(&wanted, 1))).value();
    EXPECT_EQ(hash_of(numbers_of(tensor)), wanted)
        << tensor.name << " as " << to_string(tensor.dtype);
    ++weights;
  }
  EXPECT_GT(weights, 1);
}

TEST_P(QuantizedModelTest, KeepsItsEncodingInTheProgram) {
  std::int64_t encoded = 0;
  for (const MatrixPlan& matrix : model_.program->matrices) {
    if (is_encoded(matrix.dtype) || !matrix.runs.empty()) ++encoded;
  }
  // A llama's layer has four: queries with keys and values, output, gate with up (unless the orders
  // of their inputs differ), down. gpt-oss has its experts.
  const bool differ = GetParam().filename() == "packed4-order";
  EXPECT_GE(encoded, differ ? 3 : 4);
  EXPECT_TRUE(model_.program->unused_tensors.empty()) << model_.program->unused_tensors.front();
}

TEST_P(QuantizedModelTest, ComputesWhatTheReferenceComputes) {
  const ForcedCpuTarget exact(available_cpu_targets().front());
  if (multiplies_codes(DType::kQ4_0)) GTEST_SKIP() << "here every target rounds rows to int8";
  expect_reference(test::host_kind(2), kExactTolerance);
}

TEST_P(QuantizedModelTest, ComputesNearlyThatWhereCodesAreMultiplied) {
  expect_reference(test::host_kind(2), kInt8Tolerance);
}

TEST_P(QuantizedModelTest, ComputesNearlyThatOnAGpu) {
  expect_reference(test::fake_gpu_kind(), kBf16Tolerance);
}

TEST_P(QuantizedModelTest, ComputesWhatTheReferenceComputesOnTheGpu) {
  const test::DeviceKind gpu = test::gpu_kind();
  WEFT_SKIP_WITHOUT_GPU(gpu);
  expect_reference(gpu, kBf16Tolerance);
}

}  // namespace
}  // namespace weft
