#include "weft/gpu/ranks/world/rank_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "weft/gpu/device_error.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::FailsWith;

struct RankKeyTest : testing::Test {
  /// The world of these variables, whose head listens at `address`.
  [[nodiscard]] Result<RankWorld> take(std::map<std::string, std::string> variables,
                                       const std::string& address = "127.0.0.1:1") const {
    variables.emplace("TMPDIR", temp.path().string());
    const auto environment = [&variables](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    };
    RankWorld world;
    world.size = 2;
    world.address = address;
    if (auto taken = take_rank_key(environment, world); !taken) return taken.error();
    return world;
  }

  test::TempFolder temp;
  fs::path folder = temp.path() / ("weft-" + std::to_string(::geteuid()));
  fs::path file = folder / "ranks.key";
};

TEST_F(RankKeyTest, ProcessesOfOneUserFindTheSameKeyThatNobodyElseCanRead) {
  const std::string key = take({}).value().key;
  EXPECT_EQ(key.size(), 64U);
  EXPECT_EQ(take({}).value().key, key);
  struct stat status{};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1) << "no draft is left";
}

TEST_F(RankKeyTest, EachMachineMakesAnother) {
  const std::string key = take({}).value().key;
  fs::remove(file);
  EXPECT_NE(take({}).value().key, key);
}

TEST_F(RankKeyTest, TheEnvironmentHasTheFirstWord) {
  EXPECT_EQ(take({{"WEFT_RANK_KEY", "k"}}).value().key, "k");
  const std::string given = temp.write("given.key", "from a file\n").string();
  EXPECT_EQ(take({{"WEFT_RANK_KEY_FILE", given}}).value().key, "from a file");
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(RankKeyTest, AFileThatIsNamedAndMissingIsMade) {
  const fs::path named = temp.path() / "named.key";
  const std::string key = take({{"WEFT_RANK_KEY_FILE", named.string()}}, "10.0.0.1:1").value().key;
  EXPECT_EQ(key.size(), 64U);
  EXPECT_TRUE(fs::exists(named));
}

TEST_F(RankKeyTest, BeyondTheLoopbackOrWhereNoneIsWantedNoneIsMade) {
  EXPECT_EQ(take({}, "10.0.0.1:1").value().key, "");
  const RankWorld without = take({{"WEFT_RANK_NO_KEY", "1"}}).value();
  EXPECT_EQ(without.key, "");
  EXPECT_TRUE(check_rank_key(without));
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(RankKeyTest, WhatOthersMayHaveMadeIsNotTrusted) {
  EXPECT_TRUE(take({}));
  fs::permissions(file, fs::perms::others_read, fs::perm_options::add);
  EXPECT_THAT(take({}), FailsWith(DeviceErrc::kUnfit, "others can read or change it"));
  fs::remove(file);
  fs::create_symlink(temp.write("elsewhere", "k"), file);
  EXPECT_FALSE(take({}));
  fs::remove(file);
  fs::permissions(folder, fs::perms::others_exec, fs::perm_options::add);
  EXPECT_THAT(take({}), FailsWith(DeviceErrc::kUnfit, "is no folder of this user alone"));
}

TEST_F(RankKeyTest, AFileWithoutAKeyIsRefusedByItsName) {
  const std::string empty = temp.write("empty.key", "\n").string();
  EXPECT_THAT(take({{"WEFT_RANK_KEY_FILE", empty}}),
              FailsWith(DeviceErrc::kUnfit, "empty.key: is empty"));
  EXPECT_THAT(take({{"WEFT_RANK_KEY_FILE", temp.path().string()}}),
              FailsWith(DeviceErrc::kUnfit, "is no file"));
  const fs::path pipe = temp.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(take({{"WEFT_RANK_KEY_FILE", pipe.string()}}),
              FailsWith(DeviceErrc::kUnfit, "is no file"));
}

}  // namespace
}  // namespace weft
