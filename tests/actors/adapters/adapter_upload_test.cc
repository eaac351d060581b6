// Adapters whose files a client sent, in a registry.

#include "weft/actors/adapters/adapter_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/engine_error.h"
#include "weft/core/io/file.h"
#include "weft/tests/actors/adapters/fake_adapters.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

using test::FailsWith;
using test::FakeAdapters;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::string_view kConfig = "adapter_config.json";
constexpr std::string_view kMatrices = "adapter_model.safetensors";

class AdapterUploadTest : public testing::Test {
 public:
  static AdapterRegistry::Options with_bytes(FakeAdapters& adapters, std::int64_t bytes) {
    AdapterRegistry::Options options = adapters.options();
    options.upload_bytes = bytes;
    return options;
  }
  static AdapterChange change_of(std::string name, std::vector<AdapterFile> files) {
    AdapterChange change(std::move(name));
    change.files = std::make_shared<const AdapterFiles>(AdapterFiles{std::move(files), nullptr});
    return change;
  }
  static AdapterChange folder_of(std::string name, std::string_view letters) {
    return change_of(std::move(name),
                     {{std::string(kConfig), "{}"}, {std::string(kMatrices), letters}});
  }
  static AdapterChange replacing(AdapterChange change) {
    change.replaces = true;
    return change;
  }
  AdapterId content_of(const std::string& name, AdapterRegistry& in) const {
    const auto prepared = in.prepare(name);
    return prepared ? (*prepared)->id : AdapterId{};
  }
  /// The names in the folder, hidden ones too.
  std::vector<std::string> places() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(adapters.folder.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  FakeAdapters adapters;
  AdapterRegistry registry{with_bytes(adapters, 1000)};
};

TEST_F(AdapterUploadTest, LiesInTheFolderWhereALaterProcessFindsIt) {
  ASSERT_TRUE(registry.load(folder_of("org/sql", "old")));
  EXPECT_EQ(content_of("org/sql", registry), FakeAdapters::id_of("old"));
  EXPECT_EQ(*read_text_file(adapters.folder.path() / "org/sql" / kConfig, kAnySize), "{}");
  ASSERT_TRUE(registry.load(change_of("tiny", {{"anything.gguf", "small"}})));
  EXPECT_THAT(places(), UnorderedElementsAre("org", "tiny.gguf"));

  AdapterRegistry later(adapters.options());
  EXPECT_EQ(content_of("org/sql", later), FakeAdapters::id_of("old"));
  EXPECT_EQ(content_of("tiny", later), FakeAdapters::id_of("small"));
}

TEST_F(AdapterUploadTest, IsReadAgainFromItsPlaceAfterItHasLeftMemory) {
  AdapterRegistry::Options options = with_bytes(adapters, 1000);
  options.host_bytes = 10;
  AdapterRegistry small(std::move(options));
  ASSERT_TRUE(small.load(folder_of("sql", "one")));
  ASSERT_TRUE(small.load(folder_of("poet", "two")));
  EXPECT_EQ(small.bytes(), 10);
  EXPECT_EQ(content_of("sql", small), FakeAdapters::id_of("one"));
}

TEST_F(AdapterUploadTest, ReplacesANameOnlyWhereItMay) {
  ASSERT_TRUE(registry.load(folder_of("sql", "old")));
  const auto held = registry.find("sql");
  EXPECT_THAT(registry.load(folder_of("sql", "new")), FailsWith(EngineErrc::kAdapterLoaded, "sql"));
  EXPECT_EQ(content_of("sql", registry), FakeAdapters::id_of("old"));
  ASSERT_TRUE(registry.load(replacing(folder_of("sql", "new"))));
  EXPECT_EQ((*held)->id, FakeAdapters::id_of("old"));
  EXPECT_EQ(content_of("sql", registry), FakeAdapters::id_of("new"));
  EXPECT_THAT(places(), ElementsAre("sql"));
}

TEST_F(AdapterUploadTest, DoesNotReplaceAPlaceOfTheFolderThatNoRequestHasNamed) {
  fs::create_directory(adapters.folder.path() / "sql");
  adapters.folder.write("sql/adapter_config.json", "{}");
  adapters.folder.write("sql/adapter_model.safetensors", "operator's");
  EXPECT_THAT(registry.load(folder_of("sql", "new")), FailsWith(EngineErrc::kAdapterLoaded, "sql"));
  EXPECT_EQ(content_of("sql", registry), FakeAdapters::id_of("operator's"));
  EXPECT_THAT(registry.load(replacing(change_of("sql", {{"a.gguf", "new"}}))),
              FailsWith(EngineErrc::kBadRequest, "has sql as a folder"));
}

TEST_F(AdapterUploadTest, TouchesNoOtherAdapterOfTheFolder) {
  for (const char* name : {"org/a", "org/b"}) ASSERT_TRUE(registry.load(folder_of(name, name)));
  for (const char* name : {"org/a/c", "org/a/adapter_model.safetensors"}) {
    EXPECT_THAT(registry.load(replacing(folder_of(name, "new"))),
                FailsWith(EngineErrc::kBadRequest, "lie in another adapter, org/a"));
  }
  EXPECT_THAT(registry.load(replacing(folder_of("org", "new"))),
              FailsWith(EngineErrc::kBadRequest, "org of adapters.folder is no adapter"));
  EXPECT_THAT(registry.erase("org"),
              FailsWith(EngineErrc::kBadRequest, "org of adapters.folder is no adapter"));
  AdapterRegistry later(adapters.options());
  for (const char* name : {"org/a", "org/b"}) {
    EXPECT_EQ(content_of(name, later), FakeAdapters::id_of(name));
  }
}

TEST_F(AdapterUploadTest, ThatCannotBeReadLeavesNameAndFolderAsTheyWere) {
  ASSERT_TRUE(registry.load(folder_of("sql", "good")));
  EXPECT_THAT(registry.load(replacing(folder_of("sql", "bad"))),
              FailsWith(EngineErrc::kAdapterFailed, "is bad"));
  EXPECT_THAT(registry.load(folder_of("other", "bad")),
              FailsWith(EngineErrc::kAdapterFailed, "is bad"));
  EXPECT_THAT(places(), ElementsAre("sql"));
  AdapterRegistry later(adapters.options());
  EXPECT_EQ(content_of("sql", later), FakeAdapters::id_of("good"));
}

TEST_F(AdapterUploadTest, IsRefusedWhereItsFilesAreNotThoseOfAnAdapter) {
  const std::string config(kConfig);
  const std::string matrices(kMatrices);
  for (const auto& [files, why] : std::vector<std::pair<std::vector<AdapterFile>, std::string>>{
           {{{config, "{}"}}, "must be adapter_config.json and"},
           {{{matrices, "a"}}, "must be adapter_config.json and"},
           {{{config, "{}"}, {config, "{}"}, {matrices, "a"}}, "each once"},
           {{{config, "{}"}, {matrices, "a"}, {"adapter_model.bin", "a"}}, "each once"},
           {{{config, "{}"}, {"../evil.safetensors", "a"}}, "no file of an adapter"},
           {{{"a.gguf", "a"}, {"b.gguf", "a"}}, "no file of an adapter"},
           {{}, "must be adapter_config.json and"}}) {
    EXPECT_THAT(registry.load(change_of("sql", files)), FailsWith(EngineErrc::kBadRequest, why));
  }
  EXPECT_THAT(registry.load(folder_of("../sql", "a")), FailsWith(EngineErrc::kBadRequest, "name:"));
  EXPECT_THAT(places(), IsEmpty());
}

TEST_F(AdapterUploadTest, NeedsAFolderThatMayGrowToItsSize) {
  AdapterRegistry::Options options = with_bytes(adapters, 1000);
  options.folder.clear();
  AdapterRegistry without_folder(std::move(options));
  EXPECT_THAT(without_folder.load(folder_of("sql", "a")),
              FailsWith(EngineErrc::kBadRequest, "files: adapters.folder is not set"));
  AdapterRegistry closed(adapters.options());
  EXPECT_THAT(closed.load(folder_of("sql", "a")),
              FailsWith(EngineErrc::kBadRequest, "files: adapters.upload_bytes is 0"));
  EXPECT_THAT(closed.erase("sql"), FailsWith(EngineErrc::kNoSuchAdapter, "sql"));

  AdapterRegistry narrow(with_bytes(adapters, 12));
  ASSERT_TRUE(narrow.load(folder_of("sql", "12345")));
  EXPECT_THAT(narrow.load(folder_of("poet", "1234")),
              FailsWith(EngineErrc::kBadRequest, "would have 13 bytes, and may have 12"));
  ASSERT_TRUE(narrow.load(folder_of("poet", "123")));
  ASSERT_TRUE(narrow.erase("sql"));
  EXPECT_TRUE(narrow.load(folder_of("next", "12345")));
}

TEST_F(AdapterUploadTest, IsErasedWithItsNameAndFilesOrByItsFilesAlone) {
  ASSERT_TRUE(registry.load(folder_of("sql", "a")));
  ASSERT_TRUE(registry.erase("sql"));
  EXPECT_THAT(registry.find("sql"), FailsWith(EngineErrc::kNoSuchAdapter, "sql"));
  EXPECT_THAT(registry.erase("sql"), FailsWith(EngineErrc::kNoSuchAdapter, "sql"));
  EXPECT_THAT(places(), IsEmpty());
  ASSERT_TRUE(registry.load(folder_of("sql", "b")));
  ASSERT_TRUE(registry.unload("sql"));
  EXPECT_THAT(places(), ElementsAre("sql"));
  ASSERT_TRUE(registry.erase("sql")) << "the name is not known any more, but its place is there";
  EXPECT_THAT(places(), IsEmpty());
}

TEST_F(AdapterUploadTest, RemovesWhatAKilledUploadLeft) {
  const fs::path left = adapters.folder.path() / ".sql.part-1-0";
  fs::create_directory(left);
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  ASSERT_TRUE(registry.load(folder_of("poet", "a")));
  EXPECT_THAT(places(), ElementsAre("poet"));
}

}  // namespace
}  // namespace weft
