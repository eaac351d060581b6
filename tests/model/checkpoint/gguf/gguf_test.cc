#include "weft/model/checkpoint/gguf/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/byte_writer.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/files/gguf_writer.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

using test::ByteWriter;
using test::GgufWriter;
using test::is_bad;
using test::is_unsupported;
using test::TempFolder;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Result<CheckpointFile> read_gguf_bytes(const std::vector<std::byte>& bytes) {
  return read_gguf(test::source_of(bytes, "m.gguf"));
}

Result<CheckpointFile> read_one(const GgufWriter::Tensor& tensor, std::size_t data_bytes) {
  return read_gguf_bytes(GgufWriter().tensor(tensor).bytes(data_bytes));
}

TEST(GgufTest, ReadsTensorsOutermostDimensionFirst) {
  const auto bytes = GgufWriter().tensor({"b", {2, 3}, 32}).tensor({"a", {}, 0}).bytes(56);
  const auto file = read_gguf_bytes(bytes);
  ASSERT_TRUE(file) << to_string(file.error());
  ASSERT_THAT(file->tensors, SizeIs(2));
  EXPECT_EQ(file->tensors[0].name, "b");
  EXPECT_EQ(file->tensors[0].dtype, DType::kF32);
  EXPECT_THAT(file->tensors[0].shape, ElementsAre(3, 2));
  EXPECT_EQ(file->tensors[0].offset, bytes.size() - 24);
  EXPECT_EQ(file->tensors[0].size, 24u);
  EXPECT_THAT(file->tensors[1].shape, IsEmpty());
  EXPECT_EQ(file->tensors[1].size, 4u);
  EXPECT_EQ(file->vocabulary, nullptr);
}

