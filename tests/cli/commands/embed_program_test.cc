// `weft embed` as a user runs it: on a small model, and against a server that answers at once.

#include <gmock/gmock.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/http_stub.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

const std::string bert_path = source_path("tests/model/data/vectors/bert-mean");

std::vector<json::object> json_lines(const std::string& output) {
  std::vector<json::object> lines;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with('{')) lines.push_back(json::parse(line).as_object());
  }
  return lines;
}

/// Each text's embedding is its own length, in two numbers.
HttpStub::Reply lengths(const HttpStub::Request& request) {
  json::array data;
  const json::value body = json::parse(request.body());
  for (const json::value& text : body.at("input").as_array()) {
    data.push_back({{"index", data.size()}, {"embedding", {text.as_string().size(), 0.25}}});
  }
  return HttpStub::reply(200, json::serialize(json::object{{"data", data}}));
}

TEST(EmbedProgram, GivesTheReferencesVectorsOfTheLinesOfAFile) {
  const TempFolder folder;
  const std::string path = folder.path() / "texts";
  std::vector<json::array> expected;
  {
    std::ofstream texts(path, std::ios::binary);
    const json::value cases =
        json::parse(read_text_file(bert_path + "/expected.json", kAnySize).value());
    for (const json::value& one : cases.as_array()) {
      const std::string text(one.at("text").as_string());
      if (one.as_object().contains("second") || text.find('\n') != std::string::npos) continue;
      texts << text << "\r\n";
      expected.push_back(one.at("vector").as_array());
    }
  }
  ASSERT_GE(expected.size(), 2U);
  const ProgramRun run = run_weft("embed " + bert_path + " --truncate -1 --file " + path);
  EXPECT_EQ(run.status, 0) << run.output;
  const auto lines = json_lines(run.output);
  ASSERT_EQ(lines.size(), expected.size()) << run.output;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].at("index").to_number<std::size_t>(), i);
    const json::array& vector = lines[i].at("embedding").as_array();
    ASSERT_EQ(vector.size(), expected[i].size());
    for (std::size_t j = 0; j < vector.size(); ++j) {
      EXPECT_NEAR(vector[j].to_number<double>(), expected[i][j].to_number<double>(), 1e-4);
    }
  }
}

TEST(EmbedProgram, TakesAnyNumberOfLinesSomeAtATime) {
  std::atomic<int> asked{0};
  const HttpStub stub([&](const HttpStub::Request& request) {
    ++asked;
    return lengths(request);
  });
  const ProgramRun run = run_weft("embed " + stub.url(), "seq 1 200 | ");
  EXPECT_EQ(run.status, 0) << run.output;
  const auto lines = json_lines(run.output);
  ASSERT_EQ(lines.size(), 200U);
  EXPECT_EQ(lines[9].at("index").to_number<int>(), 9);
  EXPECT_EQ(json::serialize(lines[9].at("embedding")), "[2,2.5E-1]");
  EXPECT_EQ(asked, 4);
}

TEST(EmbedProgram, AsksAFullServerAgainAndSaysWhatItRefuses) {
  std::atomic<int> asked{0};
  const HttpStub stub([&](const HttpStub::Request& request) {
    const json::value body = json::parse(request.body());
    if (body.as_object().contains("dimensions")) {
      return HttpStub::reply(400, R"({"error":{"message":"dimensions: the model has 2"}})");
    }
    return ++asked == 1 ? HttpStub::reply(429, "{}") : lengths(request);
  });
  const ProgramRun again = run_weft("embed " + stub.url() + " one three");
  EXPECT_EQ(again.status, 0) << again.output;
  EXPECT_EQ(json_lines(again.output).size(), 2U);
  EXPECT_EQ(asked, 2);
  const ProgramRun refused = run_weft("embed " + stub.url() + " --dimensions 9 one");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.output, HasSubstr("dimensions: the model has 2"));
}

TEST(EmbedProgram, NamesTheLineThatIsBlankAndPrintsWhatCameBefore) {
  const HttpStub stub([](const HttpStub::Request& request) { return lengths(request); });
  const ProgramRun run = run_weft("embed " + stub.url(), "printf 'a\\nb\\n \\nc\\n' | ");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(json_lines(run.output).size(), 2U);
  EXPECT_THAT(run.output, HasSubstr("weft embed: line 3 is blank"));
  EXPECT_THAT(run_weft("embed " + stub.url() + " a '' c").output, HasSubstr("text 2 is blank"));
}

TEST(EmbedProgram, SaysThatAnAnswerHasNoEmbeddings) {
  const HttpStub stub(
      [](const HttpStub::Request&) { return HttpStub::reply(200, R"({"data":[1]})"); });
  EXPECT_THAT(run_weft("embed " + stub.url() + " text").output,
              HasSubstr("the answer has no embeddings of these texts"));
  EXPECT_THAT(run_weft("embed " + stub.url() + " text --file x").output,
              HasSubstr("either as TEXT or by --file"));
}

}  // namespace
}  // namespace weft::test
