#include "weft/actors/adapters/adapter_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/tests/actors/adapters/fake_adapters.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;
using test::FakeAdapters;

class AdapterRegistryTest : public testing::Test {
 public:
  void write(const std::string& name, const std::string& letters) const {
    adapters.folder.write(name, letters);
  }
  Result<void> load(const std::string& name, const std::string& path, bool replaces = false) {
    AdapterChange change(name, path);
    change.replaces = replaces;
    return registry.load(change);
  }
  /// Returns the content that a request for the name gets; none where it gets an error.
  AdapterId content_of(const std::string& name) {
    const auto prepared = registry.prepare(name);
    return prepared ? (*prepared)->id : AdapterId{};
  }
  bool in_memory(const std::string& name) {
    const auto found = registry.find(name);
    return found && *found != nullptr;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const AdapterInfo& one : registry.list()) all.push_back(one.name);
    return all;
  }

  FakeAdapters adapters;
  AdapterRegistry registry{adapters.options()};
};

TEST_F(AdapterRegistryTest, KeepsTheOldContentForARequestThatHasItWhenTheNameGetsAnother) {
  write("sql", "old");
  ASSERT_TRUE(load("sql", "sql"));
  const auto held = registry.find("sql");
  write("sql", "new");
  ASSERT_TRUE(load("sql", "sql", /*replaces=*/true));
  EXPECT_EQ((*held)->id, FakeAdapters::id_of("old"));
  EXPECT_EQ(content_of("sql"), FakeAdapters::id_of("new"));
  EXPECT_EQ(registry.bytes(), 10);
}

TEST_F(AdapterRegistryTest, PreparesTheSameContentOnceForTwoNames) {
  write("a", "same");
  write("b", "same");
  ASSERT_TRUE(load("one", "a"));
  ASSERT_TRUE(load("two", "b"));
  EXPECT_EQ(adapters.prepares, 1);
  EXPECT_EQ(*registry.find("one"), *registry.find("two"));
  ASSERT_TRUE(registry.unload("one"));
  EXPECT_TRUE(in_memory("two"));
  EXPECT_EQ(registry.bytes(), 10);
  ASSERT_TRUE(registry.unload("two"));
  EXPECT_EQ(registry.bytes(), 0);
}

TEST_F(AdapterRegistryTest, RefusesANameThatHasAnAdapterUnlessItIsReplaced) {
  write("a", "a");
  ASSERT_TRUE(load("sql", "a"));
  EXPECT_THAT(load("sql", "a"), FailsWith(EngineErrc::kAdapterLoaded, "sql"));
  EXPECT_TRUE(load("sql", "a", /*replaces=*/true));
}

TEST_F(AdapterRegistryTest, LeavesANameWhatItHadWhenItsNewFilesAreBad) {
  write("a", "good");
  ASSERT_TRUE(load("sql", "a"));
  write("a", "bad");
  EXPECT_THAT(load("sql", "a", true), FailsWith(EngineErrc::kAdapterFailed, "is bad"));
  EXPECT_EQ(content_of("sql"), FakeAdapters::id_of("good"));
}

TEST_F(AdapterRegistryTest, LetsTheLeastRecentlyUsedGoAndReadsItAgainOnUse) {
  AdapterRegistry::Options options = adapters.options();
  options.host_bytes = 25;
  AdapterRegistry small(std::move(options));
  for (const char* name : {"a", "b", "c"}) write(name, name);
  ASSERT_TRUE(small.load(AdapterChange("a", "a")));
  ASSERT_TRUE(small.load(AdapterChange("b", "b")));
  ASSERT_NE(*small.find("a"), nullptr);  // used after b
  ASSERT_TRUE(small.load(AdapterChange("c", "c")));
  EXPECT_EQ(*small.find("b"), nullptr);
  EXPECT_EQ(small.bytes(), 20);
  const auto again = small.prepare("b");
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->id, FakeAdapters::id_of("b"));
  EXPECT_EQ(*small.find("a"), nullptr);
}