TEST(GgufTest, ReadsAHeaderOfAnyLengthAndSaysWhenItIsCut) {
  std::vector<std::string> words;
  for (int i = 0; i < 30'000; ++i) words.push_back("word" + std::to_string(i));
  const auto bytes = GgufWriter()
                         .text("some.text", std::string(100'000, 'x'))
                         .texts("some.words", words)
                         .tensor({"a", {2, 3}, 0})
                         .bytes(24);
  const auto whole = test::source_of(bytes, "m.gguf");
  const auto file = read_gguf(whole);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->config.at("some.text").as_string().size(), 100'000u);
  EXPECT_EQ(file->tensors.at(0).offset, bytes.size() - 24);
  for (const std::size_t end : {std::size_t{0}, std::size_t{3}, std::size_t{90'000}}) {
    EXPECT_THAT(read_gguf(std::make_shared<test::CutSource>(whole, end)),
                test::FailsWith(FileErrc::kCut, "m.gguf"));
  }
}

TEST(GgufTest, ReadsPlainTypes) {
  struct Row {
    std::uint32_t type;
    DType dtype;
    std::size_t bytes;  // of 32 numbers
  };
  for (const Row& row :
       {Row{0, DType::kF32, 128}, Row{1, DType::kF16, 64}, Row{24, DType::kI8, 32},
        Row{25, DType::kI16, 64}, Row{26, DType::kI32, 128}, Row{27, DType::kI64, 256},
        Row{28, DType::kF64, 256}, Row{30, DType::kBF16, 64}}) {
    const auto file = read_one({"t", {32}, 0, row.type}, row.bytes);
    ASSERT_TRUE(file) << to_string(file.error());
    EXPECT_EQ(file->tensors[0].dtype, row.dtype);
    EXPECT_EQ(file->tensors[0].size, row.bytes);
    EXPECT_THAT(read_one({"t", {32}, 0, row.type}, row.bytes - 1), is_bad("tensor 't'"));
  }
}

TEST(GgufTest, ReadsEveryEncodingOfWeights) {
  for (const auto& [type, dtype] :
       {std::pair(2U, DType::kQ4_0), {3U, DType::kQ4_1},     {6U, DType::kQ5_0},
        {7U, DType::kQ5_1},          {8U, DType::kQ8_0},     {10U, DType::kQ2_K},
        {11U, DType::kQ3_K},         {12U, DType::kQ4_K},    {13U, DType::kQ5_K},
        {14U, DType::kQ6_K},         {16U, DType::kIQ2_XXS}, {17U, DType::kIQ2_XS},
        {18U, DType::kIQ3_XXS},      {19U, DType::kIQ1_S},   {20U, DType::kIQ4_NL},
        {21U, DType::kIQ3_S},        {22U, DType::kIQ2_S},   {23U, DType::kIQ4_XS},
        {29U, DType::kIQ1_M},        {34U, DType::kTQ1_0},   {35U, DType::kTQ2_0},
        {39U, DType::kMXFP4}}) {
    const DTypeBlock block = block_of(dtype);
    const auto row = static_cast<std::uint64_t>(2 * block.elements);
    const auto bytes = static_cast<std::size_t>(6 * block.bytes);
    const auto file = read_one({"t", {row, 3}, 0, type}, bytes);
    ASSERT_TRUE(file) << to_string(file.error());
    EXPECT_EQ(file->tensors[0].dtype, dtype);
    EXPECT_EQ(file->tensors[0].size, bytes);
    EXPECT_THAT(read_one({"t", {row, 3}, 0, type}, bytes - 1), is_bad("tensor 't'"));
    EXPECT_THAT(
        read_one({"t", {row - 1, 3}, 0, type}, bytes),
        is_bad("tensor 't': its rows of " + std::to_string(row - 1) + " are not whole blocks of " +
               std::to_string(block.elements) + " (" + std::string(to_string(dtype)) + ")"));
    EXPECT_THAT(read_one({"t", {}, 0, type}, bytes), is_bad("its rows of 1 are not whole blocks"));
    EXPECT_THAT(read_one({"t", {1ULL << 40U, 1ULL << 40U}, 0, type}, bytes),
                is_bad("tensor 't': its shape overflows"));
  }
}

TEST(GgufTest, ReadsSeveralEncodingsInOneFile) {
  const auto file = read_gguf_bytes(GgufWriter()
                                        .tensor({"a", {256, 2}, 0, 12})
                                        .tensor({"b", {256}, 288, 14})
                                        .tensor({"c", {32}, 512, 39})
                                        .tensor({"d", {4}, 544, 0})
                                        .bytes(560));
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->tensors[0].dtype, DType::kQ4_K);
  EXPECT_EQ(file->tensors[0].size, 288U);
  EXPECT_EQ(file->tensors[1].dtype, DType::kQ6_K);
  EXPECT_EQ(file->tensors[1].size, 210U);
  EXPECT_EQ(file->tensors[2].dtype, DType::kMXFP4);
  EXPECT_EQ(file->tensors[3].dtype, DType::kF32);
}

TEST(GgufTest, NamesTheTypeThatIsNotSupported) {
  EXPECT_THAT(read_one({"blk.0.ffn", {256}, 0, 15}, 292),
              is_unsupported("m.gguf: tensor 'blk.0.ffn' has type Q8_K"));
  EXPECT_THAT(read_one({"t", {32}, 0, 9}, 40), is_unsupported("Q8_1"));
  EXPECT_THAT(read_one({"t", {64}, 0, 40}, 36), is_unsupported("NVFP4"));
  EXPECT_THAT(read_one({"t", {32}, 0, 4}, 128), is_bad("unknown type 4"));
  EXPECT_THAT(read_one({"t", {32}, 0, 0xffffffff}, 128), is_bad("unknown type 4294967295"));
}

TEST(GgufTest, ReadsMetadataOfEveryType) {
  const auto file = read_gguf_bytes(GgufWriter()
                                        .number<std::uint8_t>("u8", 0, 255)
                                        .number<std::int8_t>("i8", 1, -1)
                                        .number<std::uint16_t>("u16", 2, 65535)
                                        .number<std::int16_t>("i16", 3, -2)
                                        .number<std::uint32_t>("u32", 4, 4294967295)
                                        .number<std::int32_t>("i32", 5, -3)
                                        .number<float>("f32", 6, 0.5F)
                                        .number<std::uint8_t>("bool", 7, 1)
                                        .text("text", "h\xc3\xa9")
                                        .number<std::uint64_t>("u64", 10, UINT64_MAX)
                                        .number<std::int64_t>("i64", 11, INT64_MIN)
                                        .number<double>("f64", 12, 0.25)
                                        .numbers<std::uint32_t>("array", 4, {4, 8})
                                        .texts("texts", {"a", ""})
                                        .bytes());
  ASSERT_TRUE(file) << to_string(file.error());
  const auto& config = file->config;
  EXPECT_EQ(config.at("u8"), 255);
  EXPECT_EQ(config.at("i8"), -1);
  EXPECT_EQ(config.at("u16"), 65535);
  EXPECT_EQ(config.at("i16"), -2);
  EXPECT_EQ(config.at("u32"), 4294967295);
  EXPECT_EQ(config.at("i32"), -3);
  EXPECT_EQ(config.at("f32"), 0.5);
  EXPECT_EQ(config.at("bool"), true);
  EXPECT_EQ(config.at("text"), "h\xc3\xa9");
  EXPECT_EQ(config.at("u64"), UINT64_MAX);
  EXPECT_EQ(config.at("i64"), INT64_MIN);
  EXPECT_EQ(config.at("f64"), 0.25);
  EXPECT_EQ(config.at("array"), (boost::json::array{4, 8}));
  EXPECT_EQ(config.at("texts"), (boost::json::array{"a", ""}));
}

TEST(GgufTest, KeepsShortArraysOnly) {
  const auto file =
      read_gguf_bytes(GgufWriter()
                          .numbers("short", GgufWriter::kU32, std::vector<std::uint32_t>(1024))
                          .numbers("long", GgufWriter::kU32, std::vector<std::uint32_t>(1025))
                          .texts("tokenizer.own", {"a"})
                          .bytes());
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_THAT(file->config.at("short").as_array(), SizeIs(1024));
  EXPECT_FALSE(file->config.contains("long"));
  EXPECT_FALSE(file->config.contains("tokenizer.own"));
}

TEST(GgufTest, ReadsNestedArraysToABoundedDepth) {
  const auto nested = [](int depth) {
    ByteWriter value;
    for (int i = 1; i < depth; ++i) value.put(GgufWriter::kArray).put<std::uint64_t>(1);
    value.put(GgufWriter::kU8).put<std::uint64_t>(1).put<std::uint8_t>(7);
    return read_gguf_bytes(GgufWriter().raw("k", GgufWriter::kArray, value).bytes());
  };
  const auto four = nested(4);
  ASSERT_TRUE(four) << to_string(four.error());
  EXPECT_EQ(four->config.at("k").at(0).at(0).at(0).at(0), 7);
  EXPECT_THAT(nested(5), is_bad("key 'k': arrays are nested too deeply"));
  EXPECT_THAT(nested(100'000), is_bad("nested too deeply"));
}

TEST(GgufTest, RefusesVersionsAndByteOrdersItDoesNotKnow) {
  EXPECT_TRUE(read_gguf_bytes(GgufWriter().version(2).bytes()));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().version(1).bytes()), is_unsupported("GGUF version 1"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().version(4).bytes()), is_unsupported("GGUF version 4"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().version(0).bytes()), is_unsupported("GGUF version 0"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().version(0x03000000).bytes()),
              is_unsupported("big-endian"));
  EXPECT_THAT(read_gguf_bytes(ByteWriter().text("GGUX").zeros(20).bytes()),
              is_bad("does not begin"));
}

TEST(GgufTest, ReadsNothingPastACutFile) {
  const auto whole = GgufWriter()
                         .text("general.architecture", "llama")
                         .texts("tokenizer.x", {"a", "b"})
                         .numbers<std::int32_t>("n", GgufWriter::kI32, {1, 2, 3})
                         .tensor({"t", {4}, 0})
                         .bytes(16);
  ASSERT_TRUE(read_gguf_bytes(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(read_gguf_bytes(cut), is_bad("m.gguf")) << size;
  }
}

TEST(GgufTest, RefusesCountsAndLengthsThatTheFileDoesNotHave) {
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1} << 63U, UINT64_MAX}) {
    EXPECT_THAT(read_gguf_bytes(GgufWriter().claim_pairs(count).bytes()),
                is_bad("metadata at offset 24"));
    EXPECT_THAT(read_gguf_bytes(GgufWriter().claim_tensors(count).bytes()), is_bad("m.gguf"));
    EXPECT_THAT(read_gguf_bytes(
                    GgufWriter().raw("k", GgufWriter::kString, ByteWriter().put(count)).bytes()),
                is_bad("text"));
    for (const std::uint32_t type :
         {GgufWriter::kU8, GgufWriter::kU32, GgufWriter::kString, GgufWriter::kArray}) {
      for (const char* key : {"k", "tokenizer.k"}) {
        EXPECT_THAT(
            read_gguf_bytes(GgufWriter()
                                .raw(key, GgufWriter::kArray, ByteWriter().put(type).put(count))
                                .bytes()),
            is_bad(key));
      }
    }
  }
  EXPECT_THAT(
      read_gguf_bytes(ByteWriter(GgufWriter().claim_pairs(65'537).header()).zeros(1 << 20).bytes()),
      is_bad("65537 keys, more than 65536"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().claim_tensors((1U << 20U) + 1).bytes()),
              is_bad("1048577 tensors"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().text("k", std::string((16U << 20U) + 1, 'a')).bytes()),
              is_bad("key 'k': a text of 16777217 bytes"));
  EXPECT_THAT(read_one({std::string(1025, 'n'), {1}, 0}, 4), is_bad("name of 1025 bytes"));
}

TEST(GgufTest, RefusesValuesThatAreNotWhatTheirTypeSays) {
  EXPECT_THAT(read_gguf_bytes(GgufWriter().number<std::uint8_t>("k", 13, 0).bytes()),
              is_bad("type 13"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().number<std::uint8_t>("k", 7, 2).bytes()),
              is_bad("a bool is 2"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().text("k", "\xff").bytes()),
              is_bad("key 'k': its text is not"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().text("\xff", "").bytes()), is_bad("is no text"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().text("", "").bytes()), is_bad("is no text"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().text("k", "").text("l", "").text("k", "").bytes()),
              is_bad("key 'k' stands there twice"));
}

TEST(GgufTest, HoldsTensorsToTheAlignment) {
  const auto with = [](std::uint32_t alignment, std::uint64_t offset) {
    return read_gguf_bytes(GgufWriter()
                               .number("general.alignment", GgufWriter::kU32, alignment)
                               .tensor({"t", {1}, offset})
                               .bytes(offset + 4, alignment));
  };
  EXPECT_TRUE(with(1, 3));
  EXPECT_TRUE(with(64, 64));
  EXPECT_TRUE(with(65'536, 0));
  EXPECT_THAT(with(64, 32), is_bad("tensor 't': offset 32 is no multiple of 64"));
  EXPECT_THAT(read_one({"t", {1}, 16}, 20), is_bad("no multiple of 32"));
  for (const std::uint32_t alignment : {0U, 3U, 48U, 131'072U, 0xffffffffU}) {
    EXPECT_THAT(read_gguf_bytes(
                    GgufWriter().number("general.alignment", GgufWriter::kU32, alignment).bytes()),
                is_bad("no power of two"));
  }
  EXPECT_THAT(
      read_gguf_bytes(GgufWriter().number<std::int32_t>("general.alignment", 5, 32).bytes()),
      is_bad("key 'general.alignment': is no u32"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().text("general.alignment", "32").bytes()),
              is_bad("is no u32"));
}

TEST(GgufTest, RefusesShapesThatCannotBe) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 42U;
  EXPECT_TRUE(read_one({"t", {1, 1, 1, 1}, 0}, 4));
  EXPECT_THAT(read_one({"t", {1, 1, 1, 1, 1}, 0}, 4), is_bad("has 5 dimensions"));
  EXPECT_THAT(read_one({"t", {4, 0}, 0}, 4), is_bad("has a dimension of 0"));
  EXPECT_THAT(read_one({"t", {UINT64_MAX}, 0}, 4),
              is_bad("has a dimension of 18446744073709551615"));
  EXPECT_THAT(read_one({"t", {kHuge + 1, kHuge}, 0}, 4), is_bad("its shape overflows"));
  EXPECT_THAT(read_one({"t", {kHuge, kHuge, kHuge, kHuge}, 0}, 4), is_bad("its shape overflows"));
  EXPECT_THAT(read_one({"t", {kHuge}, 0}, 4), is_bad("bytes at data offset 0 of 4"));
  EXPECT_THAT(read_one({"t", {33}, 0, 8}, 68), is_bad("not whole blocks of 32 (q8_0)"));
  EXPECT_THAT(read_one({"t", {2, 32}, 0, 8}, 68), is_bad("not whole blocks of 32 (q8_0)"));
  EXPECT_THAT(read_one({"t", {}, 0, 8}, 68), is_bad("not whole blocks of 32 (q8_0)"));
}

TEST(GgufTest, RefusesTensorsOutsideTheFileOrEachOther) {
  EXPECT_THAT(read_one({"t", {9}, 0}, 32), is_bad("36 bytes at data offset 0 of 32"));
  EXPECT_THAT(read_one({"t", {1}, 32}, 32), is_bad("4 bytes at data offset 32 of 32"));
  EXPECT_THAT(read_one({"t", {1}, UINT64_MAX - 31}, 32),
              is_bad("data offset 18446744073709551584"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().tensor({"a", {9}, 0}).tensor({"b", {1}, 32}).bytes(64)),
              is_bad("tensor 'b': overlaps 'a'"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().tensor({"a", {1}, 0}).tensor({"b", {1}, 0}).bytes(64)),
              is_bad("overlaps"));
  EXPECT_THAT(read_gguf_bytes(GgufWriter().tensor({"a", {1}, 0}).bytes()),
              is_bad("section begins"));
}

TEST(GgufTest, SurvivesEveryByteBeingWrong) {
  const auto good = GgufWriter()
                        .text("tokenizer.ggml.model", "llama")
                        .texts("tokenizer.ggml.tokens", {"a", "b"})
                        .numbers<float>("tokenizer.ggml.scores", GgufWriter::kF32, {0, 1})
                        .tensor({"t", {4, 2}, 0})
                        .bytes(32);
  ASSERT_TRUE(read_gguf_bytes(good));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
      auto bad = good;
      bad[at] = static_cast<std::byte>(value);
      const auto file = read_gguf_bytes(bad);
      if (!file) continue;
      for (const CheckpointTensor& tensor : file->tensors) EXPECT_LE(tensor.size, 32u);
    }
  }
}

// --- Models in several files.

std::vector<std::byte> shard(std::uint16_t number, std::uint16_t count, const std::string& tensor,
                             std::int32_t total) {
  return GgufWriter()
      .number("split.no", 2, number)
      .number("split.count", 2, count)
      .number("split.tensors.count", GgufWriter::kI32, total)
      .text("general.name", tensor)
      .tensor({tensor, {1}, 0})
      .bytes(4);
}

class GgufShardsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("m-00001-of-00002.gguf", shard(0, 2, "a", 2));
    folder_.write("m-00002-of-00002.gguf", shard(1, 2, "b", 2));
  }
  [[nodiscard]] Result<Checkpoint> open(const std::string& name) const {
    return open_checkpoint(folder_.path() / name);
  }
  TempFolder folder_;
};

TEST_F(GgufShardsTest, AreReadAsOneModelWhicheverIsNamed) {
  for (const char* name : {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf", ""}) {
    const auto model = open(name);
    ASSERT_TRUE(model) << to_string(model.error());
    EXPECT_THAT(model->tensors(), SizeIs(2));
    EXPECT_EQ(model->config().at("general.name"), "a") << "the first shard's metadata";
  }
}

TEST_F(GgufShardsTest, AreRefusedWhenOneIsMissing) {
  std::filesystem::remove(folder_.path() / "m-00002-of-00002.gguf");
  EXPECT_TRUE(open("m-00001-of-00002.gguf").has_error());
}

TEST_F(GgufShardsTest, AreRefusedWhenNamesAndMetadataDisagree) {
  folder_.write("m-00002-of-00002.gguf", shard(0, 2, "b", 2));
  EXPECT_THAT(open("m-00001-of-00002.gguf"), is_bad("split.no 0"));
  folder_.write("m-00002-of-00002.gguf", shard(1, 3, "b", 2));
  EXPECT_THAT(open("m-00001-of-00002.gguf"), is_bad("split.count 3"));
  folder_.write("m-00002-of-00002.gguf", GgufWriter().tensor({"b", {1}, 0}).bytes(4));
  EXPECT_THAT(open("m-00001-of-00002.gguf"), is_bad("is no shard of"));
  folder_.write("other.gguf", shard(0, 2, "a", 2));
  EXPECT_THAT(open("other.gguf"), is_bad("its name does not end"));
}

TEST_F(GgufShardsTest, AreRefusedWhenTensorsAreMissingOrTwice) {
  folder_.write("m-00001-of-00002.gguf", shard(0, 2, "a", 3));
  EXPECT_THAT(open("m-00001-of-00002.gguf"), is_bad("2 tensors, not split.tensors.count"));
  folder_.write("m-00001-of-00002.gguf", shard(0, 2, "b", 2));
  EXPECT_THAT(open("m-00001-of-00002.gguf"), is_bad("tensor 'b' is in"));
}

TEST_F(GgufShardsTest, AreOneFileOfAFolderThatMayHoldNoOther) {
  folder_.write("n.gguf", GgufWriter().bytes());
  EXPECT_THAT(open(""), is_bad("several .gguf files"));
}

TEST(GgufShardNameTest, IsToldFromOtherNames) {
  EXPECT_TRUE(is_later_gguf_shard("a/m-00002-of-00003.gguf"));
  EXPECT_FALSE(is_later_gguf_shard("m-00001-of-00003.gguf"));
  EXPECT_FALSE(is_later_gguf_shard("m-00002-of-00003.bin"));
  EXPECT_FALSE(is_later_gguf_shard("m-2-of-3.gguf"));
  EXPECT_FALSE(is_later_gguf_shard("-00002-of-00003.gguf"));
  EXPECT_FALSE(is_later_gguf_shard("m-0000x-of-00003.gguf"));
}

}  // namespace
}  // namespace weft
