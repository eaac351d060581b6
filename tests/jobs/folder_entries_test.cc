#include "weft/jobs/folder_entries.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "weft/jobs/folder_lock.h"
#include "weft/jobs/jobs_error.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

TEST(FolderEntriesTest, AnEntryIsRemovedAsAWhole) {
  const TempFolder temp;
  const fs::path folder = temp.path() / "new" / "folder";
  EXPECT_TRUE(entries_of(folder).value().empty());
  fs::create_directories(folder / "b" / "deep");
  fs::create_directories(folder / "a");
  EXPECT_EQ(entries_of(folder).value(), (std::vector{folder / "a", folder / "b"}));
  ASSERT_TRUE(remove_entry(folder / "b"));
  EXPECT_EQ(entries_of(folder).value(), std::vector{folder / "a"});
  EXPECT_FALSE(remove_entry(folder / "b"));
}

TEST(FolderEntriesTest, HiddenEntriesAreDiscardedAlone) {
  const TempFolder temp;
  fs::create_directories(temp.path() / ".adapter.part-7-0" / "deep");
  fs::create_directories(temp.path() / "adapter");
  discard_hidden(temp.path());
  EXPECT_FALSE(fs::exists(temp.path() / ".adapter.part-7-0"));
  EXPECT_TRUE(fs::exists(temp.path() / "adapter"));
  discard_hidden(temp.path() / "none");
}

TEST(FolderLockTest, OneHolderHasAFolderAtATime) {
  const TempFolder temp;
  {
    const auto first = lock_folder(temp.path() / "x");
    ASSERT_TRUE(first);
    const auto second = lock_folder(temp.path() / "x");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, JobsErrc::kBadFolder);
  }
  EXPECT_TRUE(lock_folder(temp.path() / "x"));
}

}  // namespace
}  // namespace weft::test
