#include "weft/model/checkpoint/pickle/pickle_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/byte_writer.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/files/pickle_writer.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/files/zip_writer.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::ByteWriter;
using test::is_bad;
using test::is_forbidden;
using test::is_unsupported;
using test::PickleWriter;
using test::source_of;
using test::ZipWriter;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Bytes = std::vector<std::byte>;

/// The numbers 0, 1, ... as f32.
Bytes counting(std::size_t elements) {
  ByteWriter writer;
  for (std::size_t i = 0; i < elements; ++i) writer.put(static_cast<float>(i));
  return writer.bytes();
}

std::vector<float> floats_of(const CheckpointTensor& tensor) {
  std::vector<float> values(tensor.size / sizeof(float));
  tensor.read(0, std::as_writable_bytes(std::span(values))).value();
  return values;
}

/// A state dict whose one tensor is "w".
PickleWriter dict_of(const PickleWriter::Tensor& tensor) {
  return PickleWriter().op('}').text("w").tensor(tensor).op('s');
}

Bytes archive_of(const PickleWriter& pickle, const Bytes& storage) {
  return ZipWriter().add("m/data.pkl", pickle.bytes()).add("m/data/0", storage).bytes();
}

/// An archive and what was read from it.
struct Archive {
  Archive(const PickleWriter& pickle, const Bytes& storage)
      : source(source_of(archive_of(pickle, storage), "m.pth")),
        file(read_pickle_checkpoint(source)) {}
  Archive(const PickleWriter::Tensor& tensor, const Bytes& storage)
      : Archive(dict_of(tensor), storage) {}
  SharedSource source;
  Result<CheckpointFile> file;
};

Result<CheckpointFile> read_legacy(const PickleWriter::Tensor& tensor, const Bytes& storage) {
  return Archive(tensor, storage).file;
}

struct Legacy {
  std::string magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
  std::string version = "M\xe9\x03.";
  PickleWriter system = PickleWriter().op('}').text("little_endian").op('\x88').op('s');
  PickleWriter object = dict_of({.elements = 3, .shape = {3}, .strides = {1}, .legacy = true});
  PickleWriter keys = PickleWriter().op(']').text("0").op('a');
  std::int64_t elements = 3;
  Bytes storage = counting(3);

  [[nodiscard]] Bytes bytes() const {
    return ByteWriter()
        .text(magic)
        .text(version)
        .append(system.bytes())
        .append(object.bytes())
        .append(keys.bytes())
        .put(elements)
        .append(storage)
        .bytes();
  }
};

Result<CheckpointFile> read_legacy(const Legacy& legacy) {
  return read_pickle_checkpoint(source_of(legacy.bytes(), "m.pth"));
}

