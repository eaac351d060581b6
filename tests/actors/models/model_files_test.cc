#include "weft/actors/models/model_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

TEST(ModelFilesTest, KnowsTheSameFilesByWhateverPath) {
  const test::TempFolder folder;
  fs::create_directory(folder.path() / "model");
  write_file(folder.path() / "model" / "a", "one");
  fs::create_directory_symlink(folder.path() / "model", folder.path() / "link");
  const std::string identity = identity_of_files(folder.path() / "model", {});
  EXPECT_FALSE(identity.empty());
  EXPECT_EQ(identity_of_files(folder.path() / "link", {}), identity);
}

TEST(ModelFilesTest, TellsFilesThatWereChangedFromThoseBefore) {
  const test::TempFolder folder;
  write_file(folder.path() / "model.gguf", "one");
  write_file(folder.path() / "spec.toml", "x");
  const fs::path model = folder.path() / "model.gguf";
  const std::string before = identity_of_files(model, {});
  EXPECT_NE(identity_of_files(model, folder.path() / "spec.toml"), before);
  write_file(folder.path() / "notes.txt", "of another kind");
  EXPECT_EQ(identity_of_files(model, {}), before);
  fs::last_write_time(model, fs::last_write_time(model) + std::chrono::seconds(1));
  const std::string later = identity_of_files(model, {});
  EXPECT_NE(later, before);
  write_file(folder.path() / "model-2.gguf", "a part of it");
  EXPECT_NE(identity_of_files(model, {}), later);
  EXPECT_EQ(identity_of_files(folder.path() / "none" / "at-all", {}), "");
}

TEST(ModelFilesTest, OpensAModelOnceForAsLongAsSomebodyHasIt) {
  const std::string demo = test::source_path("examples/demo_model/model");
  ModelFiles files;
  auto first = files.open(demo, {}, {}).value();
  {
    const auto second = files.open(demo + "/../model", {}, {}).value();
    EXPECT_EQ(second.program, first.program);
    EXPECT_EQ(second.checkpoint, first.checkpoint);
    EXPECT_EQ(second.spec, first.spec);
  }
  const std::weak_ptr<const Program> gone = first.program;
  first = OpenedModel();
  EXPECT_TRUE(gone.expired()) << "it is kept though nobody has it";
  EXPECT_TRUE(files.open(demo, {}, {}));
  EXPECT_TRUE(files.open("/no/such/model", {}, {}).has_error());
}

}  // namespace
}  // namespace weft