TEST_F(AdapterRegistryTest, GivesARequestAnAdapterThatItHasNoRoomToKeep) {
  AdapterRegistry::Options options = adapters.options();
  options.host_bytes = 0;
  AdapterRegistry none(std::move(options));
  write("a", "a");
  const auto prepared = none.prepare("a");
  ASSERT_TRUE(prepared);
  EXPECT_EQ((*prepared)->id, FakeAdapters::id_of("a"));
  EXPECT_EQ(none.bytes(), 0);
  EXPECT_EQ(*none.find("a"), *prepared);  // as long as the request holds it
}

TEST_F(AdapterRegistryTest, FindsNamesOfTheFolderAndNothingOutsideOfIt) {
  write("sql", "sql");
  write("poet.gguf", "poet");
  write(".hidden", "hidden");
  EXPECT_TRUE(registry.has("sql"));
  EXPECT_FALSE(registry.has("SQL2"));
  EXPECT_FALSE(registry.has(".hidden"));
  EXPECT_FALSE(registry.has("../" + adapters.folder.path().filename().string() + "/sql"));
  EXPECT_FALSE(registry.has((adapters.folder.path() / "sql").string()));
  EXPECT_THAT(names(), testing::IsEmpty());
  EXPECT_EQ(content_of("poet"), FakeAdapters::id_of("poet"));
  EXPECT_THAT(names(), testing::ElementsAre("poet"));
}

TEST_F(AdapterRegistryTest, ANameOfTheFolderStaysRemovedUntilItIsLoadedAgain) {
  write("sql", "sql");
  write("poet.gguf", "poet");
  for (const char* name : {"sql", "poet"}) {
    ASSERT_TRUE(registry.prepare(name)) << name;
    ASSERT_TRUE(registry.unload(name)) << name;
    EXPECT_FALSE(registry.has(name)) << name;
    EXPECT_THAT(registry.find(name), FailsWith(EngineErrc::kNoSuchAdapter, name));
    EXPECT_THAT(registry.prepare(name), FailsWith(EngineErrc::kNoSuchAdapter, name));
  }
  EXPECT_THAT(registry.prepare("poet.gguf"), FailsWith(EngineErrc::kNoSuchAdapter, "poet.gguf"))
      << "it is the same file";
  EXPECT_THAT(names(), testing::IsEmpty());
  ASSERT_TRUE(registry.load(AdapterChange("sql")));
  EXPECT_EQ(content_of("sql"), FakeAdapters::id_of("sql"));
  EXPECT_THAT(names(), testing::ElementsAre("sql"));
}

TEST_F(AdapterRegistryTest, DoesNotReadABrokenAdapterAgainWhileItsFilesStayAsTheyAre) {
  write("x", "bad");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(registry.prepare("x"), FailsWith(EngineErrc::kAdapterFailed, "is bad"));
  }
  EXPECT_EQ(adapters.reads, 1);
  write("x", "badly");
  EXPECT_THAT(registry.prepare("x"), FailsWith(EngineErrc::kAdapterFailed, "is bad"));
  EXPECT_EQ(adapters.reads, 2) << "the file has changed";
  adapters.now += AdapterRegistry::kFailureHolds;
  EXPECT_THAT(registry.prepare("x"), FailsWith(EngineErrc::kAdapterFailed, "is bad"));
  EXPECT_EQ(adapters.reads, 3) << "it may have had another cause";
  write("x", "good");
  EXPECT_EQ(content_of("x"), FakeAdapters::id_of("good"));
}

TEST_F(AdapterRegistryTest, AFailureOfABrokenFolderHoldsUntilOneOfItsFilesChanges) {
  std::filesystem::create_directories(adapters.folder.path() / "x/inner");
  write("x/inner/adapter_config.json", "{}");
  EXPECT_THAT(registry.prepare("x"), FailsWith(EngineErrc::kAdapterFailed, "is bad"));
  EXPECT_THAT(registry.prepare("x"), FailsWith(EngineErrc::kAdapterFailed, "is bad"));
  EXPECT_EQ(adapters.reads, 1);
  write("x/inner/adapter_config.json", "{} ");
  EXPECT_THAT(registry.prepare("x"), FailsWith(EngineErrc::kAdapterFailed, "is bad"));
  EXPECT_EQ(adapters.reads, 2);
}

