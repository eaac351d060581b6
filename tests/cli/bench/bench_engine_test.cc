#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string on_demo_model(const std::string& verb, const std::string& options) {
  return "bench " + verb + " \"" + source_path("examples/demo_model/model") +
         "\" --threads 1 --max-rows 4 --max-context 128 " + options;
}

std::string file_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(BenchEngineTest, EachPolicyIsMeasuredUnderTheSameLoad) {
  const ProgramRun run = run_weft(on_demo_model(
      "engine", "--requests 5 --input 4..9 --output 3..8 --policies fusion,static,instances:2"));
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("weft bench engine"));
  for (const char* const row : {"\nfusion ", "\nstatic ", "\n2 instances "}) {
    EXPECT_THAT(run.output, HasSubstr(row));
  }
  EXPECT_THAT(run.output, Not(HasSubstr("nan")));
}

TEST(BenchEngineTest, OnePolicyIsShownWithAllFiguresAndWrittenToFiles) {
  const TempFolder folder;
  const auto json = folder.path() / "report.json";
  const auto html = folder.path() / "report.html";
  const ProgramRun run = run_weft(on_demo_model(
      "engine", "--requests 3 --input 4 --output 6 --slo-first-token 60000 --json \"" +
                    json.string() + "\" --html \"" + html.string() + "\""));
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("goodput"));
  const auto report = boost::json::parse(file_text(json));
  const auto& policy = report.at("data").at(0);
  EXPECT_EQ(policy.at("policy").as_string(), "fusion");
  EXPECT_THAT(file_text(html), StartsWith("<!doctype html>"));
}

TEST(BenchEngineTest, WhatCannotBeMeasuredIsRefusedByItsFlag) {
  EXPECT_THAT(run_weft("bench engine").output, HasSubstr("MODEL or --shape"));
  EXPECT_THAT(run_weft("bench engine --shape llama-9b").output,
              HasSubstr("--shape llama-9b: there is no such; there are llama-110m"));
  EXPECT_THAT(run_weft(on_demo_model("engine", "--policies fast")).output,
              HasSubstr("--policies \"fast\": there are fusion"));
  EXPECT_THAT(run_weft(on_demo_model("engine", "--input 0")).output, HasSubstr("--input: \"0\""));
  EXPECT_THAT(run_weft(on_demo_model("engine", "--shape llama-110m")).output,
              HasSubstr("either MODEL or --shape, not both"));
  EXPECT_THAT(run_weft(on_demo_model("engine", "--input 100 --output 100 --requests 1")).output,
              HasSubstr("a request of 100 + 100 tokens does not fit a context of 128"));
  EXPECT_THAT(run_weft(on_demo_model("engine", "--json /nowhere/at/all")).output,
              HasSubstr("--json /nowhere/at/all: No such file or directory"));
  EXPECT_THAT(run_weft(on_demo_model("engine", "--svg /nowhere/loads")).output,
              HasSubstr("--svg /nowhere/loads-1.svg: No such file or directory"));
}

TEST(BenchRecipeTest, RecipesAreListedAndOthersRefusedWithTheList) {
  const ProgramRun list = run_weft("bench recipe --list");
  EXPECT_EQ(list.status, 0);
  for (const char* const name :
       {"flover-constant  ", "flover-poisson  ", "flover-shuffle  ", "flover-progress  ",
        "orca-load  ", "fineinfer-load  ", "priority  "}) {
    EXPECT_THAT(list.output, HasSubstr(name));
  }
  const ProgramRun unknown = run_weft("bench recipe flover");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(
      unknown.output,
      HasSubstr("flover: there is no such recipe; there are fineinfer-deferral, fineinfer-load"));
  EXPECT_EQ(run_weft("bench recipe").status, 1);
  for (const char* const rounds : {"0", "1001"}) {
    const ProgramRun refused = run_weft(std::string("bench recipe policies --repeats ") + rounds);
    EXPECT_NE(refused.status, 0);
    EXPECT_THAT(refused.output, HasSubstr("--repeats"));
  }
}

TEST(BenchRecipeTest, ARecipeGivesItsTablesAndItsFiles) {
  const TempFolder folder;
  const auto html = folder.path() / "report.html";
  const auto figures = (folder.path() / "shuffle").string();
  const std::string model = source_path("examples/demo_model/model");
  const ProgramRun shuffle =
      run_weft("bench recipe flover-shuffle \"" + model +
               "\" --threads 1 --max-rows 8 --max-context 128 --scale 0.1 --html \"" +
               html.string() + "\" --svg \"" + figures + "\"");
  EXPECT_EQ(shuffle.status, 0) << shuffle.output;
  EXPECT_THAT(shuffle.output, HasSubstr("What the shuffle costs on the device"));
  EXPECT_THAT(file_text(html), HasSubstr("<svg"));
  EXPECT_THAT(file_text(figures + "-1.svg"), StartsWith("<svg"));
  EXPECT_FALSE(std::filesystem::exists(figures + "-2.svg"));
}

}  // namespace
}  // namespace weft::test