TEST(PickleCheckpointTest, SaysWhereTensorsLieInTheArchive) {
  const Archive archive({.elements = 8, .offset = 2, .shape = {2, 3}, .strides = {3, 1}},
                        counting(8));
  ASSERT_TRUE(archive.file) << to_string(archive.file.error());
  const CheckpointTensor& tensor = archive.file->tensors.at(0);
  EXPECT_EQ(tensor.name, "w");
  EXPECT_EQ(tensor.dtype, DType::kF32);
  EXPECT_THAT(tensor.shape, ElementsAre(2, 3));
  EXPECT_THAT(floats_of(tensor), ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_EQ(tensor.source, archive.source) << "nothing was copied";
}

TEST(PickleCheckpointTest, PutsTransposedTensorsInOrder) {
  const Archive archive({.elements = 6, .shape = {3, 2}, .strides = {1, 3}}, counting(6));
  ASSERT_TRUE(archive.file) << to_string(archive.file.error());
  const CheckpointTensor& tensor = archive.file->tensors.at(0);
  EXPECT_THAT(tensor.shape, ElementsAre(3, 2));
  EXPECT_THAT(floats_of(tensor), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(PickleCheckpointTest, ReadsEveryStorageClass) {
  struct Row {
    const char* type;
    DType dtype;
  };
  for (const Row& row : {Row{"DoubleStorage", DType::kF64}, Row{"FloatStorage", DType::kF32},
                         Row{"HalfStorage", DType::kF16}, Row{"BFloat16Storage", DType::kBF16},
                         Row{"LongStorage", DType::kI64}, Row{"IntStorage", DType::kI32},
                         Row{"ShortStorage", DType::kI16}, Row{"CharStorage", DType::kI8},
                         Row{"ByteStorage", DType::kU8}, Row{"BoolStorage", DType::kBool}}) {
    const auto file = read_legacy({.type = row.type, .elements = 2, .shape = {2}, .strides = {1}},
                                  Bytes(static_cast<std::size_t>(*bytes_of(row.dtype, 2))));
    ASSERT_TRUE(file) << to_string(file.error());
    EXPECT_EQ(file->tensors.at(0).dtype, row.dtype);
  }
}

TEST(PickleCheckpointTest, LetsTensorsShareAStorage) {
  const PickleWriter::Tensor one{.elements = 2, .shape = {2}, .strides = {1}};
  const Archive archive(
      PickleWriter().op('}').op('(').text("a").tensor(one).text("b").tensor(one).op('u'),
      counting(2));
  ASSERT_TRUE(archive.file) << to_string(archive.file.error());
  ASSERT_THAT(archive.file->tensors, SizeIs(2));
  EXPECT_EQ(archive.file->tensors[0].offset, archive.file->tensors[1].offset);
}

TEST(PickleCheckpointTest, FindsTheStateDictOneLevelDown) {
  for (const char* key : {"state_dict", "model"}) {
    const Archive archive(PickleWriter()
                              .op('}')
                              .op('(')
                              .text("epoch")
                              .integer(3)
                              .text(key)
                              .op('}')
                              .text("w")
                              .tensor({.elements = 1, .shape = {1}, .strides = {1}})
                              .op('s')
                              .op('u'),
                          counting(1));
    ASSERT_TRUE(archive.file) << to_string(archive.file.error());
    EXPECT_EQ(archive.file->tensors.at(0).name, "w");
  }
}

TEST(PickleCheckpointTest, LeavesOutWhatIsNoTensor) {
  const Archive archive(PickleWriter()
                            .op('}')
                            .op('(')
                            .text("step")
                            .integer(3)
                            .text("w")
                            .tensor({.elements = 1, .shape = {}, .strides = {}})
                            .op('u'),
                        counting(1));
  ASSERT_TRUE(archive.file) << to_string(archive.file.error());
  ASSERT_THAT(archive.file->tensors, SizeIs(1));
  EXPECT_THAT(archive.file->tensors[0].shape, IsEmpty());
}

TEST(PickleCheckpointTest, RefusesValuesThatAreNoStateDict) {
  EXPECT_THAT(Archive(PickleWriter().op('N'), {}).file, is_bad("m.pth: holds no state dict"));
  EXPECT_THAT(Archive(PickleWriter().op('}'), {}).file, is_bad("holds no tensors"));
  EXPECT_THAT(Archive(PickleWriter()
                          .op('}')
                          .integer(1)
                          .tensor({.elements = 1, .shape = {1}, .strides = {1}})
                          .op('s'),
                      counting(1))
                  .file,
              is_bad("name is no text"));
}

TEST(PickleCheckpointTest, RefusesTensorsThatReachOutOfTheirStorage) {
  EXPECT_TRUE(read_legacy({.elements = 6, .shape = {2, 3}, .strides = {3, 1}}, counting(6)));
  const auto six = [](std::int64_t offset, const std::vector<std::int64_t>& shape,
                      const std::vector<std::int64_t>& strides) {
    return read_legacy({.elements = 6, .offset = offset, .shape = shape, .strides = strides},
                       counting(6));
  };
  EXPECT_THAT(six(1, {2, 3}, {3, 1}), is_bad("tensor 'w': it reaches out of its storage '0'"));
  EXPECT_THAT(six(0, {2, 3}, {4, 1}), is_bad("reaches out"));
  EXPECT_THAT(six(0, {7}, {1}), is_bad("reaches out"));
  EXPECT_THAT(six(-1, {2}, {1}), is_bad("reaches out"));
  EXPECT_THAT(six(5, {2}, {-1}), is_bad("reaches out"));
  EXPECT_THAT(six(0, {-2}, {1}), is_bad("reaches out"));
  EXPECT_THAT(six(0, {INT64_MAX, 4}, {4, 1}), is_bad("reaches out"));
  EXPECT_THAT(six(0, {4}, {INT64_MAX / 2}), is_bad("reaches out"));
  EXPECT_THAT(six(INT64_MAX, {2}, {1}), is_bad("reaches out"));
  EXPECT_THAT(six(0, {2, 3}, {1}), is_bad("2 dimensions and 1 strides"));
  EXPECT_THAT(six(0, std::vector<std::int64_t>(65, 1), std::vector<std::int64_t>(65, 1)),
              is_bad("no short tuple"));
}

TEST(PickleCheckpointTest, RefusesTensorsThatGrowBeyondTheirFile) {
  EXPECT_THAT(read_legacy({.elements = 1, .shape = {1 << 20}, .strides = {0}}, counting(1)),
              is_unsupported("stride of 0"));
  EXPECT_THAT(read_legacy({.elements = 199, .shape = {100, 100}, .strides = {1, 1}}, counting(199)),
              is_bad("more than the file justifies"));
  PickleWriter many;
  many.raw("}(");
  for (int i = 0; i < 100; ++i) {
    many.text("w" + std::to_string(i))
        .tensor({.elements = 10'000, .shape = {100, 100}, .strides = {1, 100}});
  }
  EXPECT_THAT(Archive(many.op('u'), counting(10'000)).file, is_bad("more than the file justifies"));
}

TEST(PickleCheckpointTest, RefusesStoragesThatTheArchiveDoesNotHold) {
  EXPECT_THAT(read_legacy({.key = "1", .elements = 1, .shape = {1}, .strides = {1}}, counting(1)),
              is_bad("storage '1' is not in the archive"));
  EXPECT_THAT(
      read_legacy({.key = "../data.pkl", .elements = 1, .shape = {1}, .strides = {1}}, counting(1)),
      is_bad("storage '../data.pkl' is not in the archive"));
  EXPECT_THAT(read_legacy({.elements = 3, .shape = {2}, .strides = {1}}, counting(2)),
              is_bad("storage '0' takes 12 bytes, the archive has 8"));
  EXPECT_THAT(read_legacy({.elements = INT64_MAX, .shape = {2}, .strides = {1}}, counting(2)),
              is_bad("storage '0' has 9223372036854775807 elements"));
}

TEST(PickleCheckpointTest, RefusesArchivesThatAreNoStateDicts) {
  const Bytes good = dict_of({.elements = 1, .shape = {1}, .strides = {1}}).bytes();
  const auto with = [&](const std::string& name, const std::string& text) {
    return read_pickle_checkpoint(source_of(ZipWriter()
                                                .add("m/data.pkl", good)
                                                .add("m/data/0", counting(1))
                                                .add(name, ByteWriter().text(text).bytes())
                                                .bytes(),
                                            "m.pth"));
  };
  EXPECT_TRUE(with("m/byteorder", "little"));
  EXPECT_TRUE(with("m/code/data.pkl", "x"));
  EXPECT_THAT(with("m/byteorder", "big"), is_unsupported("not little-endian"));
  EXPECT_THAT(with("m/constants.pkl", ""), is_unsupported("TorchScript"));
  EXPECT_THAT(with("n/data.pkl", ""), is_bad("two files data.pkl"));
  EXPECT_THAT(read_pickle_checkpoint(source_of(ZipWriter().add("data.pkl", good).bytes(), "m.pth")),
              is_bad("no file data.pkl"));
}

TEST(PickleCheckpointTest, NamesWhatAPickleMayNotDo) {
  EXPECT_THAT(Archive(PickleWriter().global("posix", "system"), {}).file,
              is_forbidden("m.pth: m/data.pkl: pickle at offset 2: 'posix'.'system'"));
}

TEST(PickleCheckpointTest, ReadsTheOlderLayout) {
  const Bytes bytes = Legacy().bytes();
  const auto file = read_pickle_checkpoint(source_of(bytes, "m.pth"));
  ASSERT_TRUE(file) << to_string(file.error());
  ASSERT_THAT(file->tensors, SizeIs(1));
  EXPECT_THAT(floats_of(file->tensors[0]), ElementsAre(0, 1, 2));
}

TEST(PickleCheckpointTest, RefusesAnOlderLayoutThatIsNotWhole) {
  EXPECT_THAT(read_legacy({.magic = "K\1."}), is_bad("magic number"));
  EXPECT_THAT(read_legacy({.magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x18."}),
              is_bad("magic number"));
  EXPECT_THAT(read_legacy({.version = "M\xea\x03."}), is_unsupported("unknown version"));
  EXPECT_THAT(read_legacy({.system = PickleWriter().op(']')}), is_bad("third pickle"));
  EXPECT_THAT(
      read_legacy({.system = PickleWriter().op('}').text("little_endian").op('\x89').op('s')}),
      is_unsupported("not little-endian"));
  EXPECT_THAT(read_legacy({.keys = PickleWriter().op('N')}), is_bad("keys are no list"));
  EXPECT_THAT(read_legacy({.keys = PickleWriter().raw("]Na")}), is_bad("key of a storage"));
  EXPECT_THAT(read_legacy({.keys = PickleWriter().op(']').text("1").op('a')}),
              is_bad("storage '1'"));
  EXPECT_THAT(read_legacy({.keys = PickleWriter().op(']')}), is_bad("bytes are left"));
  EXPECT_THAT(read_legacy({.elements = 4}), is_bad("has 4 elements, its tensor says 3"));
  EXPECT_THAT(read_legacy({.elements = -1}), is_bad("has -1 elements"));
  EXPECT_THAT(read_legacy({.storage = counting(2)}), is_bad("storage '0' at offset"));
  EXPECT_THAT(read_legacy({.storage = counting(4)}), is_bad("4 bytes are left"));
}

TEST(PickleCheckpointTest, RefusesAnOlderLayoutWithStoragesMissingOrTwice) {
  const auto two = PickleWriter().raw("](").text("0").text("0").raw("e");
  EXPECT_THAT(read_legacy({.keys = two}), is_bad("storage '0' is there twice"));
  const auto none = ByteWriter()
                        .text(Legacy().magic)
                        .text(Legacy().version)
                        .append(Legacy().system.bytes())
                        .append(Legacy().object.bytes())
                        .append(PickleWriter().op(']').bytes())
                        .bytes();
  EXPECT_THAT(read_pickle_checkpoint(source_of(none, "m.pth")),
              is_bad("storage '0' is not in the file"));
  const PickleWriter::Tensor three{.elements = 3, .shape = {3}, .strides = {1}, .legacy = true};
  PickleWriter::Tensor other = three;
  other.elements = 2;
  EXPECT_THAT(
      read_legacy(
          {.object =
               PickleWriter().raw("}(").text("a").tensor(three).text("b").tensor(other).op('u')}),
      is_bad("described in two ways"));
}

TEST(PickleCheckpointTest, ReadsPicklesOfAnyLength) {
  PickleWriter many;
  many.op('}').op('(');
  const PickleWriter::Tensor three{.elements = 3, .shape = {3}, .strides = {1}, .legacy = true};
  for (int i = 0; i < 1500; ++i)
    many.text("a tensor's name, number " + std::to_string(i)).tensor(three);
  Legacy legacy;
  legacy.object = many.op('u');
  ASSERT_GT(legacy.bytes().size(), std::size_t{2} << 16U) << "more than is read at first";
  const auto file = read_legacy(legacy);
  ASSERT_TRUE(file) << to_string(file.error());
  ASSERT_THAT(file->tensors, SizeIs(1500));
  EXPECT_EQ(file->tensors.back().name, "a tensor's name, number 1499");
  EXPECT_THAT(floats_of(file->tensors.back()), ElementsAre(0, 1, 2));
}

TEST(PickleCheckpointTest, SaysWhenAFileWasCutSinceItWasOpened) {
  const PickleWriter transposed = dict_of({.elements = 6, .shape = {3, 2}, .strides = {1, 3}});
  for (const Bytes& whole : {Legacy().bytes(), archive_of(transposed, counting(6))}) {
    const auto source = source_of(whole, "m.pth");
    for (std::size_t end = 0; end < whole.size(); ++end) {
      const auto read = read_pickle_checkpoint(std::make_shared<test::CutSource>(source, end));
      if (read) continue;  // nothing behind it is looked at
      EXPECT_THAT(read, test::FailsWith(FileErrc::kCut, "m.pth")) << end;
    }
  }
}

TEST(PickleCheckpointTest, ReadsNothingPastACutFile) {
  for (const Bytes& whole :
       {Legacy().bytes(),
        archive_of(dict_of({.elements = 2, .shape = {2}, .strides = {1}}), counting(2))}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_TRUE(read_pickle_checkpoint(source_of(cut, "m.pth")).has_error()) << size;
    }
  }
}

}  // namespace
}  // namespace weft