TEST_F(AdapterRegistryTest, ReadsNoFurtherAdapterWhileRequestsHaveAllTheMemory) {
  AdapterRegistry::Options options = adapters.options();
  options.host_bytes = 15;
  options.places = 2;
  AdapterRegistry small(std::move(options));
  for (const char* name : {"a", "b", "c", "d"}) write(name, name);
  auto first = small.prepare("a");
  const auto second = small.prepare("b");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(small.live_bytes(), 20) << "two places can be used whatever they take";
  EXPECT_THAT(small.prepare("c"), FailsWith(EngineErrc::kOverloaded, "adapters.host_bytes"));
  EXPECT_THAT(small.load(AdapterChange("d")), FailsWith(EngineErrc::kOverloaded, "host_bytes"));
  EXPECT_EQ(adapters.reads, 2) << "it is refused before it is read";
  ASSERT_TRUE(small.unload("b"));
  EXPECT_EQ(small.live_bytes(), 20) << "a request still has it";
  EXPECT_THAT(small.prepare("c"), FailsWith(EngineErrc::kOverloaded, "adapters.host_bytes"));
  first = AdapterRegistry::Prepared();
  ASSERT_TRUE(small.prepare("c"));
  EXPECT_LE(small.live_bytes(), 20);
}

TEST_F(AdapterRegistryTest, LooksIntoTheFolderForANameOnlyNowAndThen) {
  EXPECT_FALSE(registry.has("sql"));
  write("sql", "sql");
  EXPECT_FALSE(registry.has("sql")) << "it has just looked";
  adapters.now += AdapterFolder::kLooksAgainAfter;
  EXPECT_TRUE(registry.has("sql"));
  std::filesystem::remove(adapters.folder.path() / "sql");
  EXPECT_TRUE(registry.has("sql"));
  EXPECT_THAT(registry.prepare("sql"), FailsWith(EngineErrc::kNoSuchAdapter, "sql"))
      << "the reader looks itself";
}

TEST_F(AdapterRegistryTest, ErrorsOfConfiguredAdaptersNameTheirKey) {
  write("x", "bad");
  const std::string path = (adapters.folder.path() / "x").string();
  EXPECT_THAT(registry.load_named({{"sql", path}}),
              FailsWith(EngineErrc::kAdapterFailed, "adapters.named[sql]: "));
}

TEST_F(AdapterRegistryTest, LoadsFromOutsideOfTheFolderOnlyWhereThatIsAllowed) {
  const test::TempFolder elsewhere;
  const std::string path = elsewhere.write("x", "x").string();
  write("y", "y");
  EXPECT_THAT(load("x", path), FailsWith(EngineErrc::kBadRequest, "adapters.folder"));
  EXPECT_THAT(load("x", "../x"), FailsWith(EngineErrc::kBadRequest, "adapters.folder"));
  EXPECT_TRUE(load("y", (adapters.folder.path() / "y").string()));
  AdapterRegistry::Options options = adapters.options();
  options.any_path = true;
  AdapterRegistry open(std::move(options));
  EXPECT_TRUE(open.load(AdapterChange("x", path)));
}

