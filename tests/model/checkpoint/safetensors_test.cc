#include "weft/model/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/byte_writer.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::ByteWriter;
using test::CutSource;
using test::FailsWith;
using test::is_bad;
using test::source_of;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::byte> file_of(std::string_view header, std::size_t data_bytes) {
  ByteWriter writer;
  writer.put<std::uint64_t>(header.size()).text(header);
  for (std::size_t i = 0; i < data_bytes; ++i) writer.put(static_cast<std::uint8_t>(i));
  return writer.bytes();
}

Result<CheckpointFile> read_header(std::string_view header, std::size_t data_bytes) {
  return read_safetensors(source_of(file_of(header, data_bytes), "m.safetensors"));
}

constexpr std::string_view kTwo = R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)"
                                  R"("__metadata__":{"format":"pt"},)"
                                  R"("a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}})";

TEST(SafetensorsTest, SaysWhereTensorsLieInTheFile) {
  const auto source = source_of(file_of(kTwo, 12), "m.safetensors");
  const auto file = read_safetensors(source);
  ASSERT_TRUE(file) << to_string(file.error());
  ASSERT_EQ(file->tensors.size(), 2u);
  const CheckpointTensor& a = file->tensors[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.dtype, DType::kBF16);
  EXPECT_THAT(a.shape, ElementsAre(1, 2));
  EXPECT_EQ(a.source, source);
  EXPECT_EQ(a.offset, 8 + kTwo.size());
  EXPECT_EQ(a.size, 4u);
  EXPECT_EQ(a.file(), "m.safetensors");
  const CheckpointTensor& b = file->tensors[1];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.dtype, DType::kF32);
  EXPECT_THAT(b.shape, ElementsAre(2));
  EXPECT_EQ(b.offset, a.offset + 4);
  EXPECT_EQ(b.size, 8u);
  EXPECT_THAT(test::bytes_of(b), testing::ElementsAreArray(test::ByteWriter()
                                                               .put(std::uint32_t{0x07060504})
                                                               .put(std::uint32_t{0x0b0a0908})
                                                               .bytes()));
}

TEST(SafetensorsTest, ReadsEveryTypeThatTensorsMayHave) {
  struct Row {
    const char* word;
    DType dtype;
    std::size_t bytes;
  };
  for (const Row& row :
       {Row{"F64", DType::kF64, 8}, Row{"F32", DType::kF32, 4}, Row{"F16", DType::kF16, 2},
        Row{"BF16", DType::kBF16, 2}, Row{"I64", DType::kI64, 8}, Row{"I32", DType::kI32, 4},
        Row{"I16", DType::kI16, 2}, Row{"I8", DType::kI8, 1}, Row{"U8", DType::kU8, 1},
        Row{"F8_E4M3", DType::kF8_E4M3, 1}, Row{"BOOL", DType::kBool, 1}}) {
    const auto file = read_header(std::string(R"({"a":{"dtype":")") + row.word +
                                      R"(","shape":[3],"data_offsets":[0,)" +
                                      std::to_string(3 * row.bytes) + "]}}",
                                  3 * row.bytes);
    ASSERT_TRUE(file) << to_string(file.error());
    EXPECT_EQ(file->tensors.at(0).dtype, row.dtype);
  }
}

TEST(SafetensorsTest, ReadsScalarsEmptyTensorsAndNoTensors) {
  const auto file = read_header(R"({"scalar":{"dtype":"U8","shape":[],"data_offsets":[0,1]},)"
                                R"("none":{"dtype":"F32","shape":[0,4],"data_offsets":[1,1]}})",
                                1);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_THAT(file->tensors.at(0).shape, IsEmpty());
  EXPECT_THAT(file->tensors.at(1).shape, ElementsAre(0, 4));
  EXPECT_TRUE(read_header("{}", 0));
  EXPECT_TRUE(read_header("{}      ", 0)) << "writers pad with spaces";
}

TEST(SafetensorsTest, RefusesAHeaderLengthThatTheFileDoesNotHave) {
  EXPECT_THAT(read_safetensors(source_of({}, "m")), is_bad("m: the header's length at offset 0"));
  EXPECT_THAT(read_safetensors(source_of(ByteWriter().zeros(7).bytes(), "m")),
              is_bad("header's length"));
  const auto with_length = [](std::uint64_t length) {
    return read_safetensors(source_of(ByteWriter().put(length).text("{}").bytes(), "m"));
  };
  EXPECT_TRUE(with_length(2));
  EXPECT_THAT(with_length(0), is_bad("does not start with '{'"));
  EXPECT_THAT(with_length(3), is_bad("the header at offset 8 needs 3 bytes, there are 2"));
  EXPECT_THAT(with_length(100'000'000), is_bad("needs 100000000 bytes"));
  EXPECT_THAT(with_length(100'000'001), is_bad("more than 100000000"));
  EXPECT_THAT(with_length(UINT64_MAX), is_bad("more than 100000000"));
  EXPECT_THAT(with_length(UINT64_MAX - 7), is_bad("more than 100000000"));
}

