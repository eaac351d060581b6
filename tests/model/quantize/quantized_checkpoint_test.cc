#include "weft/model/quantize/quantized_checkpoint.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "weft/model/model_error.h"
#include "weft/model/open_model.h"
#include "weft/model/quantize/row_encoder.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

using test::FailsWith;

std::string demo_model() { return test::source_path("examples/demo_model/model"); }

DType type_of(const OpenedModel& model, const char* tensor) {
  return model.checkpoint->find(tensor)->dtype;
}

TEST(QuantizedCheckpointTest, HasTheTypesThatTheMixGivesAndTheProgramComputesWithThem) {
  const OpenedModel model = open_model(demo_model(), {}, "Q4_K_M").value();
  EXPECT_EQ(type_of(model, "model.layers.0.self_attn.q_proj.weight"), DType::kQ4_K);
  EXPECT_EQ(type_of(model, "model.layers.0.self_attn.v_proj.weight"), DType::kQ6_K);
  EXPECT_EQ(type_of(model, "model.norm.weight"), DType::kBF16);
  const auto encoded = [](const MatrixPlan& matrix) { return matrix.dtype == DType::kQ4_K; };
  EXPECT_TRUE(std::ranges::any_of(model.program->matrices, encoded));
  EXPECT_EQ(model.checkpoint->stored_bytes(),
            open_model(demo_model()).value().checkpoint->stored_bytes());
}

TEST(QuantizedCheckpointTest, ReadsAnyPieceAsAWholeTensorHasIt) {
  const OpenedModel before = open_model(demo_model()).value();
  const OpenedModel after = open_model(demo_model(), {}, "q8_0").value();
  const char* const name = "model.layers.0.mlp.down_proj.weight";
  const CheckpointTensor& tensor = *after.checkpoint->find(name);
  std::vector<std::byte> whole(tensor.size);
  RowEncoder encoder(nullptr);
  ASSERT_TRUE(
      encoder.encode({before.checkpoint->find(name), DType::kQ8_0}, {0, tensor.shape[0]}, whole));
  const auto row = static_cast<std::size_t>(row_bytes(tensor, DType::kQ8_0));
  // Within a row, from one row into the next but one, whole rows, and the last byte.
  struct Piece {
    std::size_t first, count;
  };
  for (const Piece piece : {Piece{34, 68}, Piece{row - 1, row + 2}, Piece{row, 3 * row},
                            Piece{whole.size() - 1, 1}, Piece{0, whole.size()}}) {
    std::vector<std::byte> read(piece.count);
    ASSERT_TRUE(tensor.read(piece.first, read));
    const auto want = std::span(whole).subspan(piece.first, piece.count);
    EXPECT_TRUE(std::ranges::equal(read, want)) << piece.first << ", " << piece.count;
  }
}

TEST(QuantizedCheckpointTest, LeavesFloatsThatHaveTheirTypeAlready) {
  const OpenedModel model = open_model(demo_model(), {}, "bf16").value();
  EXPECT_EQ(type_of(model, "model.layers.0.self_attn.q_proj.weight"), DType::kBF16);
}

TEST(QuantizedCheckpointTest, RefusesWhatCannotBeMade) {
  EXPECT_THAT(open_model(demo_model(), {}, "q9"), FailsWith(ModelErrc::kCannotQuantize, "q9"));
  EXPECT_THAT(open_model(demo_model(), {}, "iq2_xxs"),
              FailsWith(ModelErrc::kCannotQuantize, "without which it is noise"));
  EXPECT_THAT(open_model(test::source_path("tests/model/data/goldens/gpt2"), {}, "q8_0"),
              FailsWith(ModelErrc::kCannotQuantize, "q8_0: no tensor"));
}

}  // namespace
}  // namespace weft
