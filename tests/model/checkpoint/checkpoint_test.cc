#include "weft/model/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/byte_writer.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {
namespace {

using test::FailsWith;
using test::is_bad;
using test::TempFolder;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

/// One U8 tensor of one byte.
std::vector<std::byte> one_tensor(const std::string& name) {
  const std::string header = "{\"" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  return test::ByteWriter()
      .put<std::uint64_t>(header.size())
      .text(header)
      .put<std::uint8_t>(7)
      .bytes();
}

std::vector<std::string> names_of(const Checkpoint& checkpoint) {
  std::vector<std::string> names;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) names.push_back(tensor.name);
  return names;
}

class ModelFolder : public testing::Test {
 protected:
  void SetUp() override { folder_.write("config.json", R"({"model_type":"llama"})"); }

  void write_shards(std::string_view weight_map) {
    folder_.write("1.safetensors", one_tensor("a"));
    folder_.write("2.safetensors", one_tensor("b"));
    folder_.write("model.safetensors.index.json",
                  R"({"weight_map":)" + std::string(weight_map) + "}");
  }

  [[nodiscard]] Result<Checkpoint> open() const { return open_checkpoint(folder_.path()); }

  TempFolder folder_;
};

TEST(CheckpointTest, SortsTensorsAndFindsThemByName) {
  std::vector<CheckpointTensor> tensors(3);
  tensors[0].name = "b";
  tensors[1].name = "";
  tensors[2].name = "a";
  const auto made =
      Checkpoint::make(CheckpointFormat::kGguf, "m", boost::json::object(), tensors, nullptr);
  ASSERT_TRUE(made);
  EXPECT_THAT(names_of(*made), ElementsAre("", "a", "b"));
  EXPECT_EQ(made->find("a"), &made->tensors()[1]);
  EXPECT_EQ(made->find("aa"), nullptr);
  EXPECT_EQ(made->find("c"), nullptr);
  EXPECT_EQ(made->vocabulary(), nullptr);
  EXPECT_EQ(to_string(made->format()), "gguf");
}

TEST(CheckpointTest, RefusesATensorThatIsInTwoFilesAndNamesBoth) {
  std::vector<CheckpointTensor> tensors(2);
  tensors[0] = {.name = "a", .shape = {}, .source = test::source_of({}, "first")};
  tensors[1] = {.name = "a", .shape = {}, .source = test::source_of({}, "second")};
  EXPECT_THAT(
      Checkpoint::make(CheckpointFormat::kPickle, "m", boost::json::object(), tensors, nullptr),
      is_bad("first: tensor 'a' is in second too"));
}

TEST(CheckpointTest, WarnsOfAGgufFileWhoseTokensHaveNoTypes) {
  const auto warnings = [](CheckpointFormat format, const Vocabulary& vocabulary) {
    return warnings_of(Checkpoint::make(format, "m.gguf", boost::json::object(), {},
                                        std::make_shared<const Vocabulary>(vocabulary))
                           .value());
  };
  Vocabulary vocabulary;
  vocabulary.tokens = {"<s>", "a"};
  EXPECT_THAT(warnings(CheckpointFormat::kGguf, vocabulary),
              ElementsAre(StartsWith("m.gguf: tokenizer.ggml.token_type is missing")));
  EXPECT_THAT(warnings(CheckpointFormat::kLlama2C, vocabulary), IsEmpty());
  vocabulary.types = {Vocabulary::TokenType::kControl, Vocabulary::TokenType::kNormal};
  EXPECT_THAT(warnings(CheckpointFormat::kGguf, vocabulary), IsEmpty());
  const auto none = Checkpoint::make(CheckpointFormat::kGguf, "m", boost::json::object(), {}, {});
  EXPECT_THAT(warnings_of(*none), IsEmpty());
}

TEST(CheckpointTest, RefusesAConfigurationThatIsNoObject) {
  EXPECT_THAT(Checkpoint::make(CheckpointFormat::kPickle, "m", nullptr, {}, nullptr),
              FailsWith(ModelErrc::kBadConfig, "m"));
}

TEST_F(ModelFolder, SaysWhereItsConfigIsNoJson) {
  folder_.write("model.safetensors", one_tensor("a"));
  folder_.write("config.json", R"({"rope_theta": NaN})");
  EXPECT_THAT(open(), FailsWith(ModelErrc::kBadConfig, "config.json: syntax error at byte 15"));
  folder_.write("config.json", R"({"layers": [1, 2)");
  EXPECT_THAT(open(), FailsWith(ModelErrc::kBadConfig, "config.json: incomplete JSON at byte 16"));
}

TEST_F(ModelFolder, IsReadWithItsConfiguration) {
  folder_.write("model.safetensors", one_tensor("a"));
  const auto model = open();
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_EQ(model->format(), CheckpointFormat::kSafetensors);
  EXPECT_EQ(model->path(), folder_.path());
  EXPECT_EQ(boost::json::serialize(model->config()), R"({"model_type":"llama"})");
  ASSERT_THAT(names_of(*model), ElementsAre("a"));
  EXPECT_THAT(test::bytes_of(*model->find("a")), ElementsAre(std::byte{7}));
}

TEST_F(ModelFolder, OutlivesTheMoveOfItsCheckpoint) {
  folder_.write("model.safetensors", one_tensor("a"));
  auto model = open();
  ASSERT_TRUE(model);
  const Checkpoint moved = std::move(*model);
  EXPECT_THAT(test::bytes_of(*moved.find("a")), ElementsAre(std::byte{7}));
}

TEST_F(ModelFolder, MayBeSplitIntoShards) {
  write_shards(R"({"a":"1.safetensors","b":"2.safetensors"})");
  const auto model = open();
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_THAT(names_of(*model), ElementsAre("a", "b"));
}

