#include "weft/model/spec/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/config/builtin_specs.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/model/program/program.h"
#include "weft/model/spec/architecture.h"
#include "weft/tests/fixture/doc_page.h"
#include "weft/tests/fixture/files/checkpoint_builder.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

namespace json = boost::json;
using test::CheckpointBuilder;
using test::FailsWith;
using test::TempFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<Spec> parse_spec(std::string_view text) { return Spec::parse(text, "mine.toml"); }

auto is_bad_spec(const char* about) {
  return AllOf(FailsWith(ModelErrc::kBadSpec, "mine.toml: "),
               FailsWith(ModelErrc::kBadSpec, about));
}

TEST(SpecTest, KeepsItsNameItsFileAndItsKeys) {
  const Spec spec = parse_spec("name = 'mine'\nhidden = 4\nattention = { heads = '= n' }").value();
  EXPECT_EQ(spec.name(), "mine");
  EXPECT_EQ(spec.file(), "mine.toml");
  EXPECT_EQ(json::serialize(spec.tree()),
            R"({"name":"mine","hidden":4,"attention":{"heads":"= n"}})");
}

TEST(SpecTest, KeepsVariablesInTheOrderOfTheFile) {
  const Spec spec = parse_spec("name = 'mine'\n[let]\nz = 1\na = '= z'\nm = '= a'").value();
  EXPECT_EQ(json::serialize(spec.tree().at("let")), R"({"z":1,"a":"= z","m":"= a"})");
}

TEST(SpecTest, RefusesWhatIsNoSpec) {
  EXPECT_THAT(parse_spec("name = 'mine'\nlayers = = 2"),
              FailsWith(ModelErrc::kBadSpec, "mine.toml:2: "));
  EXPECT_THAT(parse_spec("hidden = 4"), is_bad_spec("name is missing"));
  EXPECT_THAT(parse_spec("name = 4"), is_bad_spec("name is missing"));
  EXPECT_THAT(parse_spec("name = 'mine'\nhiden = 4"), is_bad_spec("hiden is not a key of a spec"));
  EXPECT_THAT(parse_spec("name = 'mine'\n[attention]\nwindows = 4"),
              is_bad_spec("attention.windows is not a key of a spec"));
  EXPECT_THAT(parse_spec("name = 'mine'\n[mlp.experts.shared]\ncount = 4"),
              is_bad_spec("mlp.experts.shared.count is not a key of a spec"));
  EXPECT_THAT(parse_spec("name = 'mine'\n[encoder.attention]\nwindows = 4"),
              is_bad_spec("encoder.attention.windows is not a key of a spec"));
  EXPECT_THAT(parse_spec("name = 'mine'\n[gguf.override.head]\ncap = 4"),
              is_bad_spec("gguf.override.head.cap is not a key of a spec"));
  EXPECT_THAT(parse_spec("name = 'mine'\nattention = 4"), is_bad_spec("attention must be a table"));
  EXPECT_THAT(parse_spec("name = 'mine'\n[hidden]\nsize = 4"),
              is_bad_spec("hidden must be a value"));
  EXPECT_THAT(parse_spec("name = 'mine'\nhidden = 1979-05-27"),
              FailsWith(ModelErrc::kBadSpec, "mine.toml:2: dates are not used"));
  EXPECT_THAT(parse_spec("name = 'mine'\nrequires = 'x'"), is_bad_spec("requires must be a list"));
  EXPECT_THAT(parse_spec("name = 'mine'\nrequires = ['x']"),
              is_bad_spec("requires must be a list"));
}

TEST(SpecTest, FindsMistakesInExpressionsNobodyEvaluates) {
  EXPECT_THAT(parse_spec("name = 'mine'\n[attention]\nwindow = '= 1 +'"),
              is_bad_spec("attention.window: ' 1 +', column 5: a value is missing"));
  EXPECT_THAT(parse_spec("name = 'mine'\n[attention]\nq = ['fine', '= (']"),
              is_bad_spec("attention.q: "));
}

