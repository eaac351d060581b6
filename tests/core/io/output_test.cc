#include "weft/core/io/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

using test::FailsWith;
using test::TempFolder;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

void write_text(const fs::path& path, std::string_view text) {
  const auto file = OutputFile::create(path);
  ASSERT_TRUE(file) << to_string(file.error());
  ASSERT_TRUE(file->write(0, bytes_of(text)));
  ASSERT_TRUE(file->sync());
}

std::ptrdiff_t entries_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

TEST(DraftTest, BecomesAFileOnceItIsFinished) {
  const TempFolder folder;
  const fs::path path = folder.path() / "out";
  auto draft = Draft::make(path, Draft::Kind::kFile);
  ASSERT_TRUE(draft) << to_string(draft.error());
  write_text(draft->place(), "whole");
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(draft->finish());
  EXPECT_EQ(*read_text_file(path, kAnySize), "whole");
  static_cast<void>(Draft(*std::move(draft)));
  EXPECT_EQ(entries_in(folder.path()), 1);
}

TEST(DraftTest, BecomesAFolderWithWhatIsInIt) {
  const TempFolder folder;
  // A slash at the end changes nothing.
  auto draft = Draft::make(folder.path() / "out/", Draft::Kind::kFolder);
  ASSERT_TRUE(draft) << to_string(draft.error());
  write_text(draft->place() / "a", "1");
  write_text(draft->place() / "b", "2");
  ASSERT_TRUE(draft->finish());
  EXPECT_EQ(entries_in(folder.path() / "out"), 2);
  EXPECT_EQ(entries_in(folder.path()), 1);
}

TEST(DraftTest, LeavesNothingWhenItIsNotFinished) {
  const TempFolder folder;
  for (const auto kind : {Draft::Kind::kFile, Draft::Kind::kFolder}) {
    auto draft = Draft::make(folder.path() / "out", kind);
    ASSERT_TRUE(draft);
    const Draft moved(*std::move(draft));
    write_text(kind == Draft::Kind::kFile ? moved.place() : moved.place() / "a", "part");
  }
  EXPECT_EQ(entries_in(folder.path()), 0);
}

TEST(DraftTest, ReplacesNothing) {
  const TempFolder folder;
  const fs::path there = folder.write("there", std::string_view("old"));
  EXPECT_THAT(Draft::make(there, Draft::Kind::kFile), FailsWith(FileErrc::kExists, "there"));
  fs::create_symlink("nowhere", folder.path() / "link");
  EXPECT_THAT(Draft::make(folder.path() / "link", Draft::Kind::kFolder),
              FailsWith(FileErrc::kExists, "link"));
  // A file or folder that appeared meanwhile is not replaced, not even an empty folder, which
  // rename() alone would replace.
  for (const auto kind : {Draft::Kind::kFile, Draft::Kind::kFolder}) {
    const fs::path late = folder.path() / "late";
    auto draft = Draft::make(late, kind);
    ASSERT_TRUE(draft);
    if (kind == Draft::Kind::kFile) write_text(draft->place(), "new");
    fs::create_directory(late);
    EXPECT_THAT(draft->finish(), FailsWith(FileErrc::kExists, "late"));
    EXPECT_TRUE(fs::is_empty(late));
    fs::remove(late);
  }
}

TEST(DraftTest, ReplacesAFileOrAFolderWhereItMay) {
  const TempFolder folder;
  const fs::path file = folder.write("file", std::string_view("old"));
  const fs::path tree = folder.path() / "tree";
  fs::create_directory(tree);
  write_text(tree / "old", "1");
  for (const auto kind : {Draft::Kind::kFile, Draft::Kind::kFolder}) {
    const bool is_file = kind == Draft::Kind::kFile;
    auto draft = Draft::make(is_file ? file : tree, kind, Draft::Existing::kReplaced);
    ASSERT_TRUE(draft) << to_string(draft.error());
    write_text(is_file ? draft->place() : draft->place() / "new", "2");
    EXPECT_EQ(*read_text_file(file, kAnySize), is_file ? "old" : "2");
    EXPECT_TRUE(fs::exists(tree / "old"));
    ASSERT_TRUE(draft->finish());
  }
  EXPECT_EQ(*read_text_file(file, kAnySize), "2");
  EXPECT_EQ(entries_in(tree), 1);
  EXPECT_TRUE(fs::exists(tree / "new"));
  EXPECT_EQ(entries_in(folder.path()), 2) << "what was replaced is gone";
}

