#include "weft/model/checkpoint/pickle/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/byte_writer.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/files/zip_writer.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::is_bad;
using test::is_unsupported;
using test::ZipWriter;
using testing::SizeIs;

std::vector<std::byte> bytes_of(std::string_view text) {
  return test::ByteWriter().text(text).bytes();
}

Result<ZipArchive> read_archive(const std::vector<std::byte>& bytes) {
  return ZipArchive::read(*test::source_of(bytes, "m.zip"));
}

/// The bytes with a number written over them.
template <class T>
std::vector<std::byte> patched(std::vector<std::byte> bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

std::vector<std::byte> two_entries() {
  return ZipWriter().add("b", bytes_of("second")).add("a", bytes_of("1st")).bytes();
}

std::string_view text_at(const std::vector<std::byte>& bytes, const ZipEntry& entry) {
  return {reinterpret_cast<const char*>(bytes.data()) + entry.offset, entry.size};
}

void expect_two_entries(const std::vector<std::byte>& bytes) {
  const auto archive = read_archive(bytes);
  ASSERT_TRUE(archive) << to_string(archive.error());
  ASSERT_THAT(archive->entries(), SizeIs(2));
  ASSERT_NE(archive->find("a"), nullptr);
  EXPECT_EQ(text_at(bytes, *archive->find("a")), "1st");
  ASSERT_NE(archive->find("b"), nullptr);
  EXPECT_EQ(text_at(bytes, *archive->find("b")), "second");
  EXPECT_EQ(archive->find("c"), nullptr);
}

TEST(ZipTest, FindsStoredEntriesByName) { expect_two_entries(two_entries()); }

TEST(ZipTest, ReadsZip64DataDescriptorsAndComments) {
  expect_two_entries(
      ZipWriter()
          .add({.name = "b", .bytes = bytes_of("second"), .zip64 = true})
          .add({.name = "a", .bytes = bytes_of("1st"), .flags = 8, .sizes_after_data = true})
          .end64()
          .comment("PK\x05\x06 in a comment is no end")
          .bytes());
}

TEST(ZipTest, ReadsAnArchiveWithoutEntries) {
  const auto archive = read_archive(ZipWriter().bytes());
  ASSERT_TRUE(archive) << to_string(archive.error());
  EXPECT_THAT(archive->entries(), SizeIs(0));
}

TEST(ZipTest, RefusesCompressedAndEncryptedEntries) {
  const auto with = [](std::uint16_t flags, std::uint16_t method) {
    return read_archive(
        ZipWriter()
            .add({.name = "a", .bytes = bytes_of("x"), .flags = flags, .method = method})
            .bytes());
  };
  EXPECT_TRUE(with(0x808, 0));
  EXPECT_THAT(with(0, 8), is_unsupported("m.zip: entry 'a' is compressed (method 8)"));
  EXPECT_THAT(with(0x01, 0), is_unsupported("entry 'a' is encrypted"));
  EXPECT_THAT(with(0x40, 0), is_unsupported("entry 'a' is encrypted"));
  EXPECT_THAT(with(0x20, 0), is_unsupported("entry 'a' is a patch"));
}

TEST(ZipTest, RefusesALocalHeaderThatSaysOtherwise) {
  EXPECT_THAT(
      read_archive(ZipWriter()
                       .add({.name = "data.pkl", .bytes = bytes_of("x"), .local_name = "datap.kl"})
                       .bytes()),
      is_bad("local header at offset 0 is not that of 'data.pkl'"));
}

TEST(ZipTest, RefusesANameThatIsThereTwice) {
  EXPECT_THAT(read_archive(ZipWriter().add("a", bytes_of("1")).add("a", bytes_of("2")).bytes()),
              is_bad("entry 'a' is there twice"));
}

TEST(ZipTest, RefusesEntriesThatReachIntoOthersOrPastTheDirectory) {
  EXPECT_THAT(read_archive(ZipWriter()
                               .add({.name = "a", .bytes = bytes_of("1"), .claimed_extra = 3})
                               .add("b", bytes_of("2"))
                               .bytes()),
              is_bad("entries 'a' and 'b' overlap"));
  EXPECT_THAT(
      read_archive(
          ZipWriter().add({.name = "a", .bytes = bytes_of("1"), .claimed_extra = 1}).bytes()),
      is_bad("data of 'a'"));
  EXPECT_THAT(read_archive(ZipWriter()
                               .add({.name = "a",
                                     .bytes = bytes_of("1"),
                                     .zip64 = true,
                                     .claimed_extra = UINT64_MAX - 1})
                               .bytes()),
              is_bad("data of 'a'"));
}

TEST(ZipTest, RefusesADirectoryThatIsNotWhereTheEndSays) {
  const auto good = two_entries();
  const std::size_t end = good.size() - 22;
  EXPECT_THAT(read_archive(patched<std::uint32_t>(good, end + 16, 0xfffffff0)),
              is_bad("does not fit"));
  EXPECT_THAT(read_archive(patched<std::uint32_t>(good, end + 16, 1)), is_bad("offset 1"));
  EXPECT_THAT(read_archive(patched<std::uint32_t>(good, end + 12, 0xfffffff0)),
              is_bad("does not fit"));
  EXPECT_THAT(read_archive(patched<std::uint32_t>(patched<std::uint16_t>(good, end + 10, 0xfff0),
                                                  end + 8, 0xfff0fff0)),
              is_bad("65520 entries"));
  EXPECT_THAT(read_archive(patched<std::uint32_t>(good, end + 8, 0x00010001)),
              is_bad("longer than"));
  EXPECT_THAT(read_archive(patched<std::uint16_t>(good, end + 4, 1)),
              is_unsupported("several parts"));
}

TEST(ZipTest, RefusesAZip64EndThatIsNotThere) {
  const auto good = two_entries();
  EXPECT_THAT(read_archive(patched<std::uint32_t>(good, good.size() - 6, 0xffffffff)),
              is_bad("zip64 locator is missing"));
  const auto wide = ZipWriter().add("a", bytes_of("1")).end64().bytes();
  const std::size_t locator = wide.size() - 42;
  EXPECT_TRUE(read_archive(wide));
  EXPECT_THAT(read_archive(patched<std::uint64_t>(wide, locator + 8, UINT64_MAX)),
              is_bad("zip64 end"));
  EXPECT_THAT(read_archive(patched<std::uint64_t>(wide, locator + 8, 0)),
              is_bad("no zip64 end record at offset 0"));
  const std::size_t record = locator - 56;
  EXPECT_THAT(read_archive(patched<std::uint64_t>(wide, record + 32, UINT64_MAX)),
              is_bad("does not fit"));
  EXPECT_THAT(read_archive(patched<std::uint64_t>(wide, record + 48, UINT64_MAX)),
              is_bad("does not fit"));
}

TEST(ZipTest, ReadsNothingPastACutFile) {
  const auto whole = two_entries();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(read_archive(cut), is_bad("end is missing"));
  }
}

TEST(ZipTest, SurvivesEveryByteBeingWrong) {
  const auto good =
      ZipWriter().add({.name = "a", .bytes = bytes_of("1st"), .zip64 = true}).end64().bytes();
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int value : {0, 1, 0x7f, 0xff}) {
      const auto archive = read_archive(patched(good, at, static_cast<std::uint8_t>(value)));
      if (!archive) continue;
      for (const ZipEntry& entry : archive->entries()) EXPECT_LE(entry.size, good.size());
    }
  }
}

}  // namespace
}  // namespace weft
