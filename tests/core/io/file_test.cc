#include "weft/core/io/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

using test::FailsWith;
using test::TempFolder;
using testing::HasSubstr;
using testing::Not;

/// Bytes of the source as text.
Result<std::string> read_at(const ByteSource& source, std::uint64_t offset, std::size_t count) {
  std::string text(count, '?');
  const auto read = source.read(offset, std::as_writable_bytes(std::span(text)));
  if (!read) return read.error();
  return text;
}

TEST(FileSourceTest, ReadsAnyBytesOfAFile) {
  const TempFolder folder;
  const auto path = folder.write("f", std::string_view("abcdef"));
  const auto file = open_file_source(path);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ((*file)->size(), 6u);
  EXPECT_EQ((*file)->name(), path.string());
  EXPECT_EQ(read_at(**file, 0, 6).value(), "abcdef");
  EXPECT_EQ(read_at(**file, 4, 2).value(), "ef");
  EXPECT_EQ(read_at(**file, 1, 1).value(), "b");
  EXPECT_EQ(read_at(**file, 6, 0).value(), "");
}

TEST(FileSourceTest, MayBeEmpty) {
  const TempFolder folder;
  const auto file = open_file_source(folder.write("f", std::string_view()));
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->size(), 0u);
  EXPECT_TRUE((*file)->read(0, {}));
}

TEST(FileSourceTest, OutlivesTheNameOfItsFile) {
  const TempFolder folder;
  const auto path = folder.write("f", std::string_view("abc"));
  const auto file = open_file_source(path);
  ASSERT_TRUE(file);
  std::filesystem::rename(folder.write("g", std::string_view("xyz")), path);
  EXPECT_EQ(read_at(**file, 0, 3).value(), "abc");
  std::filesystem::remove(path);
  EXPECT_EQ(read_at(**file, 0, 3).value(), "abc");
}

TEST(FileSourceTest, SaysThatItsFileWasCut) {
  const TempFolder folder;
  const auto path = folder.write("f", std::string(5000, 'a'));
  const auto file = open_file_source(path);
  ASSERT_TRUE(file);
  std::filesystem::resize_file(path, 1000);
  EXPECT_EQ(read_at(**file, 0, 1000).value(), std::string(1000, 'a'));
  const auto cut = FailsWith(FileErrc::kCut, path.string() + " had 5000 bytes and has 1000");
  EXPECT_THAT(read_at(**file, 0, 1001), cut);
  EXPECT_THAT(read_at(**file, 999, 4001), cut);
  EXPECT_THAT(read_at(**file, 4999, 1), cut);
  EXPECT_THAT(to_string(read_at(**file, 4999, 1).error()),
              HasSubstr("the file is shorter than when it was opened"));
}

TEST(FileSourceTest, DoesNotSeeWhatIsAppended) {
  const TempFolder folder;
  const auto path = folder.write("f", std::string_view("abc"));
  const auto file = open_file_source(path);
  ASSERT_TRUE(file);
  std::filesystem::resize_file(path, 9000);
  EXPECT_EQ((*file)->size(), 3u);
}

TEST(FileSourceTest, MapsNothing) {
  const TempFolder folder;
  const auto path = folder.write("f", std::string_view("abc"));
  const auto file = open_file_source(path);
  ASSERT_TRUE(file);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) EXPECT_THAT(line, Not(HasSubstr(path)));
}

TEST(FileSourceTest, SaysWhichFileCannotBeReadAndWhy) {
  const TempFolder folder;
  EXPECT_THAT(open_file_source(folder.path() / "none"),
              FailsWith(FileErrc::kCannotRead, "none (No such file or directory)"));
  EXPECT_THAT(open_file_source(folder.write("f", std::string_view()) / "below"),
              FailsWith(FileErrc::kCannotRead, "Not a directory"));
  EXPECT_THAT(open_file_source(""), FailsWith(FileErrc::kCannotRead, ""));
}

TEST(FileSourceTest, RefusesWhatIsNoFileWithoutWaitingForIt) {
  const TempFolder folder;
  EXPECT_THAT(open_file_source(folder.path()), FailsWith(FileErrc::kNotAFile, "weft-test"));
  EXPECT_THAT(open_file_source("/dev/zero"), FailsWith(FileErrc::kNotAFile, "/dev/zero"));
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(open_file_source(pipe), FailsWith(FileErrc::kNotAFile, "pipe"));
}

TEST(ReadTextFileTest, ReadsUpToItsBound) {
  const TempFolder folder;
  const auto path = folder.write("f", std::string_view("a\0\n", 3));
  EXPECT_EQ(read_text_file(path, 3).value(), std::string_view("a\0\n", 3));
  EXPECT_EQ(read_text_file(path, kAnySize).value(), std::string_view("a\0\n", 3));
  EXPECT_THAT(read_text_file(path, 2),
              FailsWith(FileErrc::kTooLarge, "f has 3 bytes, more than 2"));
  EXPECT_EQ(read_text_file(folder.write("empty", std::string_view()), 0).value(), "");
  EXPECT_THAT(read_text_file(folder.path() / "none", 2), FailsWith(FileErrc::kCannotRead, "none"));
}

}  // namespace
}  // namespace weft