TEST_F(AdapterRegistryTest, AnAdapterOfTheApplicationItselfMayLieAnywhereAndHaveATunedName) {
  const test::TempFolder elsewhere;
  AdapterChange change("ft:base:mine:x7", elsewhere.write("x", "x").string());
  EXPECT_THAT(registry.load(change), FailsWith(EngineErrc::kBadRequest, "name:"));
  change.is_own = true;
  EXPECT_TRUE(registry.load(change));
  EXPECT_TRUE(registry.has("ft:base:mine:x7"));
  EXPECT_TRUE(registry.prepare("ft:base:mine:x7"));
  for (const char* name : {"ft:a/../b", "xx:a", "ft:a b"}) {
    change.name = name;
    EXPECT_THAT(registry.load(change), FailsWith(EngineErrc::kBadRequest, "name:")) << name;
  }
  EXPECT_TRUE(registry.unload("ft:base:mine:x7"));
  EXPECT_FALSE(registry.has("ft:base:mine:x7"));
  change.name = "ft:base:mine:x8";
  change.path = "only-in-the-folder";
  write(change.path, "x");
  EXPECT_THAT(registry.load(change), FailsWith(EngineErrc::kAdapterFailed, "x8"))
      << "its relative path is the process's, and not the folder's";
}

TEST_F(AdapterRegistryTest, SaysWhichNamesThereAreForOneThatThereIsNot) {
  write("a", "a");
  ASSERT_TRUE(load("poet", "a"));
  ASSERT_TRUE(load("sql", "a"));
  EXPECT_THAT(registry.find("sqk"), FailsWith(EngineErrc::kNoSuchAdapter, "there are poet, sql"));
  EXPECT_THAT(registry.unload("sqk"), FailsWith(EngineErrc::kNoSuchAdapter, "sqk"));
}

TEST_F(AdapterRegistryTest, RefusesANameThatCouldBeAPath) {
  write("a", "a");
  for (const char* name : {"", "/a", "a/", "../a", "a/../b", "a b", "a:b", "a;b", "a=b"}) {
    EXPECT_THAT(load(name, "a"), FailsWith(EngineErrc::kBadRequest, "name:")) << name;
  }
  EXPECT_TRUE(load("org/a-1.5_x", "a"));
}

TEST_F(AdapterRegistryTest, ForgetsTheStandardAdapterWithItsName) {
  write("a", "a");
  ASSERT_TRUE(load("sql", "a"));
  ASSERT_TRUE(registry.set_standard("sql"));
  EXPECT_EQ(registry.standard(), "sql");
  ASSERT_TRUE(registry.unload("sql"));
  EXPECT_EQ(registry.standard(), "");
}

TEST_F(AdapterRegistryTest, MakesNoNameTheStandardOneThatIsNotKnownAnyMore) {
  write("a", "a");
  ASSERT_TRUE(load("sql", "a"));
  ASSERT_TRUE(load("poet", "a"));
  ASSERT_TRUE(registry.set_standard("poet"));
  ASSERT_TRUE(registry.unload("sql"));
  EXPECT_THAT(registry.set_standard("sql"), FailsWith(EngineErrc::kNoSuchAdapter, "sql"));
  EXPECT_EQ(registry.standard(), "poet");
  ASSERT_TRUE(registry.set_standard(""));
  EXPECT_EQ(registry.standard(), "");
}

TEST_F(AdapterRegistryTest, ANameKeepsItsNumberAndNoLaterNameGetsIt) {
  write("a", "a");
  for (const char* name : {"z", "m", "b"}) ASSERT_TRUE(load(name, "a"));
  ASSERT_TRUE(registry.unload("m"));
  ASSERT_TRUE(load("b", "a", /*replaces=*/true));
  ASSERT_TRUE(load("m", "a"));
  std::vector<std::int64_t> numbers;
  for (const AdapterInfo& one : registry.list()) numbers.push_back(one.number);
  EXPECT_THAT(names(), testing::ElementsAre("z", "b", "m"));
  EXPECT_THAT(numbers, testing::ElementsAre(0, 2, 3));
}

TEST_F(AdapterRegistryTest, ListsNamesInTheOrderInWhichTheyCame) {
  write("a", "a");
  for (const char* name : {"z", "m", "b"}) ASSERT_TRUE(load(name, "a"));
  ASSERT_TRUE(load("m", "a", /*replaces=*/true));
  EXPECT_THAT(names(), testing::ElementsAre("z", "m", "b"));
}

}  // namespace
}  // namespace weft
