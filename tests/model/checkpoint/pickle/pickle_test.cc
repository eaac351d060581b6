#include "weft/model/checkpoint/pickle/pickle.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/io/byte_reader.h"
#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/byte_writer.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/files/pickle_writer.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::ByteWriter;
using test::is_bad;
using test::is_forbidden;
using test::PickleWriter;

/// A pickle read and kept, so that tests can look at its values.
struct Pickled {
  explicit Pickled(std::vector<std::byte> pickle)
      : bytes(std::move(pickle)), values("m"), reader(bytes), root(values.read(reader)) {}
  explicit Pickled(const PickleWriter& writer) : Pickled(writer.bytes()) {}
  explicit Pickled(std::string_view text) : Pickled(ByteWriter().text(text).bytes()) {}

  template <class T>
  [[nodiscard]] T at(PickleRef ref) const {
    const T* value = values.get<T>(ref);
    EXPECT_NE(value, nullptr);
    return value != nullptr ? *value : T{};
  }
  template <class T>
  [[nodiscard]] T value() const {
    EXPECT_TRUE(root) << to_string(root.error());
    return root ? at<T>(*root) : T{};
  }

  std::vector<std::byte> bytes;
  PickleReader values;
  ByteReader reader;
  Result<PickleRef> root;
};

Result<PickleRef> read_pickle(const PickleWriter& writer) { return Pickled(writer).root; }
Result<PickleRef> read_pickle(std::string_view text) { return Pickled(text).root; }

TEST(PickleTest, ReadsConstants) {
  EXPECT_NO_FATAL_FAILURE((void)Pickled(PickleWriter().op('N')).value<PickleNone>());
  EXPECT_TRUE(Pickled(PickleWriter().op('\x88')).value<bool>());
  EXPECT_FALSE(Pickled(PickleWriter().op('\x89')).value<bool>());
  EXPECT_EQ(Pickled("K\xff.").value<std::int64_t>(), 255);
  EXPECT_EQ(Pickled("M\xff\xff.").value<std::int64_t>(), 65535);
  EXPECT_EQ(Pickled("J\xff\xff\xff\xff.").value<std::int64_t>(), -1);
  EXPECT_EQ(Pickled("G?\xf0" + std::string(6, '\0') + ".").value<double>(), 1.0);
  EXPECT_EQ(Pickled(PickleWriter().text("key")).value<std::string_view>(), "key");
  EXPECT_EQ(Pickled("U\x02no.").value<std::string_view>(), "no");
  EXPECT_EQ(Pickled("\x8c\x02no.").value<std::string_view>(), "no");
}

TEST(PickleTest, ReadsLongIntegersOfAnyLength) {
  EXPECT_EQ(Pickled(std::string_view("\x8a\x00.", 3)).value<std::int64_t>(), 0);
  EXPECT_EQ(Pickled("\x8a\x01\xff.").value<std::int64_t>(), -1);
  EXPECT_EQ(Pickled("\x8a\x03\x01\x01\x80.").value<std::int64_t>(), 0x800101 - 0x1000000);
  EXPECT_EQ(Pickled(PickleWriter().integer(INT64_MIN)).value<std::int64_t>(), INT64_MIN);
  EXPECT_EQ(Pickled("\x8a\x09" + std::string(9, '\x01') + ".").value<PickleBigInteger>().bytes,
            std::string(9, '\x01'));
}

TEST(PickleTest, ReadsContainers) {
  const Pickled tuple(PickleWriter().op('K').op('\7').op('N').op('\x86'));
  const auto items = tuple.value<PickleSequence>().items;
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(tuple.at<std::int64_t>(items[0]), 7);
  EXPECT_EQ(Pickled("](K\1K\2e.").value<PickleSequence>().items.size(), 2u);
  EXPECT_EQ(Pickled("]K\1a.").value<PickleSequence>().items.size(), 1u);
  EXPECT_EQ(Pickled(").").value<PickleSequence>().items.size(), 0u);
  const Pickled dict(PickleWriter().op('}').op('(').text("a").op('K').op('\1').op('u'));
  const auto pairs = dict.value<PickleDict>().items;
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(dict.at<std::string_view>(pairs[0].first), "a");
  EXPECT_EQ(dict.at<std::int64_t>(pairs[0].second), 1);
}