TEST(SafetensorsTest, RefusesAHeaderThatIsNotOneJsonObjectInUtf8) {
  EXPECT_THAT(read_header(" {}", 0), is_bad("does not start with '{'"));
  EXPECT_THAT(read_header("[]", 0), is_bad("does not start with '{'"));
  EXPECT_THAT(read_header("{", 0), is_bad("the header"));
  EXPECT_THAT(read_header("{}{}", 0), is_bad("the header"));
  EXPECT_THAT(read_header("{\"\xff\":1}", 0), is_bad("UTF-8"));
  EXPECT_THAT(
      read_header(R"({"a":)" + std::string(100'000, '[') + "1" + std::string(100'000, ']') + "}",
                  0),
      is_bad("nested"));
}

TEST(SafetensorsTest, RefusesNamesThatStandTwice) {
  const std::string a = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_THAT(read_header("{" + a + "," + a + "}", 0), is_bad("tensor 'a' stands twice"));
  EXPECT_THAT(
      read_header(R"({"\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)" + a + "}", 0),
      is_bad("tensor 'a' stands twice"));
  EXPECT_THAT(read_header(R"({"__metadata__":{},"__metadata__":{}})", 0), is_bad("stands twice"));
  EXPECT_THAT(
      read_header(R"({"a":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})", 0),
      is_bad("dtype stands there twice"));
}

TEST(SafetensorsTest, RefusesHolesOverlapsAndBytesLeftOver) {
  const auto two = [](std::string_view first, std::string_view second, std::size_t data_bytes) {
    return read_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + std::string(first) +
                           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" +
                           std::string(second) + "}}",
                       data_bytes);
  };
  EXPECT_TRUE(two("[0,4]", "[4,8]", 8));
  EXPECT_THAT(two("[0,4]", "[5,9]", 9), is_bad("tensor 'b' begins at data offset 5"));
  EXPECT_THAT(two("[1,5]", "[5,9]", 9), is_bad("tensor 'a' begins at data offset 1"));
  EXPECT_THAT(two("[0,4]", "[3,7]", 7), is_bad("tensor 'b' begins at data offset 3"));
  EXPECT_THAT(two("[0,4]", "[0,4]", 4), is_bad("begins at data offset 0"));
  EXPECT_THAT(two("[0,4]", "[4,8]", 9), is_bad("end at data offset 8 of 9"));
  EXPECT_THAT(two("[0,4]", "[4,8]", 7), is_bad("end at data offset 8 of 7"));
}

TEST(SafetensorsTest, RefusesAShapeThatDoesNotFitItsBytes) {
  const auto one = [](std::string_view shape, std::string_view offsets) {
    return read_header(R"({"a":{"dtype":"F32","shape":)" + std::string(shape) +
                           R"(,"data_offsets":)" + std::string(offsets) + "}}",
                       8);
  };
  EXPECT_TRUE(one("[2]", "[0,8]"));
  EXPECT_THAT(one("[3]", "[0,8]"), is_bad("shape takes 12 bytes, data_offsets has 8"));
  EXPECT_THAT(one("[4294967296,4294967296]", "[0,8]"), is_bad("can be counted"));
  EXPECT_THAT(one("[9223372036854775807]", "[0,8]"), is_bad("can be counted"));
  EXPECT_THAT(one("[9223372036854775808]", "[0,8]"), is_bad("no dimension"));
  EXPECT_THAT(one("[-2]", "[0,8]"), is_bad("no dimension"));
  EXPECT_THAT(one("[2.0]", "[0,8]"), is_bad("no dimension"));
  EXPECT_THAT(one("2", "[0,8]"), is_bad("shape is no array"));
  EXPECT_THAT(one("[2]", "[8,0]"), is_bad("ends before it begins"));
  EXPECT_THAT(one("[2]", "[-8,0]"), is_bad("no pair of offsets"));
  EXPECT_THAT(one("[2]", "[0,4,8]"), is_bad("no pair of offsets"));
  EXPECT_THAT(one("[2]", "[0]"), is_bad("no pair of offsets"));
}

TEST(SafetensorsTest, RefusesFieldsThatAreMissingOrOfAnotherKind) {
  EXPECT_THAT(read_header(R"({"a":{"shape":[0],"data_offsets":[0,0]}})", 0),
              is_bad("has no dtype"));
  EXPECT_THAT(read_header(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", 0),
              is_bad("has no shape"));
  EXPECT_THAT(read_header(R"({"a":{"dtype":"U8","shape":[0]}})", 0), is_bad("has no data_offsets"));
  EXPECT_THAT(read_header(R"({"a":{"dtype":8,"shape":[0],"data_offsets":[0,0]}})", 0),
              is_bad("dtype is no text"));
  EXPECT_THAT(read_header(R"({"a":[]})", 0), is_bad("tensor 'a': is no object"));
  EXPECT_THAT(read_header(R"({"__metadata__":[]})", 0), is_bad("__metadata__ is no object"));
  EXPECT_THAT(read_header(R"({"__metadata__":{"a":1}})", 0), is_bad("'a' is no text"));
}

TEST(SafetensorsTest, NamesTheTensorWhoseTypeIsNotSupported) {
  EXPECT_THAT(read_header(R"({"w":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,1]}})", 1),
              FailsWith(ModelErrc::kUnsupportedFormat, "tensor 'w' has dtype 'F8_E5M2'"));
}

TEST(SafetensorsTest, ReadsNothingPastACutFile) {
  const auto whole = file_of(kTwo, 12);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(read_safetensors(source_of(cut, "m")), is_bad("m: "));
  }
}

