#include "weft/core/io/byte_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "weft/tests/fixture/files/byte_writer.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::ByteWriter;
using test::FailsWith;
using testing::IsEmpty;
using testing::SizeIs;

auto ends(const std::string& about) { return FailsWith(ByteErrc::kEndOfData, about); }

std::vector<std::byte> eight() {
  return ByteWriter().put<std::uint64_t>(0x0807060504030201).bytes();
}

TEST(ByteReaderTest, ReadsLittleEndianNumbersInOrder) {
  const auto bytes = ByteWriter()
                         .put<std::uint8_t>(1)
                         .text("\x02\x03")
                         .put<std::int32_t>(-4)
                         .put(0.5)
                         .text("text")
                         .bytes();
  ByteReader reader(bytes);
  EXPECT_EQ(reader.read<std::uint8_t>("a").value(), 1);
  EXPECT_EQ(reader.read<std::uint16_t>("b").value(), 0x0302);
  EXPECT_EQ(reader.read<std::int32_t>("c").value(), -4);
  EXPECT_EQ(reader.read<double>("d").value(), 0.5);
  EXPECT_EQ(reader.offset(), 15u);
  EXPECT_EQ(reader.read_text(4, "e").value(), "text");
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(ByteReaderTest, NamesTheFieldThatIsNotThereAndStaysWhereItIs) {
  const auto bytes = eight();
  ByteReader reader(bytes);
  ASSERT_TRUE(reader.read<std::uint32_t>("first"));
  EXPECT_THAT(reader.read<std::uint64_t>("length"),
              ends("length at offset 4 needs 8 bytes, there are 4"));
  EXPECT_THAT(reader.read_bytes(5, "data"), ends("data at offset 4 needs 5 bytes"));
  EXPECT_THAT(reader.read_text(UINT64_MAX, "name"), ends("name at offset 4"));
  EXPECT_EQ(reader.offset(), 4u);
  EXPECT_TRUE(reader.read<std::uint32_t>("second"));
  EXPECT_THAT(reader.read<std::uint8_t>("third"), ends("there are 0"));
}

TEST(ByteReaderTest, BorrowsBytes) {
  const auto bytes = eight();
  ByteReader reader(bytes);
  const auto first = reader.read_bytes(3, "first");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->data(), bytes.data());
  EXPECT_THAT(*first, SizeIs(3));
  EXPECT_THAT(*reader.read_bytes(0, "none"), IsEmpty());
}

TEST(ByteReaderTest, SeeksWithinTheBytes) {
  const auto bytes = eight();
  ByteReader reader(bytes);
  EXPECT_TRUE(reader.seek(7, "last"));
  EXPECT_EQ(reader.read<std::uint8_t>("last").value(), 8);
  EXPECT_TRUE(reader.seek(8, "end"));
  EXPECT_THAT(reader.seek(9, "table"), ends("table is at offset 9 of 8 bytes"));
  EXPECT_THAT(reader.seek(UINT64_MAX, "table"), ends("18446744073709551615"));
  EXPECT_EQ(reader.offset(), 8u);
}

TEST(ByteReaderTest, ComparesCountsWithTheBytesThatAreLeft) {
  const auto bytes = eight();
  ByteReader reader(bytes);
  EXPECT_TRUE(reader.expect(2, 4, "items"));
  EXPECT_THAT(reader.expect(3, 4, "items"), ends("3 items of at least 4 bytes, there are 8"));
  EXPECT_THAT(reader.expect(std::uint64_t{1} << 62U, 4, "items"), ends("items at offset 0"));
  EXPECT_TRUE(reader.expect(UINT64_MAX, 0, "items")) << "nothing takes no room";
}

TEST(ByteReaderTest, ReadsNothingFromNothing) {
  ByteReader reader({});
  EXPECT_THAT(reader.read<std::uint8_t>("a"), ends("a at offset 0"));
  EXPECT_TRUE(reader.read_bytes(0, "none"));
  EXPECT_TRUE(reader.seek(0, "start"));
}

