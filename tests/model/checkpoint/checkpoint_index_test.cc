#include "weft/model/checkpoint/checkpoint_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weft/core/io/file.h"
#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

using test::FailsWith;
using test::is_bad;
using testing::ElementsAre;
using testing::SizeIs;

Result<CheckpointIndex> parse_index(const std::string& weight_map) {
  return parse_checkpoint_index(R"({"metadata":{"total_size":8},"weight_map":)" + weight_map + "}",
                                "index");
}

TEST(CheckpointIndexTest, GroupsTensorsByShard) {
  const auto index =
      parse_index(R"({"c":"2.safetensors","b":"1.safetensors","a":"2.safetensors"})");
  ASSERT_TRUE(index) << to_string(index.error());
  ASSERT_THAT(index->shards, SizeIs(2));
  EXPECT_EQ(index->shards[0].file, "1.safetensors");
  EXPECT_THAT(index->shards[0].tensors, ElementsAre("b"));
  EXPECT_EQ(index->shards[1].file, "2.safetensors");
  EXPECT_THAT(index->shards[1].tensors, ElementsAre("a", "c"));
}

TEST(CheckpointIndexTest, RefusesShardsOutsideItsFolder) {
  for (const char* name :
       {"../../etc/passwd", "/etc/passwd", "a/b", "..", ".", "", "a\\\\b", "a\\u0000b"}) {
    EXPECT_THAT(parse_index(std::string(R"({"t":")") + name + "\"}"), is_bad("no plain file name"))
        << name;
  }
}

TEST(CheckpointIndexTest, RefusesATensorThatStandsTwice) {
  EXPECT_THAT(parse_index(R"({"a":"1","b":"1","a":"2"})"),
              is_bad("index: tensor 'a' stands there twice"));
}

TEST(CheckpointIndexTest, RefusesWhatIsNoIndex) {
  EXPECT_THAT(parse_checkpoint_index("", "index"), is_bad("index: is empty"));
  EXPECT_THAT(parse_checkpoint_index("{", "index"), is_bad("index: "));
  EXPECT_THAT(parse_checkpoint_index("[]", "index"), is_bad("no object weight_map"));
  EXPECT_THAT(parse_checkpoint_index("{}", "index"), is_bad("no object weight_map"));
  EXPECT_THAT(parse_index("[]"), is_bad("no object weight_map"));
  EXPECT_THAT(parse_index("{}"), is_bad("weight_map is empty"));
  EXPECT_THAT(parse_index(R"({"a":1})"), is_bad("the file of tensor 'a' is no text"));
  EXPECT_THAT(parse_index(std::string(100'000, '[') + std::string(100'000, ']')),
              is_bad("index: "));
}

TEST(CheckpointIndexTest, SaysWhichFileIsMissing) {
  const test::TempFolder folder;
  EXPECT_THAT(read_checkpoint_index(folder.path() / "none.json"),
              FailsWith(FileErrc::kCannotRead, "none.json"));
}

}  // namespace
}  // namespace weft
