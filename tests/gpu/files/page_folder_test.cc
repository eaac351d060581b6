#include "weft/gpu/files/page_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPageBytes = 100;
constexpr std::int64_t kFileBytes = 8 + 32 + 32 + 8 + kPageBytes + 32;

using Page = std::array<std::byte, kPageBytes>;

PageKey key_of(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

Page page_of(int value) {
  Page page;
  page.fill(static_cast<std::byte>(value));
  return page;
}

struct PageFolderTest : testing::Test {
  [[nodiscard]] Result<std::unique_ptr<PageFolder>> open(std::int64_t most = 10 * kFileBytes,
                                                         std::string_view model = "model") const {
    return PageFolder::open(path, key_of(model), kPageBytes, most);
  }
  [[nodiscard]] fs::path file(const PageKey& key) const { return path / (to_hex(key) + ".kv"); }

  test::TempFolder temp;
  fs::path path = temp.path() / "pages";
  PageKey a = key_of("a"), b = key_of("b"), c = key_of("c");
};

TEST_F(PageFolderTest, GivesBackWhatWasWrittenAlsoInTheNextProcess) {
  {
    const auto folder = open().value();
    ASSERT_TRUE(folder->write(a, page_of(1)));
    ASSERT_TRUE(folder->write(b, page_of(2)));
  }
  const auto folder = open().value();
  EXPECT_EQ(folder->size(), 2U);
  EXPECT_EQ(folder->bytes(), 2 * kFileBytes);
  EXPECT_EQ(folder->foreign(), 0U);
  Page page = page_of(0);
  ASSERT_TRUE(folder->read(a, page));
  EXPECT_EQ(page, page_of(1));
  ASSERT_TRUE(folder->read(b, page));
  EXPECT_EQ(page, page_of(2));
  EXPECT_FALSE(folder->contains(c));
  EXPECT_THAT(folder->read(c, page), test::FailsWith(FileErrc::kCannotRead, to_hex(c)));
}

TEST_F(PageFolderTest, IsForItsOwnerAlone) {
  const auto folder = open().value();
  ASSERT_TRUE(folder->write(a, page_of(1)));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(file(a).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(PageFolderTest, IsOfOneObjectAtATime) {
  auto first = open();
  ASSERT_TRUE(first);
  EXPECT_THAT(open(), test::FailsWith(FileErrc::kExists, "another model or process"));
  first->reset();
  EXPECT_TRUE(open());
}

TEST_F(PageFolderTest, RemovesWhatWasUsedLongestAgoWhereItIsFull) {
  const auto folder = open(2 * kFileBytes + 1).value();
  ASSERT_TRUE(folder->write(a, page_of(1)));
  ASSERT_TRUE(folder->write(b, page_of(2)));
  Page page;
  ASSERT_TRUE(folder->read(a, page));
  ASSERT_TRUE(folder->write(c, page_of(3)));
  EXPECT_TRUE(folder->contains(a));
  EXPECT_FALSE(folder->contains(b));
  EXPECT_FALSE(fs::exists(file(b)));
  EXPECT_EQ(folder->bytes(), 2 * kFileBytes);
}

TEST_F(PageFolderTest, HasLessAfterAStartWithLessRoom) {
  {
    const auto folder = open().value();
    for (const PageKey& key : {a, b, c}) ASSERT_TRUE(folder->write(key, page_of(1)));
  }
  const auto folder = open(kFileBytes).value();
  EXPECT_EQ(folder->size(), 1U);
  EXPECT_EQ(fs::exists(file(a)) + fs::exists(file(b)) + fs::exists(file(c)), 1);
}

TEST_F(PageFolderTest, AFileThatIsCutIsNotFound) {
  {
    const auto folder = open().value();
    ASSERT_TRUE(folder->write(a, page_of(1)));
  }
  fs::resize_file(file(a), kFileBytes - 1);
  const auto folder = open().value();
  EXPECT_FALSE(folder->contains(a));
  EXPECT_EQ(folder->foreign(), 1U);
  ASSERT_TRUE(folder->write(a, page_of(2))) << "its name may be had again";
  Page page;
  ASSERT_TRUE(folder->read(a, page));
  EXPECT_EQ(page, page_of(2));
}

TEST_F(PageFolderTest, AnyByteThatChangesIsSeenWhenItIsRead) {
  for (std::int64_t at = 0; at < kFileBytes; ++at) {
    {
      const auto folder = open().value();
      ASSERT_TRUE(folder->write(a, page_of(1)));
      std::fstream bytes(file(a), std::ios::binary | std::ios::in | std::ios::out);
      bytes.seekg(at);
      const auto was = static_cast<char>(bytes.get());
      bytes.seekp(at);
      bytes.put(static_cast<char>(was ^ 1));
      bytes.close();
      Page page;
      ASSERT_THAT(folder->read(a, page), test::FailsWith(FileErrc::kCannotRead, to_hex(a))) << at;
      EXPECT_FALSE(folder->contains(a));
    }
    EXPECT_EQ(open().value()->size(), 0U);
  }
}

TEST_F(PageFolderTest, FilesOfAnotherModelAreNotReadAndTakeRoom) {
  {
    const auto folder = open(10 * kFileBytes, "another model").value();
    ASSERT_TRUE(folder->write(a, page_of(1)));
    ASSERT_TRUE(folder->write(b, page_of(1)));
  }
  const auto folder = open(2 * kFileBytes).value();
  EXPECT_FALSE(folder->contains(a));
  EXPECT_EQ(folder->foreign(), 2U);
  EXPECT_EQ(folder->bytes(), 2 * kFileBytes);
  ASSERT_TRUE(folder->write(c, page_of(3)));
  EXPECT_EQ(fs::exists(file(a)) + fs::exists(file(b)), 1) << "the oldest makes room";
}

TEST_F(PageFolderTest, APageUnderAnothersNameIsNotRead) {
  {
    const auto folder = open().value();
    ASSERT_TRUE(folder->write(a, page_of(1)));
  }
  fs::rename(file(a), file(b));
  const auto folder = open().value();
  EXPECT_FALSE(folder->contains(b));
  EXPECT_EQ(folder->foreign(), 1U);
}

TEST_F(PageFolderTest, LeavesAloneWhatItDoesNotKnowAndRemovesDrafts) {
  fs::create_directory(path);
  std::ofstream(path / "notes.txt") << "mine";
  std::ofstream(path / ("." + to_hex(a) + ".draft")) << "half";
  fs::create_directory(file(b));
  fs::create_symlink(path / "notes.txt", file(c));
  const auto folder = open().value();
  EXPECT_EQ(folder->foreign(), 3U);
  EXPECT_EQ(folder->bytes(), 0);
  EXPECT_TRUE(fs::exists(path / "notes.txt"));
  EXPECT_FALSE(fs::exists(path / ("." + to_hex(a) + ".draft")));
  EXPECT_THAT(folder->write(b, page_of(1)), test::FailsWith(FileErrc::kCannotWrite, to_hex(b)));
  EXPECT_FALSE(folder->contains(b));
}

TEST_F(PageFolderTest, AFolderThatVanishesIsAnErrorEachTime) {
  const auto folder = open().value();
  ASSERT_TRUE(folder->write(a, page_of(1)));
  fs::remove_all(path);
  EXPECT_THAT(folder->write(b, page_of(1)),
              test::FailsWith(FileErrc::kCannotWrite, "No such file"));
  Page page;
  EXPECT_THAT(folder->read(a, page), test::FailsWith(FileErrc::kCannotRead, to_hex(a)));
  EXPECT_EQ(folder->size(), 0U);
  EXPECT_EQ(folder->bytes(), 0);
}

TEST_F(PageFolderTest, IsRefusedWhereNoPageHasRoomOrItCannotBeMade) {
  EXPECT_THAT(open(kFileBytes - 1), test::FailsWith(FileErrc::kTooLarge, "a page takes 212 bytes"));
  path = temp.path() / "missing" / "pages";
  EXPECT_THAT(open(), test::FailsWith(FileErrc::kCannotWrite, "missing/pages"));
  path = temp.write("file", std::string_view("text"));
  EXPECT_THAT(open(), test::FailsWith(FileErrc::kCannotWrite, "file/lock"));
}

TEST(PageKeyTest, IsAnotherForEachThingThatLeadsToThePage) {
  PageKeyMaker maker;
  const PageKey model = key_of("model");
  const std::string alice = "alice";
  const PageKey none = maker.first(model, nullptr, {});
  const std::string empty;
  EXPECT_NE(none, maker.first(key_of("other"), nullptr, {}));
  EXPECT_NE(none, maker.first(model, &empty, {}));
  EXPECT_NE(none, maker.first(model, &alice, {}));
  EXPECT_NE(none, maker.first(model, nullptr, {AngleSet::kLong}));
  const std::array<TokenId, 4> tokens{1, 2, 3, 4};
  const std::array<TokenId, 4> others{1, 2, 3, 5};
  EXPECT_EQ(maker.next(none, tokens), maker.next(none, tokens));
  EXPECT_NE(maker.next(none, tokens), maker.next(none, others));
  EXPECT_NE(maker.next(none, tokens), maker.next(maker.next(none, others), tokens));
}

TEST(PageKeyTest, IsWrittenInOneWay) {
  const PageKey key = key_of("text");
  PageKey read{};
  ASSERT_TRUE(from_hex(to_hex(key), read));
  EXPECT_EQ(read, key);
  std::string text = to_hex(key);
  EXPECT_FALSE(from_hex(text + "0", read));
  text[0] = 'g';
  EXPECT_FALSE(from_hex(text, read));
  EXPECT_FALSE(from_hex(std::string(64, 'A'), read)) << "two names would be one key";
}

/// A disk with room for so many pages, of which others take none.
PageFile::Put disk_of(const fs::path& folder, const int& pages) {
  return [&folder, &pages](const FileDescriptor& file, std::span<const std::byte> bytes) {
    const auto kept = std::ranges::count_if(fs::directory_iterator(folder), [](const auto& one) {
      return one.path().extension() == ".kv";
    });
    if (kept < pages) return file.write(bytes);
    static_cast<void>(file.write(bytes.first(bytes.size() / 2)));
    errno = ENOSPC;
    return false;
  };
}

TEST_F(PageFolderTest, GivesUpItsOldestPagesWhereTheDiskIsFull) {
  int room = 2;
  const auto folder =
      PageFolder::open(path, key_of("model"), kPageBytes, 10 * kFileBytes, disk_of(path, room))
          .value();
  ASSERT_TRUE(folder->write(a, page_of(1)));
  ASSERT_TRUE(folder->write(b, page_of(2)));
  ASSERT_TRUE(folder->write(c, page_of(3)));
  EXPECT_FALSE(folder->contains(a));
  EXPECT_FALSE(fs::exists(file(a)));
  EXPECT_TRUE(folder->contains(b));
  Page page;
  ASSERT_TRUE(folder->read(c, page));
  EXPECT_EQ(page, page_of(3));
  EXPECT_EQ(folder->bytes(), 2 * kFileBytes);
}

TEST_F(PageFolderTest, GoesOnOnceADiskThatOthersHaveFilledHasRoomAgain) {
  const auto room = std::make_shared<int>(10);
  const auto folder =
      PageFolder::open(path, key_of("model"), kPageBytes, 10 * kFileBytes, disk_of(path, *room))
          .value();
  ASSERT_TRUE(folder->write(a, page_of(1)));
  *room = 0;
  EXPECT_THAT(folder->write(b, page_of(2)),
              test::FailsWith(FileErrc::kCannotWrite, "No space left on device"));
  EXPECT_EQ(folder->bytes(), 0);
  EXPECT_FALSE(fs::exists(path / ("." + to_hex(b) + ".draft"))) << "no half of it is left";
  *room = 10;
  EXPECT_TRUE(folder->write(b, page_of(2)));
  EXPECT_TRUE(folder->contains(b));
}

TEST_F(PageFolderTest, APipeInThePlaceOfAFileIsNotWaitedFor) {
  const auto folder = open().value();
  ASSERT_TRUE(folder->write(a, page_of(1)));
  ASSERT_TRUE(fs::remove(file(a)));
  ASSERT_EQ(::mkfifo(file(a).c_str(), 0600), 0);
  Page page;
  EXPECT_THAT(folder->read(a, page), test::FailsWith(FileErrc::kCannotRead, to_hex(a)));
  EXPECT_FALSE(folder->contains(a));
  const fs::path draft = path / ("." + to_hex(b) + ".draft");
  ASSERT_EQ(::mkfifo(draft.c_str(), 0600), 0);
  EXPECT_TRUE(folder->write(b, page_of(2)));
  EXPECT_TRUE(folder->read(b, page));
}

TEST_F(PageFolderTest, ALinkOrAPipeThatIsThereAtTheStartIsNotFollowed) {
  {
    const auto folder = open().value();
    ASSERT_TRUE(folder->write(a, page_of(1)));
  }
  fs::rename(file(a), temp.path() / "elsewhere");
  fs::create_symlink(temp.path() / "elsewhere", file(a));
  ASSERT_EQ(::mkfifo(file(b).c_str(), 0600), 0);
  const auto folder = open().value();
  EXPECT_EQ(folder->size(), 0U);
  EXPECT_EQ(folder->foreign(), 2U);
}

}  // namespace
}  // namespace weft
