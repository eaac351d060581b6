#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/json/serialize.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "weft/measure/engine/measured_model.h"
#include "weft/measure/recipe.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/measure/recipes/recipe_reports.h"

namespace weft::measure {
namespace {

using test::expect_whole;
using test::series_of;
using testing::HasSubstr;

constexpr double kScale = 0.02;

Report report_of(const std::string& name) { return test::report_of(name, kScale); }

TEST(RecipesTest, EachIsFoundByItsNameAndOthersAreNot) {
  EXPECT_TRUE(std::ranges::is_sorted(recipes(), {}, &Recipe::name));
  for (const Recipe& one : recipes()) EXPECT_EQ(find_recipe(one.name), &one);
  EXPECT_EQ(find_recipe("orca"), nullptr);
}

TEST(RecipesTest, OrcaLoadComparesThePoliciesAtEachRate) {
  const Report report = report_of("orca-load");
  expect_whole(report);
  ASSERT_EQ(report.tables.size(), 2U);
  EXPECT_EQ(report.tables[0].rows.size(), 4U * 6U);
  EXPECT_EQ(report.tables[1].rows.size(), 4U);
  ASSERT_EQ(report.figures.size(), 1U);
  EXPECT_THAT(series_of(report.figures[0]),
              testing::ElementsAre("fusion", "static", testing::StartsWith("window:"),
                                   "static, padded (computed)", "twice one request alone"));
  EXPECT_EQ(report.findings.size(), 3U);
  EXPECT_THAT(report.tables[0].note, HasSubstr("our re-implementation"));
  EXPECT_GT(report.data.at("capacity").at("requests_per_second").as_double(), 0);
  EXPECT_EQ(report.data.at("curves").at("fusion").as_array().size(), 6U);
}

TEST(RecipesTest, FineinferLoadComparesTheMemorysUseAndSplitsTheTime) {
  const Report report = report_of("fineinfer-load");
  expect_whole(report);
  // The tables are full load, loads, at equal latency twice, split.
  ASSERT_EQ(report.tables.size(), 5U);
  EXPECT_EQ(report.tables[0].rows.size(), 2U * 3U);
  EXPECT_EQ(report.tables[1].rows.size(), 2U * 2U * 5U);
  EXPECT_EQ(report.tables[4].rows.size(), 2U * 2U);
  ASSERT_EQ(report.figures.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(series_of(report.figures[i]), testing::ElementsAre("token pages", "padded"));
  }
  EXPECT_THAT(series_of(report.figures[4]), testing::ElementsAre("forward", "everything else"));
  // There is memory for three padded sequences.
  const auto& full = report.data.at("ShareGPT-like").at("full_load");
  EXPECT_LE(full.at("padded").at("mean_batch").as_double(), 3);
  EXPECT_GE(full.at("token_pages").at("mean_batch").as_double(), 1);
  for (const auto& one : report.data.at("splits").as_array()) {
    EXPECT_GT(one.at("forward").as_double(), 0);
    EXPECT_GE(one.at("others").as_double(), 0);
  }
}

TEST(RecipesTest, FineinferDeferralShowsLatencyAndTrainingByTheBound) {
  const Report report = report_of("fineinfer-deferral");
  expect_whole(report);
  ASSERT_EQ(report.tables.size(), 3U);
  for (const Table& table : report.tables) {
    ASSERT_EQ(table.rows.size(), 8U);
    EXPECT_EQ(table.rows.front().front(), "no training");
  }
  ASSERT_EQ(report.figures.size(), 2U);
  for (const Figure& figure : report.figures) {
    EXPECT_THAT(series_of(figure),
                testing::ElementsAre("25 % of the capacity", "50 % of the capacity",
                                     "80 % of the capacity"));
    for (const Series& series : figure.series) EXPECT_EQ(series.points.size(), 4U);
  }
  EXPECT_EQ(report.findings.size(), 3U);
  EXPECT_GT(report.data.at("iteration_seconds").as_double(), 0);
  for (const auto& load : report.data.at("loads").as_array()) {
    const auto& choices = load.at("choices").as_object();
    EXPECT_EQ(choices.size(), 8U);
    EXPECT_EQ(choices.at("no training").at("training_share").as_double(), 0);
    // Requests wait for it, so it runs beside every load.
    EXPECT_GT(choices.at("finish first").at("training_share").as_double(), 0);
  }
}

TEST(RecipesTest, InferflowPartitionGivesTheSpeedOfOneAndTheThroughputOfMany) {
  std::vector<std::string> parts;
  RecipeSetup setup = test::small_setup(kScale);
  setup.config.partition = "cpu | cpu";
  setup.begin_part = [&](std::string_view part) { parts.emplace_back(part); };
  const Report report = find_recipe("inferflow-partition")->run(setup);
  // 64 and 256, of which the scale leaves these.
  EXPECT_THAT(parts, testing::ElementsAre("1 sequence", "2 sequences", "5 sequences"));
  expect_whole(report);
  EXPECT_THAT(report.facts, testing::Contains(testing::Pair("rows", "5")));
  ASSERT_EQ(report.tables.size(), 1U);
  EXPECT_EQ(report.tables[0].rows.size(), 3U);
  EXPECT_THAT(report.tables[0].note, HasSubstr("V100"));
  ASSERT_EQ(report.figures.size(), 1U);
  EXPECT_THAT(series_of(report.figures[0]), testing::ElementsAre("each", "all"));
  for (const auto& run : report.data.at("runs").as_array()) {
    const double each = run.at("tokens_per_second_of_each").as_double();
    EXPECT_GT(each, 0);
    EXPECT_GT(run.at("tokens_per_second").as_double(), 0);
  }
}

TEST(RecipesTest, InferflowSpeculationStatesThePapersCostBesideWhatWasMeasured) {
  RecipeSetup setup = test::small_setup(kScale * 10);
  std::vector<std::string> parts;
  setup.begin_part = [&](std::string_view part) { parts.emplace_back(part); };
  const Report report = find_recipe("inferflow-speculation")->run(setup);
  EXPECT_THAT(parts, testing::ElementsAre("loading", "edit", "repeat", "chat"));
  expect_whole(report);
  ASSERT_EQ(report.tables.size(), 1U);
  EXPECT_EQ(report.tables[0].rows.size(), 3U);
  EXPECT_THAT(series_of(report.figures.at(0)),
              testing::ElementsAre("edit", "repeat", "chat", "guesses for nothing"));
  EXPECT_TRUE(report.data.at("same_texts").as_bool());
  const auto& edit = report.data.at("traces").as_array().at(0);
  const double acceptance = edit.at("acceptance").as_double();
  const double guesses = edit.at("guesses_per_step").as_double();
  EXPECT_GT(guesses, 0);
  EXPECT_GE(acceptance, 0) << "a random model's bytes are no text that could be predicted";
  EXPECT_LE(acceptance, 1);
  EXPECT_NEAR(edit.at("tokens_per_step").as_double(), 1 + acceptance * guesses, 0.01)
      << "each step gives one token more than were guessed rightly";
}

/// The model is its own draft model, so each guess is right; it is too slow to guess much.
TEST(RecipesTest, InferflowSpeculationMeasuresADraftModelBesideLookUps) {
  const std::string path = test::source_path("examples/demo_model/model");
  const MeasuredModel model = open_measured_model(path, {}).value();
  RecipeSetup setup{.model = model};
  setup.config.threads = 1;
  setup.config.max_context = 128;
  setup.config.speculation_model = path;
  setup.scale = kScale;
  setup.repeats = 1;
  std::vector<std::string> parts;
  setup.begin_part = [&](std::string_view part) { parts.emplace_back(part); };
  const Report report = find_recipe("inferflow-speculation")->run(setup);
  EXPECT_THAT(parts, testing::ElementsAre("loading", "edit", "repeat", "chat", "edit, drafted",
                                          "repeat, drafted", "chat, drafted"));
  expect_whole(report);
  EXPECT_EQ(report.tables.at(0).rows.size(), 6U);
  EXPECT_TRUE(report.data.at("same_texts").as_bool());
  const auto& traces = report.data.at("traces").as_array();
  for (const std::size_t look_ups : {0U, 1U, 2U}) {
    EXPECT_EQ(traces.at(look_ups).at("draft_seconds").as_double(), 0);
    const auto& drafted = traces.at(look_ups + 3);
    EXPECT_GT(drafted.at("draft_seconds").as_double(), 0);
    if (drafted.at("guesses_per_step").as_double() == 0) continue;
    EXPECT_GT(drafted.at("acceptance").as_double(), 0.9);
  }
}

TEST(RecipesTest, PriorityShowsChatAloneAndBesideAFloodWithAndWithoutClasses) {
  std::vector<std::string> parts;
  RecipeSetup setup = test::small_setup(kScale);
  setup.begin_part = [&](std::string_view part) { parts.emplace_back(part); };
  const Report report = find_recipe("priority")->run(setup);
  EXPECT_THAT(parts, testing::Contains("long prompts, without classes"));
  expect_whole(report);
  ASSERT_EQ(report.tables.size(), 4U);
  for (const std::size_t chat : {0U, 2U}) {
    EXPECT_EQ(report.tables[chat].rows.size(), 3U);
    EXPECT_EQ(report.tables[chat + 1].rows.size(), 2U);
  }
  ASSERT_EQ(report.figures.size(), 4U);
  for (const Figure& figure : report.figures) {
    EXPECT_THAT(series_of(figure),
                testing::ElementsAre("chat alone", "with classes", "without classes"));
  }
  EXPECT_EQ(report.findings.size(), 2U);
}

TEST(RecipesTest, ARecipeThatIsStoppedThrowsThat) {
  for (const Recipe& recipe : recipes()) {
    std::atomic<bool> stop = false;
    RecipeSetup setup = test::small_setup(kScale);
    setup.stop = &stop;
    setup.begin_part = [&](std::string_view) { stop = true; };
    try {
      recipe.run(setup);
      FAIL() << recipe.name << " went on";
    } catch (const boost::system::system_error& error) {
      EXPECT_EQ(error.code(), boost::system::errc::operation_canceled) << recipe.name;
    }
  }
}

}  // namespace
}  // namespace weft::measure
