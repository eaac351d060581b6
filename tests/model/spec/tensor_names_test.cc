#include "weft/model/spec/tensor_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/tests/fixture/files/checkpoint_builder.h"

namespace weft {
namespace {

std::string found(const std::string& stored, const std::string& wanted,
                  const std::vector<std::string>& prefixes) {
  const Checkpoint checkpoint = test::CheckpointBuilder("{}").tensor(stored, {1}).make();
  const CheckpointTensor* tensor = find_tensor(checkpoint, wanted, prefixes);
  return tensor == nullptr ? "" : tensor->name;
}

TEST(TensorNamesTest, FindATensorByItsNameOnly) {
  EXPECT_EQ(found("model.norm", "model.norm", {}), "model.norm");
  EXPECT_EQ(found("norm", "model.norm", {}), "");
  EXPECT_EQ(found("model.norm", "norm", {}), "");
}

TEST(TensorNamesTest, FindATensorWithoutItsPrefix) {
  EXPECT_EQ(found("norm", "model.norm", {"model."}), "norm");
}

TEST(TensorNamesTest, FindATensorBehindAPrefix) {
  EXPECT_EQ(found("model.norm", "norm", {"model."}), "model.norm");
  EXPECT_EQ(found("language_model.model.norm", "model.norm", {"model.", "language_model."}),
            "language_model.model.norm");
}

TEST(TensorNamesTest, FindATensorBehindAnotherPrefix) {
  EXPECT_EQ(found("language_model.norm", "model.norm", {"model.", "language_model."}),
            "language_model.norm");
}

TEST(TensorNamesTest, DoNotFindWhatOnlyEndsAlike) {
  EXPECT_EQ(found("other.model.norm", "model.norm", {"model."}), "");
}

TEST(TensorNamesTest, PreferTheNameAsItIs) {
  const Checkpoint checkpoint =
      test::CheckpointBuilder("{}").tensor("norm", {1}).tensor("model.norm", {1}).make();
  const std::vector<std::string> prefixes = {"model."};
  EXPECT_EQ(find_tensor(checkpoint, "norm", prefixes)->name, "norm");
  EXPECT_EQ(find_tensor(checkpoint, "model.norm", prefixes)->name, "model.norm");
}

}  // namespace
}  // namespace weft