TEST(PickleTest, SharesValuesThroughTheMemo) {
  const Pickled pair(std::string_view("]q\0(h\0h\0e.", 10));  // a list that holds itself, twice
  const auto items = pair.value<PickleSequence>().items;
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0], *pair.root);
  EXPECT_EQ(items[1], *pair.root);
  EXPECT_TRUE(read_pickle(std::string_view("\x80\x04]\x94(h\0e.", 9)));
  EXPECT_TRUE(read_pickle(std::string_view("]r\0\0\0\0(j\0\0\0\0e.", 14)));
}

TEST(PickleTest, UnderstandsOrderedDictsWithItemsAndAttributes) {
  const Pickled empty(PickleWriter().global("collections", "OrderedDict").op(')').op('R'));
  EXPECT_TRUE(empty.value<PickleDict>().items.empty());
  const Pickled pairs(
      PickleWriter().global("collections", "OrderedDict").raw("]]").text("a").raw("aK\1aa\x85R"));
  EXPECT_EQ(pairs.value<PickleDict>().items.size(), 1u);
  const Pickled built(
      PickleWriter().global("collections", "OrderedDict").raw(")R}").text("_metadata").raw("}sb"));
  EXPECT_TRUE(built.value<PickleDict>().items.empty());
}

TEST(PickleTest, UnderstandsTensorsAndParameters) {
  const PickleWriter::Tensor wanted{.elements = 6, .offset = 2, .shape = {2, 2}, .strides = {2, 1}};
  const Pickled tensor(PickleWriter().tensor(wanted));
  const auto found = tensor.value<PickleTensor>();
  EXPECT_EQ(found.offset, 2);
  const auto storage = tensor.at<PickleStorage>(found.storage);
  EXPECT_EQ(storage.key, "0");
  EXPECT_EQ(storage.elements, 6);
  EXPECT_EQ(storage.dtype, DType::kF32);
  EXPECT_EQ(tensor.at<PickleSequence>(found.shape).items.size(), 2u);
  const Pickled parameter(PickleWriter()
                              .global("torch._utils", "_rebuild_parameter")
                              .op('(')
                              .tensor(wanted)
                              .raw("\x88)tR"));
  EXPECT_EQ(parameter.value<PickleTensor>().offset, 2);
  const Pickled size(PickleWriter().global("torch", "Size").integers({3, 4}).raw("\x85R"));
  EXPECT_EQ(size.value<PickleSequence>().items.size(), 2u);
}

TEST(PickleTest, ReadsSeveralPicklesOfOneFile) {
  const auto bytes = ByteWriter().text("K\1.K\2.").bytes();
  PickleReader values("m");
  ByteReader reader(bytes);
  EXPECT_EQ(*values.get<std::int64_t>(*values.read(reader)), 1);
  EXPECT_EQ(*values.get<std::int64_t>(*values.read(reader)), 2);
  EXPECT_THAT(values.read(reader), is_bad("without STOP"));
}

