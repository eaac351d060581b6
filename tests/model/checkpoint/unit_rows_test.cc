#include "weft/model/checkpoint/unit_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/checkpoint_builder.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::CheckpointBuilder;
using test::FailsWith;
using testing::ElementsAre;
using testing::FloatEq;

std::vector<float> numbers_of(const CheckpointTensor& tensor, std::int64_t from,
                              std::size_t count) {
  std::vector<float> numbers(count);
  read_values(tensor, from, 1, numbers).value();
  return numbers;
}

TEST(UnitRowsTest, DividesEachRowByItsLength) {
  const Checkpoint whole = CheckpointBuilder("{}").tensor("head", {2, 2}, 3).make();
  const Checkpoint made = with_unit_rows(whole, "head").value();
  const CheckpointTensor& head = *made.find("head");
  EXPECT_EQ(head.dtype, DType::kF32);
  EXPECT_THAT(numbers_of(head, 0, 4),
              ElementsAre(FloatEq(0.6F), FloatEq(0.8F), FloatEq(5 / std::sqrt(61.0F)),
                          FloatEq(6 / std::sqrt(61.0F))));
  EXPECT_THAT(numbers_of(head, 1, 2), ElementsAre(FloatEq(0.8F), FloatEq(5 / std::sqrt(61.0F))));
}

TEST(UnitRowsTest, LeavesARowOfZerosAsItIs) {
  const Checkpoint whole = CheckpointBuilder("{}").zeros("head", DType::kF16, {2, 3}, 6).make();
  const Checkpoint made = with_unit_rows(whole, "head").value();
  EXPECT_EQ(made.find("head")->dtype, DType::kF16);
  EXPECT_THAT(numbers_of(*made.find("head"), 0, 6), testing::Each(0.0F));
}

TEST(UnitRowsTest, LeavesOtherTensorsAsTheyAre) {
  const Checkpoint whole =
      CheckpointBuilder("{}").tensor("head", {1, 2}, 3).tensor("other", {1, 2}, 3).make();
  const Checkpoint made = with_unit_rows(whole, "head").value();
  EXPECT_THAT(numbers_of(*made.find("other"), 0, 2), ElementsAre(3, 4));
}

TEST(UnitRowsTest, RefuseARowWhoseLengthIsNotFinite) {
  const float huge = std::numeric_limits<float>::infinity();
  const Checkpoint whole = CheckpointBuilder("{}").tensor("head", {1, 2}, huge).make();
  const Checkpoint made = with_unit_rows(whole, "head").value();
  std::vector<float> numbers(2);
  EXPECT_THAT(read_values(*made.find("head"), 0, 1, numbers),
              FailsWith(ModelErrc::kBadTensor, "head row 0 has no finite length"));
}

TEST(UnitRowsTest, RefuseWhatHasNoRowsOfNumbers) {
  const Checkpoint encoded =
      CheckpointBuilder("{}").zeros("head", DType::kQ8_0, {1, 32}, 32).make();
  EXPECT_THAT(with_unit_rows(encoded, "head"),
              FailsWith(ModelErrc::kBadTensor, "model.safetensors: head is no matrix of 16 or 32"));
  const Checkpoint vector = CheckpointBuilder("{}").tensor("head", {4}).make();
  EXPECT_THAT(with_unit_rows(vector, "head"),
              FailsWith(ModelErrc::kBadTensor, "head is no matrix"));
  EXPECT_THAT(with_unit_rows(vector, "body"), FailsWith(ModelErrc::kBadTensor, "no tensor body"));
}

}  // namespace
}  // namespace weft
