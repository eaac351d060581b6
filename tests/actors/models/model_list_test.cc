#include "weft/actors/models/model_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tests/actors/adapters/fake_adapters.h"
#include "weft/tests/actors/letter_model.h"

namespace weft::test {
namespace {

using testing::ElementsAre;

class ModelListTest : public testing::Test {
 public:
  ModelListTest() {
    files.folder.write("sql", "sql");
    files.folder.write("poet", "poet");
    for (const char* name : {"small:8b", "large"}) {
      ServedModel model = letter_model(64);
      model.adapters = std::make_shared<AdapterRegistry>(files.options());
      ModelInfo info{.name = name, .aliases = {std::string(name) + "-alias"}};
      info.model = std::make_shared<const ServedModel>(std::move(model));
      list.models.push_back(std::move(info));
    }
    ModelInfo unloaded{.name = "cold", .state = ModelState::kUnloaded, .adapters = {"frozen"}};
    list.models.push_back(std::move(unloaded));
  }

  /// Returns "MODEL/ADAPTER" of what a name means; "" where it means nothing.
  std::string meaning(std::string_view name) const {
    const auto found = list.named(name);
    return found ? found->base() + "/" + found->adapter : std::string();
  }

  FakeAdapters files;
  ModelList list;
};

TEST_F(ModelListTest, FindsAdaptersByTheirNamesAndBehindTheirModels) {
  EXPECT_EQ(meaning(""), "small:8b/");
  EXPECT_EQ(meaning("large"), "large/");
  EXPECT_EQ(meaning("sql"), "small:8b/sql");
  EXPECT_EQ(meaning("small:8b:poet"), "small:8b/poet");
  EXPECT_EQ(meaning("large:sql"), "large/sql");
  EXPECT_EQ(meaning("large-alias:sql"), "large/sql");
  EXPECT_EQ(meaning("frozen"), "cold/frozen");
  EXPECT_EQ(meaning("cold:frozen"), "cold/frozen");
  for (const char* name : {"other", "small:sql", ":sql", "large:", "cold:sql", "large:other"}) {
    EXPECT_EQ(meaning(name), "") << name;
  }
}

TEST_F(ModelListTest, GivesAnAdapterItsModelAsParentAndAModelNone) {
  const auto adapter = list.named("large:sql");
  ASSERT_TRUE(adapter);
  EXPECT_EQ(adapter->name, "sql");
  EXPECT_EQ(adapter->parent, "large");
  EXPECT_THAT(adapter->aliases, ElementsAre("large:sql", "large-alias:sql"));
  EXPECT_EQ(adapter->model, list.models[1].model);
  EXPECT_EQ(list.named("large")->parent, "");
}

TEST_F(ModelListTest, ListsEachModelWithItsKnownAdaptersBehindIt) {
  ASSERT_TRUE(list.models[1].model->adapters->load(AdapterChange("sql", "sql")));
  std::vector<std::string> names;
  for (const ModelInfo& one : list.with_adapters()) names.push_back(one.base() + "/" + one.adapter);
  EXPECT_THAT(names, ElementsAre("small:8b/", "large/", "large/sql", "cold/", "cold/frozen"));
}

}  // namespace
}  // namespace weft::test
