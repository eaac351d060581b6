#include "weft/model/open_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/gguf_writer.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

using test::FailsWith;
using test::GgufWriter;
using testing::FloatNear;

TEST(OpenModelTest, SaysThatAnMmprojFileIsNoModel) {
  const test::TempFolder folder;
  const auto named = folder.write(
      "mmproj.gguf",
      GgufWriter().text("general.architecture", "clip").text("general.type", "mmproj").bytes());
  EXPECT_THAT(open_model(named),
              FailsWith(ModelErrc::kUnsupportedFormat,
                        "mmproj.gguf is the part of a model that sees or hears (an mmproj file)"));
  const auto older =
      folder.write("older.gguf", GgufWriter().text("general.architecture", "clip").bytes());
  EXPECT_THAT(open_model(older),
              FailsWith(ModelErrc::kUnsupportedFormat, "older.gguf is the part"));
}

TEST(OpenModelTest, DividesTheRowsOfANormalizedHeadByTheirLengths) {
  const OpenedModel model =
      open_model(test::source_path("tests/model/data/goldens/baichuan-alibi")).value();
  const CheckpointTensor* const head = model.checkpoint->find("lm_head.weight");
  ASSERT_NE(head, nullptr);
  std::vector<float> row(static_cast<std::size_t>(head->shape.at(1)));
  for (std::int64_t number = 0; number < head->shape.at(0); ++number) {
    read_values(*head, number * head->shape[1], 1, row).value();
    double squares = 0;
    for (const float each : row) squares += double{each} * each;
    EXPECT_THAT(static_cast<float>(squares), FloatNear(1, 1e-5F)) << "row " << number;
  }
}

}  // namespace
}  // namespace weft