TEST(DraftTest, ThatAKilledProcessLeftIsRemovedLater) {
  const TempFolder folder;
  auto old = Draft::make(folder.path() / "old", Draft::Kind::kFolder);
  auto fresh = Draft::make(folder.path() / "fresh", Draft::Kind::kFolder);
  ASSERT_TRUE(old && fresh);
  write_text(old->place() / "part", "1");
  folder.write(".hidden", std::string_view("mine"));
  const auto hour = std::chrono::hours(1);
  const auto time = fs::last_write_time(fresh->place());
  fs::last_write_time(old->place(), time - hour);
  fs::last_write_time(folder.path() / ".hidden", time - hour);
  EXPECT_EQ(remove_left_drafts(folder.path(), time - hour / 2), 1);
  EXPECT_FALSE(fs::exists(old->place()));
  EXPECT_TRUE(fs::exists(fresh->place()));
  EXPECT_TRUE(fs::exists(folder.path() / ".hidden"));
}

TEST(DraftTest, PutsBackWhatAKilledProcessWasAboutToReplace) {
  const TempFolder folder;
  folder.write(".lost.part-1-0.old", std::string_view("lost"));
  folder.write(".there.part-1-0.old", std::string_view("old"));
  folder.write("there", std::string_view("new"));
  EXPECT_EQ(remove_left_drafts(folder.path(), fs::file_time_type::max()), 2);
  EXPECT_EQ(*read_text_file(folder.path() / "lost", kAnySize), "lost");
  EXPECT_EQ(*read_text_file(folder.path() / "there", kAnySize), "new");
  EXPECT_EQ(entries_in(folder.path()), 2);
}

TEST(DraftTest, SaysWhyItCannotBeMade) {
  const TempFolder folder;
  EXPECT_THAT(Draft::make(folder.path() / "no/such/folder", Draft::Kind::kFile),
              FailsWith(FileErrc::kCannotWrite, "No such file or directory"));
}

TEST(OutputFileTest, IsWrittenInAnyOrder) {
  const TempFolder folder;
  const fs::path path = folder.path() / "f";
  const auto file = OutputFile::create(path);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->resize(8));
  ASSERT_TRUE(file->write(4, bytes_of("ef")));
  ASSERT_TRUE(file->write(0, bytes_of("abcd")));
  EXPECT_EQ(*read_text_file(path, kAnySize), std::string("abcdef\0\0", 8));
  EXPECT_THAT(OutputFile::create(path), FailsWith(FileErrc::kExists, "f"));
}

/// A file that cannot grow has the effect of a full disk.
TEST(OutputFileTest, SaysThatThereIsNoRoom) {
  const TempFolder folder;
  const auto file = OutputFile::create(folder.path() / "f");
  ASSERT_TRUE(file);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto written = file->write(0, bytes_of("abcdef"));
  const auto sized = file->resize(6);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(written, FailsWith(FileErrc::kCannotWrite, "File too large"));
  EXPECT_THAT(sized, FailsWith(FileErrc::kCannotWrite, "File too large"));
}

TEST(ReplaceFileTest, ReplacesAFileAsAWhole) {
  const TempFolder folder;
  const fs::path path = folder.write("f", "earlier");
  folder.write("f.new", "of a killed process");
  ASSERT_TRUE(replace_file(path, "later"));
  EXPECT_EQ(*read_text_file(path, kAnySize), "later");
  EXPECT_EQ(entries_in(folder.path()), 1);
}

TEST(ReplaceFileTest, LeavesNothingBesideAFileThatItCannotReplace) {
  const TempFolder folder;
  const fs::path path = folder.path() / "f";
  fs::create_directories(path / "in the way");
  EXPECT_THAT(replace_file(path, "later"), FailsWith(FileErrc::kCannotWrite, "f"));
  EXPECT_EQ(entries_in(folder.path()), 1);
}

}  // namespace
}  // namespace weft