TEST(SafetensorsTest, ReadsNothingBehindTheHeaderAndSaysWhenThatIsCut) {
  const auto whole = source_of(file_of(kTwo, 12), "m");
  const std::size_t header = 8 + kTwo.size();
  EXPECT_TRUE(read_safetensors(std::make_shared<CutSource>(whole, header)));
  for (const std::size_t end : {std::size_t{0}, std::size_t{7}, std::size_t{8}, header - 1}) {
    EXPECT_THAT(read_safetensors(std::make_shared<CutSource>(whole, end)),
                FailsWith(FileErrc::kCut, "m"));
  }
}

/// A header with one tensor of bytes and what __metadata__ says beside it.
std::string encoded_header(std::string_view tensor, std::string_view metadata) {
  std::string header = R"({"__metadata__":{)";
  header.append(metadata).append(R"(},"w":)").append(tensor).append("}");
  return header;
}

constexpr std::string_view kBytes =
    R"({"dtype":"U8","shape":[3,2,36],"data_offsets":[0,216]})";  // rows of one block of 64

TEST(SafetensorsTest, ReadsBytesAsTheWeightsThatMetadataSaysTheyAre) {
  const auto file =
      read_header(encoded_header(kBytes, R"("format":"pt","weft.encoding.w":"q4_b64")"), 216);
  ASSERT_TRUE(file) << to_string(file.error());
  const CheckpointTensor& tensor = file->tensors.front();
  EXPECT_EQ(tensor.dtype, DType::kQ4_B64);
  EXPECT_THAT(tensor.shape, ElementsAre(3, 2, 64));
  EXPECT_EQ(tensor.size, 216u);
  const auto gguf = read_header(encoded_header(kBytes, R"("weft.encoding.w":"q8_b32")"), 216);
  ASSERT_TRUE(gguf) << to_string(gguf.error());
  EXPECT_EQ(gguf->tensors.front().dtype, DType::kQ8_B32);
  EXPECT_THAT(gguf->tensors.front().shape, ElementsAre(3, 2, 32));
}

TEST(SafetensorsTest, RefusesEncodingsThatDoNotFitTheirTensor) {
  const auto refuse = [](std::string_view tensor, std::string_view metadata) {
    return read_header(encoded_header(tensor, metadata), 216);
  };
  constexpr std::string_view kGood = R"("weft.encoding.w":"q4_b64")";
  for (const std::string_view name : {"q9_b64", "", "f32", "u8", "Q4_B64"}) {
    std::string metadata = R"("weft.encoding.w":")";
    metadata.append(name).append("\"");
    EXPECT_THAT(refuse(kBytes, metadata), FailsWith(ModelErrc::kUnsupportedFormat, "tensor 'w'"))
        << name;
  }
  EXPECT_THAT(refuse(R"({"dtype":"I8","shape":[6,36],"data_offsets":[0,216]})", kGood),
              is_bad("tensor 'w': has an encoding and is not of dtype U8"));
  EXPECT_THAT(refuse(R"({"dtype":"U8","shape":[216],"data_offsets":[0,216]})", kGood),
              is_bad("tensor 'w': has an encoding and 1 dimensions"));
  EXPECT_THAT(refuse(R"({"dtype":"U8","shape":[4,54],"data_offsets":[0,216]})", kGood),
              is_bad("tensor 'w': its rows of 54 bytes are not whole blocks of 36"));
  EXPECT_THAT(refuse(kBytes, R"("weft.encoding.v":"q4_b64")"),
              is_bad("tensor 'v': has an encoding in __metadata__ and is not in the file"));
  EXPECT_THAT(refuse(kBytes, R"("weft.encoding.w":"q4_b64","weft.encoding.w":"q8_b32")"),
              is_bad("tensor 'w': has two encodings"));
  EXPECT_THAT(refuse(kBytes, R"("weft.encoding.w":7)"), is_bad("is no text"));
  // A shape of no bytes whose numbers cannot be counted.
  EXPECT_THAT(
      read_header(
          encoded_header(R"({"dtype":"U8","shape":[0,9223372036854775800],"data_offsets":[0,0]})",
                         kGood),
          0),
      is_bad("tensor 'w': its shape has more elements than can be counted"));
}

}  // namespace
}  // namespace weft