TEST(PickleTest, RefusesEveryNameThatIsNotAllowed) {
  EXPECT_THAT(read_pickle("cposix\nsystem\n."),
              is_forbidden("m: pickle at offset 0: 'posix'.'system'"));
  EXPECT_THAT(read_pickle(PickleWriter().global("builtins", "eval")),
              is_forbidden("'builtins'.'eval'"));
  EXPECT_THAT(read_pickle("\x8c\x05posix\x8c\x06system\x93."), is_forbidden("offset 15"));
  EXPECT_THAT(read_pickle(PickleWriter().global("torch._utils", "_rebuild_tensor_v3")),
              is_forbidden("_rebuild_tensor_v3"));
  EXPECT_THAT(read_pickle(PickleWriter().global("torch.serialization", "load")),
              is_forbidden("load"));
  EXPECT_THAT(read_pickle(PickleWriter().global("collections.OrderedDict", "")),
              is_forbidden("''"));
  EXPECT_THAT(read_pickle(PickleWriter().global("collections", "OrderedDict.__class__")),
              is_forbidden("__class__"));
  EXPECT_THAT(read_pickle("K\1K\2\x93."), is_forbidden("no text"));
}

TEST(PickleTest, RefusesEveryOpcodeThatStateDictsDoNotNeed) {
  constexpr std::string_view kAllowed =
      "(.GJKMNQRTUXabcehjqrstu)]}\x80\x85\x86\x87\x88\x89\x8a\x8c\x93\x94\x95";
  for (int opcode = 0; opcode < 256; ++opcode) {
    if (kAllowed.find(static_cast<char>(opcode)) != std::string_view::npos) continue;
    const std::string text(1, static_cast<char>(opcode));
    EXPECT_THAT(read_pickle(text + std::string(16, '0')), is_forbidden("offset 0")) << opcode;
  }
  EXPECT_THAT(read_pickle("ios\nsystem\n."), is_forbidden("INST"));
  EXPECT_THAT(read_pickle("o"), is_forbidden("OBJ"));
  EXPECT_THAT(read_pickle("\x81"), is_forbidden("NEWOBJ"));
  EXPECT_THAT(read_pickle("\xff"), is_forbidden("opcode 0xff"));
}

TEST(PickleTest, RefusesToCallWhatIsNoFunction) {
  EXPECT_THAT(read_pickle("K\1)R."), is_forbidden("REDUCE"));
  EXPECT_THAT(read_pickle(PickleWriter().global("torch", "FloatStorage").raw(")R")),
              is_forbidden("REDUCE of a storage class"));
  EXPECT_THAT(read_pickle(PickleWriter().global("torch", "Size").raw("K\1R")),
              is_forbidden("REDUCE"));
  EXPECT_THAT(read_pickle("K\1}b."), is_forbidden("BUILD"));
  EXPECT_THAT(read_pickle("}K\1b."), is_forbidden("BUILD"));
  EXPECT_THAT(read_pickle("K\1K\2a."), is_forbidden("APPEND"));
  EXPECT_THAT(read_pickle("K\1K\2K\3s."), is_forbidden("SETITEM"));
  EXPECT_THAT(read_pickle("K\1Q."), is_forbidden("BINPERSID"));
  EXPECT_THAT(read_pickle(PickleWriter().op('(').text("module").raw("NNNNtQ")),
              is_forbidden("BINPERSID"));
}

TEST(PickleTest, RefusesArgumentsOfTheWrongKind) {
  EXPECT_THAT(read_pickle(PickleWriter().global("torch", "Size").raw("K\1\x85R")),
              is_bad("torch.Size"));
  EXPECT_THAT(read_pickle(PickleWriter().global("torch._utils", "_rebuild_parameter").raw(")R")),
              is_bad("_rebuild_parameter"));
  EXPECT_THAT(
      read_pickle(PickleWriter().global("torch._utils", "_rebuild_tensor_v2").raw("(NNNNtR")),
      is_bad("a tensor is not"));
  EXPECT_THAT(read_pickle(PickleWriter().global("collections", "OrderedDict").raw("](K\1e\x85R")),
              is_bad("no list of pairs"));
  EXPECT_THAT(read_pickle(PickleWriter().storage("FloatStorage", "0", -1)), is_bad("-1 elements"));
  EXPECT_THAT(read_pickle(PickleWriter()
                              .raw("(")
                              .text("storage")
                              .global("torch", "FloatStorage")
                              .text("0")
                              .text("cpu")
                              .raw("K\1K\2tQ")),
              is_bad("view of a storage"));
}

