#include "weft/jobs/files/file_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/jobs/jobs_error.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kData = "{\"text\":\"one\"}\n";

class FileStoreTest : public testing::Test {
 public:
  [[nodiscard]] FileStore open() const { return FileStore::open(folder(), bounds).value(); }
  [[nodiscard]] fs::path folder() const { return temp.path() / "files"; }
  static TrainingFile file(const std::string& owner, const std::string& name = "a.jsonl") {
    return {.owner = owner, .name = name, .purpose = std::string(kFineTunePurpose)};
  }
  static std::vector<std::string> names(const FileStore& store, const std::string& owner) {
    std::vector<std::string> all;
    for (const TrainingFile& one : store.list(owner)) all.push_back(one.name);
    return all;
  }

  TempFolder temp;
  FileStore::Bounds bounds{.file_bytes = 1000, .all_bytes = 10'000, .files = 10};
};

TEST_F(FileStoreTest, KeepsFilesOverARestart) {
  TrainingFile kept;
  {
    FileStore store = open();
    kept = store.add(file("ann"), kData).value();
    ASSERT_TRUE(store.add(file("ann", "b.jsonl"), kData));
  }
  FileStore store = open();
  const TrainingFile found = store.find(kept.id, "ann").value();
  EXPECT_EQ(found.name, "a.jsonl");
  EXPECT_EQ(found.purpose, kFineTunePurpose);
  EXPECT_EQ(found.bytes, static_cast<std::int64_t>(kData.size()));
  EXPECT_EQ(found.created, kept.created);
  EXPECT_EQ(store.content(kept.id, "ann").value(), kData);
  ASSERT_TRUE(store.add(file("ann", "c.jsonl"), kData));
  EXPECT_THAT(names(store, "ann"), testing::ElementsAre("c.jsonl", "b.jsonl", "a.jsonl"));
}

TEST_F(FileStoreTest, ShowsAFileToItsOwnerAlone) {
  FileStore store = open();
  const std::string id = store.add(file("ann"), kData).value().id;
  EXPECT_EQ(store.find(id, "bob").error().code, JobsErrc::kNoSuchFile);
  EXPECT_EQ(store.content(id, "bob").error().code, JobsErrc::kNoSuchFile);
  EXPECT_EQ(store.erase(id, "bob").error().code, JobsErrc::kNoSuchFile);
  EXPECT_TRUE(store.list("bob").empty());
  EXPECT_TRUE(store.find(id, "ann"));
}

TEST_F(FileStoreTest, ADeletedFileIsGoneAndItsRoomIsFree) {
  bounds.files = 1;
  FileStore store = open();
  const std::string id = store.add(file("ann"), kData).value().id;
  EXPECT_EQ(store.add(file("ann"), kData).error().code, JobsErrc::kFull);
  ASSERT_TRUE(store.erase(id, "ann"));
  EXPECT_EQ(store.find(id, "ann").error().code, JobsErrc::kNoSuchFile);
  EXPECT_EQ(store.erase(id, "ann").error().code, JobsErrc::kNoSuchFile);
  EXPECT_TRUE(fs::is_empty(folder()));
  EXPECT_TRUE(store.add(file("ann"), kData));
}

TEST_F(FileStoreTest, AFileThatCannotBeRemovedStaysAndCounts) {
  FileStore store = open();
  const std::string id = store.add(file("ann"), kData).value().id;
  fs::create_directories(folder() / (".gone-" + id) / "in the way");
  EXPECT_EQ(store.erase(id, "ann").error().code, FileErrc::kCannotWrite);
  EXPECT_EQ(store.use().files, 1);
  EXPECT_EQ(store.use().bytes, static_cast<std::int64_t>(kData.size()));
  EXPECT_EQ(store.content(id, "ann").value(), kData);
  fs::remove_all(folder() / (".gone-" + id));
  ASSERT_TRUE(store.erase(id, "ann"));
  EXPECT_EQ(store.use().bytes, 0);
}

TEST_F(FileStoreTest, AFileMayComeWithAnId) {
  FileStore store = open();
  TrainingFile named = file("ann");
  named.id = "file-mine";
  EXPECT_EQ(store.add(named, kData).value().id, "file-mine");
  EXPECT_FALSE(store.add(named, kData)) << "it is there";
  EXPECT_EQ(store.use().files, 1);
}

TEST_F(FileStoreTest, RefusesWhatIsTooLargeAndNamesTheKey) {
  bounds.file_bytes = static_cast<std::int64_t>(kData.size());
  bounds.all_bytes = 3 * bounds.file_bytes;
  FileStore store = open();
  const auto large = store.add(file("ann"), std::string(kData) + "\n");
  EXPECT_EQ(large.error().code, JobsErrc::kFileTooLarge);
  EXPECT_THAT(large.error().detail, testing::HasSubstr("training.max_file_bytes"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store.add(file(""), kData));
  const auto full = store.add(file(""), kData);
  EXPECT_EQ(full.error().code, JobsErrc::kFull);
  EXPECT_THAT(full.error().detail, testing::HasSubstr("training.max_files_bytes"));
  FileStore again = open();
  EXPECT_EQ(again.add(file(""), kData).error().code, JobsErrc::kFull) << "also after a restart";
}

TEST_F(FileStoreTest, AnOwnerHasHalfOfWhatOthersLeave) {
  bounds.files = 8;
  const auto taken_by = [](FileStore& store, const std::string& owner) {
    int files = 0;
    while (store.add(file(owner), kData)) ++files;
    return files;
  };
  FileStore store = open();
  EXPECT_EQ(taken_by(store, "ann"), 4);
  EXPECT_EQ(taken_by(store, "bob"), 2);
  EXPECT_EQ(taken_by(store, "ann"), 0);
  EXPECT_EQ(taken_by(store, "cid"), 1) << "some place is left for others";
  FileStore again = open();
  EXPECT_EQ(taken_by(again, "ann"), 0) << "also after a restart";
  EXPECT_EQ(taken_by(again, "dan"), 1);
  ASSERT_TRUE(again.erase(again.list("ann").front().id, "ann"));
  EXPECT_EQ(again.use().files, 7);
  EXPECT_THAT(again.add(file("bob"), kData).error().detail,
              testing::HasSubstr("2 files of the 2 that you may have now (training.max_files)"));
}

TEST_F(FileStoreTest, BytesAreSharedLikeFiles) {
  const auto size = static_cast<std::int64_t>(kData.size());
  bounds.all_bytes = 4 * size;
  FileStore store = open();
  ASSERT_TRUE(store.add(file("ann"), kData));
  ASSERT_TRUE(store.add(file("ann"), kData));
  EXPECT_THAT(store.add(file("ann"), kData).error().detail,
              testing::HasSubstr("training.max_files_bytes"));
  EXPECT_TRUE(store.add(file("bob"), kData));
}

TEST_F(FileStoreTest, BytesOfADeletedFileCountAsLongAsAJobNeedsThem) {
  const auto size = static_cast<std::int64_t>(kData.size());
  bounds.all_bytes = size;
  FileStore store = open();
  std::vector<HeldFile> held;
  store.count_held([&] { return held; });
  const std::string id = store.add(file(""), kData)->id;
  held.push_back({id, "", size});
  EXPECT_EQ(store.use().bytes, size) << "the file and the job's link are one";
  ASSERT_TRUE(store.erase(id, ""));
  EXPECT_EQ(store.use().files, 0);
  EXPECT_EQ(store.use().bytes, size);
  EXPECT_EQ(store.add(file(""), kData).error().code, JobsErrc::kFull);
  held.clear();
  EXPECT_TRUE(store.add(file(""), kData));
}

TEST_F(FileStoreTest, ABadFileIsNotKeptAndTakesNoRoom) {
  bounds.files = 1;
  FileStore store = open();
  const auto bad = store.add(file("ann"), "{\"text\":7}");
  EXPECT_EQ(bad.error().code, JobsErrc::kBadFile);
  EXPECT_EQ(bad.error().detail, "line 1: text: must be a text");
  EXPECT_TRUE(fs::is_empty(folder()));
  EXPECT_TRUE(store.add(file("ann"), kData));
}

TEST_F(FileStoreTest, ResultsAreKeptAsTheyAre) {
  FileStore store = open();
  TrainingFile results = file("ann", "results.csv");
  results.purpose = kFineTuneResultsPurpose;
  const auto kept = store.add(results, "step,train_loss\n");
  ASSERT_TRUE(kept);
  EXPECT_EQ(store.content(kept->id, "ann").value(), "step,train_loss\n");
}

TEST_F(FileStoreTest, RemovesWhatAKilledProcessHasLeft) {
  std::string id;
  {
    FileStore store = open();
    id = store.add(file("ann"), kData).value().id;
  }
  fs::create_directories(folder() / ".file-x.part-1-0");
  fs::create_directories(folder() / (".gone-" + id + "y"));
  FileStore store = open();
  EXPECT_EQ(store.list("ann").size(), 1U);
  const auto entries = fs::directory_iterator(folder());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST_F(FileStoreTest, RefusesDescriptionsThatItCannotRead) {
  std::string id;
  {
    FileStore store = open();
    id = store.add(file("ann"), kData).value().id;
  }
  const std::string place = "files/" + id + "/file.json";
  for (const std::string_view text :
       {"", "{\"version\":1", "[]", "{\"version\":2}", "{\"version\":1}", "{}"}) {
    temp.write(place, text);
    const auto opened = FileStore::open(folder(), bounds);
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().code, JobsErrc::kBadFolder) << text;
    EXPECT_THAT(opened.error().detail, testing::HasSubstr("file.json")) << text;
  }
}

}  // namespace
}  // namespace weft::test
