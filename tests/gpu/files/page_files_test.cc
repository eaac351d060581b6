#include "weft/gpu/files/page_files.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

constexpr std::int32_t kPages = 4;
constexpr std::size_t kKeys = 10;  // bytes of a page in one block, and in another
constexpr std::size_t kValues = 6;

PageKey key_of(std::int32_t number) { return sha256(std::as_bytes(std::span(&number, 1))); }

struct PageFilesTest : testing::Test {
  void SetUp() override { open(); }

  void open() {
    files.reset();
    auto folder =
        PageFolder::open(path, key_of(-1), kKeys + kValues, std::int64_t{1} << 20U).value();
    const std::vector<PageBlock> blocks{{keys.data(), kKeys}, {values.data(), kValues}};
    files = std::make_unique<PageFiles>(std::move(folder), key_of(-1),
                                        std::make_unique<HostPageMemory>(blocks), kPages);
    files->tell_by([this](const std::string& what) {
      told.push_back(what);
      if (told.size() == 1) {
        is_told.set_value();
        if (blocks_when_told) go_on.get_future().wait();
      }
    });
  }
  void fill(std::int32_t page, int value) {
    std::fill_n(keys.begin() + page * static_cast<std::int64_t>(kKeys), kKeys, std::byte(value));
    std::fill_n(values.begin() + page * static_cast<std::int64_t>(kValues), kValues,
                std::byte(value + 1));
  }
  [[nodiscard]] bool has(std::int32_t page, int value) const {
    for (std::size_t i = 0; i < kKeys; ++i) {
      if (keys[static_cast<std::size_t>(page) * kKeys + i] != std::byte(value)) return false;
    }
    for (std::size_t i = 0; i < kValues; ++i) {
      if (values[static_cast<std::size_t>(page) * kValues + i] != std::byte(value + 1))
        return false;
    }
    return true;
  }
  /// Reads and returns how many pages it was.
  std::int32_t read(std::vector<PageKey> wanted, std::vector<std::int32_t> pages) const {
    const auto read = std::make_shared<PageRead>(std::move(wanted), std::move(pages));
    files->read(read);
    std::int32_t done = 0;
    Duration took{};
    while (!files->is_over(*read, done, took)) std::this_thread::yield();
    return done;
  }

  test::TempFolder temp;
  std::filesystem::path path = temp.path() / "pages";
  std::array<std::byte, kPages * kKeys> keys{};
  std::array<std::byte, kPages * kValues> values{};
  std::vector<std::string> told;  // by the files' thread, until they are closed
  std::promise<void> is_told, go_on;
  bool blocks_when_told = false;
  std::unique_ptr<PageFiles> files;
};

TEST_F(PageFilesTest, BringsPagesBackToOtherPlacesAfterARestart) {
  fill(0, 10);
  fill(1, 20);
  ASSERT_TRUE(files->save(0, key_of(0)));
  ASSERT_TRUE(files->save(1, key_of(1)));
  open();  // what waits is written before
  EXPECT_TRUE(files->contains(key_of(0)));
  EXPECT_EQ(read({key_of(0), key_of(1)}, {3, 2}), 2);
  EXPECT_TRUE(has(3, 10));
  EXPECT_TRUE(has(2, 20));
  EXPECT_EQ(files->stats().read, 2U);
  EXPECT_EQ(files->stats().pages, 2U);
  files->close();
  EXPECT_TRUE(told.empty());
}

TEST_F(PageFilesTest, AFolderThatOthersMayEnterIsTold) {
  namespace fs = std::filesystem;
  fs::permissions(path, fs::perms::group_read | fs::perms::group_exec, fs::perm_options::add);
  open();
  files->close();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0], "cache.folder: the mode of " + path.string() +
                         " lets others in, who may see or change what is kept; 0700 does not");
}

TEST_F(PageFilesTest, WhatIsWithdrawnMayChangeAtOnce) {
  for (int i = 0; i < 100; ++i) {
    fill(0, 10);
    ASSERT_TRUE(files->save(0, key_of(i)));
    files->withdraw(0);
    fill(0, 99);  // ThreadSanitizer would see the other thread here
  }
  files->close();
  open();
  for (int i = 0; i < 100; ++i) {
    if (!files->contains(key_of(i))) continue;
    ASSERT_EQ(read({key_of(i)}, {1}), 1);
    EXPECT_TRUE(has(1, 10)) << i;
  }
}