TEST(PickleTest, RefusesAStackMemoOrMarkThatIsNotThere) {
  for (const char* text : {".", "\x85.", "K\1\x86.", "a.", "s.", "K\1s.", "R.", "b.", "Q.", "\x93.",
                           "(\x85.", "q\1."}) {
    EXPECT_THAT(read_pickle(text), is_bad("missing on the stack")) << text;
  }
  for (const char* text : {"t.", "e.", "u.", "K\1t."})
    EXPECT_THAT(read_pickle(text), is_bad("no mark")) << text;
  EXPECT_THAT(read_pickle("h\1."), is_bad("memo index 1 was never set"));
  EXPECT_THAT(read_pickle("Nq\1h\2."), is_bad("memo index 2 was never set"));
  EXPECT_THAT(read_pickle("}(K\1u."), is_bad("key without a value"));
  EXPECT_THAT(read_pickle("NN."), is_bad("values are left"));
  EXPECT_THAT(read_pickle("N(."), is_bad("missing on the stack"));
  EXPECT_THAT(read_pickle("\x80\x06N."), is_bad("protocol 6"));
}

TEST(PickleTest, RefusesLengthsThatTheFileDoesNotHave) {
  for (const std::string text : {"X\xff\xff\xff\xff", "T\xff\xff\xff\x7f", "U\xff", "\x8c\x02x",
                                 "\x8a\xffx", "K", "M\1", "J\1\2\3", "G\1", "\x80", "h", "j\1"}) {
    EXPECT_THAT(read_pickle(text), is_bad("there are")) << text;
  }
  EXPECT_THAT(read_pickle("\x95\xff\xff\xff\xff\xff\xff\xff\xffN."), is_bad("frame"));
  EXPECT_THAT(read_pickle("cposix"), is_bad("GLOBAL without a name"));
  EXPECT_THAT(read_pickle("c" + std::string(100'000, 'a') + "\nb\n."),
              is_bad("GLOBAL without a name"));
  EXPECT_THAT(read_pickle(""), is_bad("without STOP"));
  EXPECT_THAT(read_pickle("N"), is_bad("without STOP"));
}

TEST(PickleTest, BoundsNestingMemoAndValues) {
  EXPECT_TRUE(read_pickle(std::string(256, '(') + "N" + std::string(256, 't') + "."));
  EXPECT_THAT(read_pickle(std::string(257, '(') + "N" + std::string(257, 't') + "."),
              is_bad("nested too deeply"));
  // Depth without marks is only length: nothing recurses over values.
  EXPECT_TRUE(read_pickle("N" + std::string(50'000, '\x85') + "."));
  EXPECT_THAT(read_pickle("Nr\xff\xff\xff\x7f."), is_bad("memo index 2147483647"));
  EXPECT_THAT(read_pickle(std::string((1U << 20U) + 1, 'N')), is_bad("more values"));
}

TEST(PickleTest, BoundsCopiesThatTheMemoMakesCheap) {
  // OrderedDict(list) costs the file five bytes each time, and us the list's length.
  PickleWriter repeated;
  repeated.raw("(").global("collections", "OrderedDict").raw("q\1").raw("](");
  for (int i = 0; i < 10'000; ++i) repeated.raw("K\1K\2\x86");
  repeated.raw("e\x85q\2R");
  for (int i = 0; i < 200; ++i) repeated.raw("h\1h\2R");
  repeated.raw("t");
  EXPECT_THAT(read_pickle(repeated), is_bad("more items"));
}

TEST(PickleTest, ReadsNothingPastACutFile) {
  const auto whole =
      PickleWriter().tensor({.elements = 6, .shape = {2, 3}, .strides = {3, 1}}).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Pickled cut(
        std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    EXPECT_FALSE(cut.root);
  }
}

}  // namespace
}  // namespace weft
