// Real files of others, where they are at hand: all formats of one model hold the same numbers, and
// what was made to do harm is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/byte_reader.h"
#include "weft/core/file.h"
#include "weft/model/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/model/pickle.h"
#include "weft/model/pickle_checkpoint.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

using test::FailsWith;
using testing::AnyOf;
using testing::SizeIs;

const fs::path& shared() {
  static const fs::path kPath = WEFT_SOURCE_DIR "/../shared";
  return kPath;
}

/// Skips, visibly, where the data is not at hand.
class CheckpointDataTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(shared())) GTEST_SKIP() << "no data at " << shared();
  }

  static Checkpoint open(const std::string& path) {
    auto opened = open_checkpoint(shared() / path);
    if (!opened) ADD_FAILURE() << to_string(opened.error());
    return std::move(opened).value();
  }
};

/// Expects the same names, types, shapes and bytes.
void expect_equal(const Checkpoint& left, const Checkpoint& right) {
  ASSERT_EQ(left.tensors().size(), right.tensors().size());
  for (const CheckpointTensor& tensor : left.tensors()) {
    const CheckpointTensor* other = right.find(tensor.name);
    ASSERT_NE(other, nullptr) << tensor.name;
    EXPECT_EQ(tensor.dtype, other->dtype) << tensor.name;
    EXPECT_EQ(tensor.shape, other->shape) << tensor.name;
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, other->bytes)) << tensor.name;
  }
}

TEST_F(CheckpointDataTest, PickleAndSafetensorsOfOneModelAreEqual) {
  const Checkpoint pickle = open("data/models/small_tensors/test.pth");
  EXPECT_EQ(pickle.format(), CheckpointFormat::kPickle);
  EXPECT_THAT(pickle.tensors(), SizeIs(20));
  expect_equal(pickle, open("data/models/small_tensors/test.safetensors"));
}

TEST_F(CheckpointDataTest, GoldenModelsOpen) {
  struct Row {
    const char* name;
    CheckpointFormat format;
    std::size_t tensors;
  };
  for (const Row& row :
       {Row{"gptj", CheckpointFormat::kPickle, 35}, Row{"bloom", CheckpointFormat::kPickle, 42},
        Row{"mistral", CheckpointFormat::kSafetensors, 30},
        Row{"m2m100", CheckpointFormat::kSafetensors, 131}}) {
    const Checkpoint model = open("golden/" + std::string(row.name));
    EXPECT_EQ(model.format(), row.format) << row.name;
    EXPECT_THAT(model.tensors(), SizeIs(row.tensors)) << row.name;
    EXPECT_TRUE(model.config().as_object().contains("model_type"));
    for (const CheckpointTensor& tensor : model.tensors())
      EXPECT_FALSE(tensor.bytes.empty()) << tensor.name;
  }
}

TEST_F(CheckpointDataTest, ShardsInBf16HaveTheShapesOfTheWhole) {
  const Checkpoint whole = open("data/models/stories260K/derived_hf");
  const Checkpoint shards = open("data/models/stories260K/derived_hf_sharded_bf16");
  ASSERT_EQ(whole.tensors().size(), shards.tensors().size());
  for (const CheckpointTensor& tensor : shards.tensors()) {
    EXPECT_EQ(tensor.dtype, DType::kBF16);
    ASSERT_NE(whole.find(tensor.name), nullptr);
    EXPECT_EQ(whole.find(tensor.name)->shape, tensor.shape);
  }
}

TEST_F(CheckpointDataTest, EveryMaliciousPickleIsRefusedForWhatItAsks) {
  std::size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(shared() / "data/malformed/pickle")) {
    const std::string name = entry.path().filename().string();
    const auto file = MappedFile::open(entry.path());
    ASSERT_TRUE(file) << name;
    // Neither as a file of a model, ...
    EXPECT_TRUE(read_pickle_checkpoint(file->bytes(), name).has_error()) << name;
    EXPECT_TRUE(open_checkpoint(entry.path()).has_error()) << name;
    // ... nor as the pickle inside one.
    const bool is_malicious = name.find("malicious") != std::string::npos ||
                              name.find("sploit") != std::string::npos ||
                              name.find("bypass") != std::string::npos;
    if (!is_malicious || entry.path().extension() == ".zip") continue;
    ++seen;
    PickleReader pickle(name);
    ByteReader reader(file->bytes());
    auto read = pickle.read(reader);
    while (read && reader.remaining() > 0) read = pickle.read(reader);
    EXPECT_THAT(read, FailsWith(ModelErrc::kForbiddenPickle, name));
  }
  EXPECT_GE(seen, 30u);
}

}  // namespace
}  // namespace weft