TEST(SpecTest, BoundsItsDepth) {
  std::string text = "name = 'mine'\nhidden = ";
  for (int i = 0; i < 40; ++i) text.append("[");
  for (int i = 0; i < 40; ++i) text.append("]");
  EXPECT_THAT(parse_spec(text), is_bad_spec("nested too deeply"));
  std::string dots = "name = 'mine'\nhidden";
  for (int i = 0; i < 400'000; ++i) dots.append(".a");
  EXPECT_THAT(parse_spec(dots + " = 1"),
              FailsWith(ModelErrc::kBadSpec, "mine.toml:2: a key with more than 16 dots"));
}

TEST(SpecTest, ClaimsByModelTypeOrArchitecture) {
  const Spec spec =
      parse_spec("name = 'mine'\n[claims]\nmodel_type = ['a', 'b']\narchitectures = ['C']").value();
  const auto claims = [&](const char* config) {
    return spec.claims(CheckpointBuilder(config).make());
  };
  EXPECT_TRUE(claims(R"({"model_type": "b"})"));
  EXPECT_TRUE(claims(R"({"model_type": "x", "architectures": ["Y", "C"]})"));
  EXPECT_FALSE(claims(R"({"model_type": "c", "architectures": ["a"]})"));
  EXPECT_FALSE(claims(R"({"model_type": 4, "architectures": "C"})"));
  EXPECT_FALSE(claims("{}"));
}

TEST(SpecTest, ClaimsAGgufByItsArchitectureOnly) {
  const Spec spec =
      parse_spec("name = 'mine'\n[claims]\nmodel_type = ['a']\n[gguf]\narchitectures = ['g']")
          .value();
  const auto claims = [&](const char* config) {
    return spec.claims(CheckpointBuilder(config).make(CheckpointFormat::kGguf));
  };
  EXPECT_TRUE(claims(R"({"general.architecture": "g"})"));
  EXPECT_FALSE(claims(R"({"general.architecture": "a", "model_type": "a"})"));
}

TEST(SpecTest, ClaimsAGgufOfItsArchitectureWhereItsConditionHolds) {
  const Spec spec =
      parse_spec("name = 'mine'\n[gguf]\narchitectures = ['g']\nwhere = '= arch.experts > 0'")
          .value();
  const auto claims = [&](const char* config) {
    return spec.claims(CheckpointBuilder(config).make(CheckpointFormat::kGguf));
  };
  EXPECT_TRUE(claims(R"({"general.architecture": "g", "g.experts": 2})"));
  EXPECT_FALSE(claims(R"({"general.architecture": "g", "g.experts": 0})"));
  EXPECT_FALSE(claims(R"({"general.architecture": "g"})"));
}

TEST(SpecTest, MergesTablesKeyByKey) {
  const auto object = [](const char* text) { return json::parse(text).get_object(); };
  EXPECT_EQ(merge_tables(object(R"({"a": 1, "t": {"x": 1, "y": 2}, "u": {"v": 1}})"),
                         object(R"({"b": 3, "t": {"y": 4}, "u": "name"})")),
            object(R"({"a": 1, "b": 3, "t": {"x": 1, "y": 4}, "u": "name"})"));
}

TEST(BuiltinSpecsTest, HaveKeysForWhatAllGgufFilesHaveAlike) {
  const auto spec = Spec::parse(builtin_gguf_text(), "gguf.toml");
  EXPECT_TRUE(spec) << to_string(spec.error());
}

TEST(BuiltinSpecsTest, AllParse) {
  EXPECT_EQ(builtin_specs().size(), builtin_spec_texts().size());
  for (const BuiltinSpec& text : builtin_spec_texts()) {
    const auto spec = Spec::parse(text.toml, std::string(text.name));
    ASSERT_TRUE(spec) << to_string(spec.error());
    EXPECT_EQ(spec->name(), text.name);
  }
}

/// Which specs list a value of `key` in their table, by value.
std::map<std::string, std::vector<std::string>> claimed(std::string_view table,
                                                        std::string_view key) {
  std::map<std::string, std::vector<std::string>> by_value;
  for (const Spec& spec : builtin_specs()) {
    const json::value* found = spec.tree().if_contains(table);
    const json::value* list = found == nullptr ? nullptr : found->get_object().if_contains(key);
    if (list == nullptr) continue;
    for (const json::value& value : list->get_array()) {
      by_value[std::string(value.get_string())].push_back(spec.name());
    }
  }
  return by_value;
}

TEST(BuiltinSpecsTest, ClaimEveryKindOfModelOnce) {
  for (const auto& [table, key] :
       {std::pair("claims", "model_type"), {"claims", "architectures"}}) {
    const auto by_value = claimed(table, key);
    EXPECT_FALSE(by_value.empty()) << table << "." << key;
    for (const auto& [value, specs] : by_value) {
      EXPECT_EQ(specs.size(), 1U) << table << "." << key << " " << value;
    }
  }
}

TEST(BuiltinSpecsTest, ThatShareAGgufArchitectureEachSayWhichFilesAreTheirs) {
  std::size_t shared = 0;
  for (const auto& [architecture, names] : claimed("gguf", "architectures")) {
    if (names.size() == 1) continue;
    ++shared;
    for (const std::string& name : names) {
      const auto spec = std::ranges::find(builtin_specs(), name, &Spec::name);
      EXPECT_TRUE(spec->tree().at("gguf").get_object().contains("where"))
          << name << ", " << architecture;
    }
  }
  EXPECT_GT(shared, 0U);
}

TEST(BuiltinSpecsTest, AllClaimSomething) {
  for (const Spec& spec : builtin_specs()) {
    const json::value* claims = spec.tree().if_contains("claims");
    ASSERT_NE(claims, nullptr) << spec.name();
    EXPECT_TRUE(claims->get_object().contains("model_type")) << spec.name();
  }
}

constexpr const char* kMine = "name = 'mine'\nvocabulary = 6\nhidden = 4\ncontext = 8\nlayers = 1";

TEST(FindSpecTest, PrefersTheSpecInTheModelsFolder) {
  const TempFolder folder;
  folder.write("weft.toml", kMine);
  const Checkpoint checkpoint =
      Checkpoint::make(CheckpointFormat::kSafetensors, folder.path(),
                       json::parse(R"({"model_type": "llama"})"), {}, nullptr)
          .value();
  EXPECT_EQ(find_spec(checkpoint).value().name(), "mine");
}

TEST(FindSpecTest, PrefersTheSpecBesideTheModelsFile) {
  const TempFolder folder;
  folder.write("tiny.weft.toml", kMine);
  folder.write("tiny.gguf", std::string_view("GGUF"));
  const auto named = [&](const char* file) {
    return Checkpoint::make(CheckpointFormat::kGguf, folder.path() / file,
                            json::parse(R"({"general.architecture": "llama"})"), {}, nullptr)
        .value();
  };
  EXPECT_EQ(find_spec(named("tiny.gguf")).value().name(), "mine");
  EXPECT_EQ(find_spec(named("other.gguf")).value().name(), "llama");
}

TEST(FindSpecTest, DoesNotPassOverABrokenSpecOfTheModel) {
  const TempFolder folder;
  const auto path = folder.write("weft.toml", "name = 'mine'\nhiden = 1");
  const Checkpoint checkpoint =
      Checkpoint::make(CheckpointFormat::kSafetensors, folder.path(),
                       json::parse(R"({"model_type": "llama"})"), {}, nullptr)
          .value();
  EXPECT_THAT(find_spec(checkpoint), FailsWith(ModelErrc::kBadSpec, path.string() + ": hiden"));
}

TEST(FindSpecTest, SaysWhatNobodyClaims) {
  EXPECT_THAT(
      find_spec(CheckpointBuilder(R"({"model_type": "odd", "architectures": ["OddForCausalLM"]})")
                    .make()),
      FailsWith(ModelErrc::kUnknownModel,
                R"(made-model, model_type "odd", architectures ["OddForCausalLM"])"));
  EXPECT_THAT(
      find_spec(
          CheckpointBuilder(R"({"general.architecture": "odd"})").make(CheckpointFormat::kGguf)),
      FailsWith(ModelErrc::kUnknownModel, R"(general.architecture "odd")"));
}

TEST(SpecLoadTest, NamesTheFileThatIsNotThere) {
  const TempFolder folder;
  const auto spec = Spec::load(folder.path() / "none.toml");
  ASSERT_FALSE(spec);
  EXPECT_THAT(spec.error().detail, HasSubstr("none.toml"));
}

/// The keys of the tables that docs/model-specs.md lists: of each heading "### `table`" the rows
/// that begin "| `key` |".
std::map<std::string, std::set<std::string>> documented() {
  constexpr std::string_view kTable = "### `";
  std::map<std::string, std::set<std::string>> tables;
  for (const test::DocRow& row : test::doc_rows(test::doc_page("model-specs.md"))) {
    if (!row.heading.starts_with(kTable)) continue;
    const std::size_t close = row.heading.find('`', kTable.size());
    tables[row.heading.substr(kTable.size(), close - kTable.size())].insert(
        test::split(row.cells.front(), '`').at(1));
  }
  return tables;
}

TEST(SpecDocumentationTest, ExplainsEveryKeyAndNoOther) {
  std::map<std::string, std::set<std::string>> keys;
  for (const SpecTable& table : spec_schema()) {
    for (const std::string_view entry : table.keys) {
      if (entry.starts_with('^') || entry == "*") continue;  // keys of another table; free names
      keys[std::string(table.name)].emplace(entry.substr(0, entry.find_first_of(":|")));
    }
  }
  const auto page = documented();
  for (const auto& [table, wanted] : keys) {
    ASSERT_TRUE(page.contains(table)) << "no section on " << table;
    EXPECT_EQ(page.at(table), wanted) << "section " << table;
  }
  EXPECT_EQ(page.size(), keys.size());
}

/// The TOML blocks of docs/model-specs.md that begin with a spec's name.
std::vector<std::string> examples() {
  std::vector<std::string> found = test::toml_blocks(test::doc_page("model-specs.md"));
  std::erase_if(found, [](const std::string& block) { return !block.starts_with("name = "); });
  return found;
}

// An example is called as the golden model that it is for.
TEST(SpecDocumentationTest, ShowsExamplesThatWork) {
  EXPECT_THAT(examples(), testing::Not(IsEmpty()));
  for (const std::string& example : examples()) {
    const Spec spec = Spec::parse(example, "example").value();
    const Checkpoint checkpoint =
        open_checkpoint(test::source_path("tests/model/data/goldens/") + spec.name()).value();
    const Architecture architecture = resolve_architecture(spec, checkpoint).value();
    const Program program = compile(architecture, checkpoint).value();
    const Spec builtin = find_spec(checkpoint).value();
    const Architecture wanted = resolve_architecture(builtin, checkpoint).value();
    EXPECT_EQ(describe(program), describe(compile(wanted, checkpoint).value()));
    EXPECT_THAT(program.unused_tensors, IsEmpty());
  }
}

}  // namespace
}  // namespace weft