TEST_F(ModelFolder, IsRefusedWhenAShardIsMissing) {
  write_shards(R"({"a":"1.safetensors","b":"3.safetensors"})");
  EXPECT_THAT(open(), FailsWith(FileErrc::kCannotRead, "3.safetensors"));
}

TEST_F(ModelFolder, IsRefusedWhenATensorIsNotInItsShard) {
  write_shards(R"({"a":"2.safetensors","b":"2.safetensors"})");
  EXPECT_THAT(open(), is_bad("tensor 'a' is not in 2.safetensors"));
}

/// A shard of tensors of one byte each.
std::vector<std::byte> shard_of(
    std::initializer_list<std::pair<std::string_view, std::uint8_t>> tensors) {
  std::string header;
  std::string bytes;
  for (const auto& [name, byte] : tensors) {
    header += header.empty() ? "{" : ",";
    header += "\"" + std::string(name) + R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" +
              std::to_string(bytes.size()) + "," + std::to_string(bytes.size() + 1) + "]}";
    bytes += static_cast<char>(byte);
  }
  header += "}";
  return test::ByteWriter().put<std::uint64_t>(header.size()).text(header).text(bytes).bytes();
}

TEST_F(ModelFolder, TakesATensorInTwoShardsFromTheOneThatTheIndexNames) {
  for (const auto& [home, byte] : {std::pair("1", 11), {"2", 22}}) {
    write_shards(R"({"a":")" + std::string(home) + R"(.safetensors",)" +
                 R"("b":"2.safetensors","c":"1.safetensors"})");
    folder_.write("1.safetensors", shard_of({{"a", 11}, {"c", 3}}));
    folder_.write("2.safetensors", shard_of({{"a", 22}, {"b", 2}}));
    const auto model = open();
    ASSERT_TRUE(model) << to_string(model.error());
    EXPECT_THAT(names_of(*model), ElementsAre("a", "b", "c"));
    EXPECT_THAT(test::bytes_of(*model->find("a")), ElementsAre(static_cast<std::byte>(byte)));
    EXPECT_EQ(model->stored_bytes(), 3);
  }
}

TEST_F(ModelFolder, IsRefusedWhenATensorThatTheIndexDoesNotNameIsInTwoShards) {
  write_shards(R"({"a":"1.safetensors","b":"2.safetensors"})");
  folder_.write("1.safetensors", shard_of({{"a", 1}, {"z", 1}}));
  folder_.write("2.safetensors", shard_of({{"b", 2}, {"z", 2}}));
  EXPECT_THAT(open(), is_bad("tensor 'z' is in "));
}

TEST_F(ModelFolder, IsRefusedWhenAShardIsAGitLfsPointer) {
  folder_.write("model.safetensors",
                "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
  EXPECT_THAT(open(), is_bad("git-lfs pointer"));
}

TEST(OpenCheckpoint, SaysThatNoPathIsGiven) {
  EXPECT_THAT(open_checkpoint(""), FailsWith(ModelErrc::kBadCheckpoint, "no path is given"));
}

TEST_F(ModelFolder, IsRefusedWithoutWeights) {
  EXPECT_THAT(open(), is_bad("holds no model.safetensors, no pytorch_model.bin"));
}

TEST_F(ModelFolder, IsRefusedWithoutConfiguration) {
  folder_.write("model.safetensors", one_tensor("a"));
  std::filesystem::remove(folder_.path() / "config.json");
  EXPECT_THAT(open(), FailsWith(FileErrc::kCannotRead, "config.json"));
}

TEST_F(ModelFolder, IsRefusedWhenItsConfigurationIsNoReasonableObject) {
  folder_.write("model.safetensors", one_tensor("a"));
  for (const std::string& text : {std::string("{"), std::string("[]"), std::string("5"),
                                  std::string(), std::string(100'000, '['),
                                  R"({"a":)" + std::string(40, '[') + std::string(40, ']') + "}"}) {
    folder_.write("config.json", text);
    EXPECT_THAT(open(), FailsWith(ModelErrc::kBadConfig, "config.json")) << text.substr(0, 60);
  }
  folder_.write("config.json", "{" + std::string(16ULL << 20U, ' ') + "}");
  EXPECT_THAT(open(), FailsWith(FileErrc::kTooLarge, "config.json"));
}

TEST(OpenCheckpointTest, ReadsASafetensorsFileByItself) {
  const TempFolder folder;
  const auto path = folder.write("any.name", one_tensor("a"));
  const auto alone = open_checkpoint(path);
  ASSERT_TRUE(alone) << to_string(alone.error());
  EXPECT_THAT(alone->config().as_object(), IsEmpty());
  folder.write("config.json", R"({"k":1})");
  const auto beside = open_checkpoint(path);
  ASSERT_TRUE(beside) << to_string(beside.error());
  EXPECT_TRUE(beside->config().as_object().contains("k"));
}

TEST(OpenCheckpointTest, RefusesWhatIsNoCheckpoint) {
  const TempFolder folder;
  EXPECT_THAT(open_checkpoint(folder.path() / "none"), FailsWith(FileErrc::kCannotRead, "none"));
  EXPECT_THAT(open_checkpoint("/dev/null"), FailsWith(FileErrc::kNotAFile, "/dev/null"));
  for (const char* text : {"", "{", "hello, world: this is a text"}) {
    EXPECT_THAT(open_checkpoint(folder.write("f", std::string_view(text))),
                FailsWith(ModelErrc::kUnsupportedFormat, "no checkpoint format known here"));
  }
}

}  // namespace
}  // namespace weft
