#include "weft/model/adapters/adapter_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "weft/core/io/file.h"
#include "weft/model/model_error.h"
#include "weft/tests/fixture/peft_folder.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::FailsWith;
using test::kQuery;
using test::kQueryConfig;
using test::pair_of;
using test::PeftFolder;
using testing::ElementsAre;
using testing::IsEmpty;

fs::path committed(const char* name) {
  return fs::path(test::source_path("tests/model/data/adapters")) / name;
}

TEST(AdapterFileTest, ReadsThePairsOfAFolder) {
  const PeftFolder folder(kQueryConfig, pair_of(kQuery, 16, 8, 2));
  const AdapterFile adapter = read_adapter(folder.path()).value();
  ASSERT_EQ(adapter.pairs.size(), 1U);
  EXPECT_EQ(adapter.pairs[0].module, kQuery);
  EXPECT_EQ(adapter.pairs[0].rank, 2);
  EXPECT_DOUBLE_EQ(adapter.pairs[0].scale, 1.5);
  EXPECT_EQ(adapter.bytes, (16U * 2 + 2 * 8) * sizeof(float));
}

TEST(AdapterFileTest, ReadsTheOnlySubFolderAndAsksForANameAmongSeveral) {
  const test::TempFolder outer;
  const PeftFolder inner(kQueryConfig, pair_of(kQuery, 16, 8, 2));
  fs::copy(inner.path(), outer.path() / "french");
  EXPECT_EQ(read_adapter(outer.path()).value().path, outer.path() / "french");
  EXPECT_THAT(adapters_in(outer.path()), ElementsAre(outer.path() / "french"));
  fs::copy(inner.path(), outer.path() / "german");
  EXPECT_THAT(read_adapter(outer.path()),
              FailsWith(ModelErrc::kBadAdapter, "name one of french, german"));
  const test::TempFolder empty;
  EXPECT_THAT(read_adapter(empty.path()),
              FailsWith(ModelErrc::kBadAdapter, "holds no adapter_config.json"));
}

TEST(AdapterFileTest, RefusesPairsThatDoNotFitTheConfigOrEachOther) {
  struct Case {
    std::string config;
    std::vector<test::FilledTensor> tensors;
    const char* reason;
  };
  auto no_b = pair_of(kQuery, 16, 8, 2);
  no_b.pop_back();
  auto unequal = pair_of(kQuery, 16, 8, 2);
  unequal[1].shape = {16, 4};
  auto cube = pair_of(kQuery, 16, 8, 2);
  cube[0].shape = {2, 8, 1};
  auto prefix = pair_of(kQuery, 16, 8, 2);
  prefix[0].name = "model.q_proj.lora_A.weight";
  auto foreign = pair_of(kQuery, 16, 8, 2);
  foreign.push_back({"base_model.model.model.layers.0.self_attn.q_proj.lora_C.weight", {1}});
  auto magnitude = pair_of(kQuery, 16, 8, 2);
  magnitude.push_back(
      {"base_model.model.model.layers.0.self_attn.q_proj.lora_magnitude_vector", {16}});
  for (const Case& each :
       {Case{kQueryConfig, no_b, "its pair lacks B"},
        Case{kQueryConfig, unequal, "has rank 2, and its B has rank 4"},
        Case{kQueryConfig, cube, "are no two matrices"},
        Case{kQueryConfig, prefix, "does not begin with base_model.model."},
        Case{kQueryConfig, foreign, "a kind of adapter that is not known"},
        Case{kQueryConfig, magnitude, "use_dora is not true"},
        Case{kQueryConfig, {}, "holds no tensor"},
        Case{kQueryConfig, pair_of(kQuery, 16, 8, 3),
             "has rank 3, and adapter_config.json states 2"},
        Case{kQueryConfig, pair_of("model.layers.0.self_attn.k_proj", 8, 8, 2),
             "do not select this module"},
        Case{R"({"r": 2, "target_modules": ["q_proj"], "use_dora": true})",
             pair_of(kQuery, 16, 8, 2), "the pair has no magnitude"},
        Case{R"({"r": 2, "target_modules": ["q_proj"], "lora_bias": true})",
             pair_of(kQuery, 16, 8, 2), "B has no bias"},
        Case{R"({"r": 2, "target_modules": ["q_proj"], "modules_to_save": ["lm_head"]})",
             pair_of(kQuery, 16, 8, 2), "modules_to_save names 'lm_head'"},
        Case{R"({"r": 2, "target_modules": ["q_proj"], "trainable_token_indices": [1]})",
             pair_of(kQuery, 16, 8, 2), "trainable_token_indices is set"}}) {
    const PeftFolder folder(each.config, each.tensors);
    EXPECT_THAT(read_adapter(folder.path()), FailsWith(ModelErrc::kBadAdapter, each.reason));
  }
}

TEST(AdapterFileTest, NamesTheFileThatIsCutOrMissing) {
  const PeftFolder folder(kQueryConfig, pair_of(kQuery, 16, 8, 2));
  const fs::path weights = folder.path() / "adapter_model.safetensors";
  fs::resize_file(weights, fs::file_size(weights) - 1);
  EXPECT_THAT(read_adapter(folder.path()),
              FailsWith(ModelErrc::kBadCheckpoint, "adapter_model.safetensors"));
  fs::remove(weights);
  EXPECT_THAT(read_adapter(folder.path()),
              FailsWith(FileErrc::kCannotRead, "adapter_model.safetensors"));
}

TEST(AdapterFileTest, FollowsNoLinkOutOfTheFolderButThoseOfTheHubsCache) {
  const PeftFolder other(kQueryConfig, pair_of(kQuery, 16, 8, 2));
  const test::TempFolder cache;
  const fs::path linked = cache.path() / "linked";
  const fs::path snapshot = cache.path() / "model" / "snapshots" / "commit";
  fs::create_directories(linked);
  fs::create_directories(snapshot);
  fs::create_directories(cache.path() / "model" / "blobs");
  for (const char* const name : {"adapter_config.json", "adapter_model.safetensors"}) {
    fs::create_symlink(other.path() / name, linked / name);
    fs::copy(other.path() / name, cache.path() / "model" / "blobs" / name);
    fs::create_symlink(fs::path("../../blobs") / name, snapshot / name);
  }
  EXPECT_THAT(read_adapter(linked), FailsWith(ModelErrc::kBadAdapter, "outside of its folder"));
  EXPECT_EQ(read_adapter(snapshot).value().pairs.size(), 1U);
}

TEST(AdapterFileTest, ReadsAGgufAdapterAndRefusesAGgufModel) {
  const fs::path file = committed("llama-gguf") / "adapter.gguf";
  const AdapterFile adapter = read_adapter(file).value();
  EXPECT_EQ(adapter.format, AdapterFormat::kGguf);
  EXPECT_EQ(adapter.architecture, "llama");
  EXPECT_EQ(adapter.pairs.size(), 14U);
  EXPECT_TRUE(is_adapter(file));
  const fs::path model = test::source_path("tests/model/data/goldens_gguf/llama/model.gguf");
  EXPECT_FALSE(is_adapter(model));
  EXPECT_THAT(read_adapter(model), FailsWith(ModelErrc::kBadAdapter, "is a model"));
}

TEST(AdapterFileTest, KnowsOnlyAFolderWithAConfigAsAnAdapter) {
  EXPECT_TRUE(is_adapter(committed("llama")));
  EXPECT_FALSE(is_adapter(test::source_path("tests/model/data/goldens/llama")));
  EXPECT_THAT(adapters_in(test::source_path("tests/model/data/goldens/llama")), IsEmpty());
}

}  // namespace
}  // namespace weft