TEST_F(PageFilesTest, AReadThatIsCancelledLeavesItsPagesAlone) {
  for (std::int32_t i = 0; i < 3; ++i) ASSERT_TRUE(files->save(i, key_of(i)));
  open();
  for (int i = 0; i < 100; ++i) {
    const auto read = std::make_shared<PageRead>(std::vector{key_of(0), key_of(1), key_of(2)},
                                                 std::vector<std::int32_t>{1, 2, 3});
    files->read(read);
    files->cancel(*read);
    for (std::int32_t page = 1; page < kPages; ++page) fill(page, i);
    std::int32_t done = 0;
    Duration took{};
    EXPECT_TRUE(files->is_over(*read, done, took));
    for (std::int32_t page = 1; page < kPages; ++page) ASSERT_TRUE(has(page, i));
  }
}

TEST_F(PageFilesTest, DropsWhatComesWhileTooManyWaitAndGoesOnThen) {
  blocks_when_told = true;
  std::filesystem::remove_all(path);
  ASSERT_TRUE(files->save(0, key_of(0)));
  is_told.get_future().wait();  // the thread is held up
  for (std::size_t i = 0; i < PageFiles::kMostWaiting; ++i) {
    ASSERT_TRUE(files->save(1, key_of(static_cast<std::int32_t>(i))));
  }
  EXPECT_FALSE(files->save(2, key_of(1000)));
  EXPECT_EQ(files->stats().dropped, 1U);
  EXPECT_EQ(files->stats().failures, 1U);
  std::filesystem::create_directory(path);
  go_on.set_value();
  files->close();
  EXPECT_EQ(files->stats().written, 1U) << "of one page what was wanted last counts";
  EXPECT_TRUE(files->contains(key_of(PageFiles::kMostWaiting - 1)));
}

TEST_F(PageFilesTest, TellsOnceOfADiskThatFailsAndAgainWhenItHadRecovered) {
  std::filesystem::remove_all(path);
  for (std::int32_t i = 0; i < kPages; ++i) ASSERT_TRUE(files->save(i, key_of(i)));
  while (files->stats().failures < kPages) std::this_thread::yield();
  std::filesystem::create_directory(path);
  ASSERT_TRUE(files->save(0, key_of(0)));
  while (files->stats().written == 0) std::this_thread::yield();
  std::filesystem::remove_all(path);
  EXPECT_EQ(read({key_of(0)}, {1}), 0);
  ASSERT_TRUE(files->save(0, key_of(5)));
  files->close();
  ASSERT_EQ(told.size(), 3U);
  EXPECT_NE(told[0].find("cache.folder: writing pages"), std::string::npos) << told[0];
  EXPECT_NE(told[1].find("cache.folder: reading pages"), std::string::npos) << told[1];
  EXPECT_NE(told[2].find("cache.folder: writing pages"), std::string::npos) << told[2];
}

TEST_F(PageFilesTest, AReadEndsWhereAPageCannotBeHad) {
  for (std::int32_t i = 0; i < 3; ++i) {
    fill(i, 10 * i);
    ASSERT_TRUE(files->save(i, key_of(i)));
  }
  files->close();
  std::ofstream(path / (to_hex(key_of(1)) + ".kv"), std::ios::binary | std::ios::app) << "more";
  open();
  fill(2, 77);
  EXPECT_EQ(read({key_of(0), key_of(1), key_of(2)}, {1, 2, 3}), 1);
  EXPECT_TRUE(has(1, 0));
  EXPECT_TRUE(has(2, 77));
  EXPECT_FALSE(files->contains(key_of(1)));
  files->close();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_NE(told[0].find("1 files are torn"), std::string::npos) << told[0];
}

TEST_F(PageFilesTest, WhoAttachesFindsNothingOfThoseBefore) {
  EXPECT_TRUE(files->attach());
  ASSERT_TRUE(files->save(0, key_of(0)));
  EXPECT_FALSE(files->attach());
  fill(0, 50);
  ASSERT_TRUE(files->save(0, key_of(1)));
  open();
  ASSERT_EQ(read({key_of(1)}, {1}), 1);
  EXPECT_TRUE(has(1, 50));
}

}  // namespace
}  // namespace weft