TEST(ByteReaderTest, LooksAheadAndGoesOverBytes) {
  const auto bytes = eight();
  ByteReader reader(bytes);
  EXPECT_TRUE(reader.skip(5, "first"));
  EXPECT_EQ(reader.peek(2).data(), bytes.data() + 5);
  EXPECT_THAT(reader.peek(2), SizeIs(2));
  EXPECT_THAT(reader.peek(100), SizeIs(3));
  EXPECT_EQ(reader.offset(), 5u);
  EXPECT_THAT(reader.skip(4, "rest"), ends("rest at offset 5 needs 4 bytes, there are 3"));
  EXPECT_TRUE(reader.skip(3, "rest"));
  EXPECT_THAT(reader.peek(1), IsEmpty());
}

TEST(ByteWindowTest, CountsOffsetsFromTheStartOfTheWholeAndHoldsCountsAgainstItsEnd) {
  const auto bytes = eight();
  ByteWindow window{bytes, 100, 200};
  ByteReader reader(window);
  EXPECT_EQ(reader.offset(), 100u);
  EXPECT_EQ(reader.remaining(), 100u);
  EXPECT_EQ(reader.end(), 200u);
  EXPECT_EQ(reader.read<std::uint16_t>("a").value(), 0x0201);
  EXPECT_TRUE(reader.seek(106, "b"));
  EXPECT_EQ(reader.read<std::uint16_t>("b").value(), 0x0807);
  EXPECT_TRUE(reader.expect(92, 1, "items"));
  EXPECT_THAT(reader.expect(93, 1, "items"), ends("there are 92"));
  EXPECT_THAT(reader.read_bytes(93, "c"), ends("c at offset 108 needs 93 bytes, there are 92"));
  EXPECT_EQ(window.wanted, 0u) << "what the whole does not have is not asked for";
}

TEST(ByteWindowTest, IsToldHowFarItsReadersWouldHaveRead) {
  const auto bytes = eight();
  ByteWindow window{bytes, 100, 200};
  ByteReader reader(window);
  EXPECT_TRUE(reader.skip(6, "a"));
  EXPECT_TRUE(reader.read<std::uint32_t>("b").has_error());
  EXPECT_EQ(window.wanted, 110u);
  ByteReader copy = reader;
  EXPECT_THAT(copy.peek(20), IsEmpty());
  EXPECT_EQ(window.wanted, 126u) << "of all its readers";
  EXPECT_TRUE(reader.seek(150, "c"));
  EXPECT_TRUE(reader.read_bytes(0, "c"));
  EXPECT_TRUE(reader.read<std::uint8_t>("c").has_error());
  EXPECT_EQ(window.wanted, 151u);
  FieldReader fields(window);
  fields.skip(90, "d");
  fields.bytes(10, "d");
  EXPECT_TRUE(fields.failed());
  EXPECT_EQ(window.wanted, 200u);
}

TEST(FieldReaderTest, ReadsWhatIsThere) {
  const auto bytes = ByteWriter().put<std::uint16_t>(7).text("ab").put(1.5F).bytes();
  FieldReader fields(bytes);
  EXPECT_EQ(fields.take<std::uint16_t>("a"), 7);
  EXPECT_EQ(fields.text(2, "b"), "ab");
  fields.expect(1, 4, "c");
  EXPECT_EQ(fields.take<float>("c"), 1.5F);
  fields.seek(2, "b");
  fields.skip(1, "b");
  EXPECT_EQ(fields.offset(), 3u);
  EXPECT_EQ(fields.remaining(), 5u);
  EXPECT_FALSE(fields.failed());
}

TEST(FieldReaderTest, KeepsItsFirstErrorAndReadsZeroFromThereOn) {
  const auto bytes = eight();
  FieldReader fields(bytes);
  EXPECT_EQ(fields.text(9, "name"), "");
  EXPECT_TRUE(fields.failed());
  EXPECT_EQ(fields.take<std::uint8_t>("next"), 0);
  EXPECT_THAT(fields.bytes(1, "next"), IsEmpty());
  fields.seek(4, "next");
  fields.expect(100, 100, "next");
  EXPECT_EQ(fields.offset(), 0u);
  EXPECT_EQ(fields.error().detail, "name at offset 0 needs 9 bytes, there are 8");
}

TEST(FieldReaderTest, FailsOnCountsAndOffsetsThatAreNotThere) {
  const auto bytes = eight();
  FieldReader counts(bytes);
  counts.expect(9, 1, "items");
  EXPECT_TRUE(counts.failed());
  FieldReader offsets(bytes);
  offsets.seek(9, "table");
  EXPECT_TRUE(offsets.failed());
}

}  // namespace
}  // namespace weft
