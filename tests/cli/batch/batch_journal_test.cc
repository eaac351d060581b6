#include "weft/cli/batch/batch_journal.h"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <string>

#include "weft/cli/batch/batch_output.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string journal_request(const std::string& id) {
  return R"({"custom_id":")" + id +
         R"(","method":"POST","url":"/v1/completions","body":{"prompt":"x"}})" + "\n";
}
std::string result(const std::string& id) { return result_line(id, 200, "req_1", "{}"); }

/// Returns the custom_ids that are left, in their order.
std::vector<std::string> left_of(BatchJournal& journal) {
  std::vector<std::string> ids;
  while (const auto left = journal.next()) ids.push_back(*custom_id_of(left->text));
  return ids;
}

TEST(BatchJournal, AsksEveryLineOnceInItsOrder) {
  const std::string requests =
      journal_request("a") + "\n  \r\n" + journal_request("b") + journal_request("c");
  BatchJournal journal;
  EXPECT_THAT(journal.read_requests(requests), IsEmpty());
  EXPECT_EQ(journal.total(), 3U);
  EXPECT_EQ(journal.next()->number, 1U);
  EXPECT_EQ(journal.next()->number, 4U);
  EXPECT_THAT(left_of(journal), ElementsAre("c"));
}

TEST(BatchJournal, TakesALastLineWithoutItsEnd) {
  std::string requests = journal_request("a") + journal_request("b");
  requests.pop_back();
  BatchJournal journal;
  EXPECT_THAT(journal.read_requests(requests), IsEmpty());
  EXPECT_THAT(left_of(journal), ElementsAre("a", "b"));
}

TEST(BatchJournal, DoesNotAskWhatIsDone) {
  const std::string requests = journal_request("a") + journal_request("b") + journal_request("c");
  BatchJournal journal;
  ASSERT_THAT(journal.read_requests(requests), IsEmpty());
  const std::string results = result("c") + result("x") + result("a");
  EXPECT_EQ(*journal.read_results(results), results.size());
  EXPECT_EQ(journal.left(), 1U);
  EXPECT_EQ(journal.strangers(), 1U);
  EXPECT_THAT(left_of(journal), ElementsAre("b"));
}

TEST(BatchJournal, CutsTheLastResultOffWhereverItWasCut) {
  const std::string requests = journal_request("a") + journal_request("b");
  const std::string first = result("a");
  const std::string second = result("b");
  for (std::size_t length = 0; length <= second.size(); ++length) {
    BatchJournal journal;
    ASSERT_THAT(journal.read_requests(requests), IsEmpty());
    const bool whole = length == second.size();
    ASSERT_EQ(*journal.read_results(first + second.substr(0, length)),
              first.size() + (whole ? length : 0))
        << length;
    ASSERT_EQ(journal.left(), whole ? 0U : 1U) << length;
  }
}

TEST(BatchJournal, NamesLinesThatCannotBeToldApart) {
  BatchJournal journal;
  EXPECT_THAT(
      journal.read_requests(journal_request("a") + "{\n" + journal_request("b") +
                            journal_request("a") + "[]\n{\"custom_id\":7}\n{\"custom_id\":\"\"}\n"),
      ElementsAre(HasSubstr("line 2 is no JSON: "), "line 4 has the custom_id of line 1",
                  "line 5 is no JSON object", HasSubstr("line 6 has no \"custom_id\""),
                  HasSubstr("line 7 has no \"custom_id\"")));
}

TEST(BatchJournal, ShowsNoMoreMistakesThanAScreenHolds) {
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += "{\n";
  BatchJournal journal;
  const auto mistakes = journal.read_requests(requests);
  EXPECT_EQ(mistakes.size(), 21U);
  EXPECT_EQ(mistakes.back(), "and so on");
}

TEST(BatchJournal, RefusesAResultsFileThatIsNone) {
  const std::string requests = journal_request("a");
  for (const auto& [results, what] :
       {std::pair(result("a") + "something else\n", "line 2 is no JSON"),
        {result("a") + result("a"), "line 2 is a second result of a"},
        {std::string("{}\n"), "line 1 is no result"},
        {std::string(R"({"error":{}})") + "\n", "line 1 has no \"custom_id\""},
        {journal_request("a"), "line 1 is no result: it has neither a \"response\""},
        {std::string("{\"precious\": 1}"), "line 1 has no end"},
        {result("a") + "a note", "line 2 has no end"}}) {
    BatchJournal journal;
    ASSERT_THAT(journal.read_requests(requests), IsEmpty());
    const auto whole = journal.read_results(results);
    ASSERT_FALSE(whole) << results;
    EXPECT_THAT(whole.error().message, HasSubstr(what));
  }
}

TEST(BatchLines, SaysWhyALineCannotBeAsked) {
  for (const auto& [line, what] : {
           std::pair(R"({"custom_id":"a"})", "method"),
           {R"({"custom_id":"a","method":"GET"})", "method"},
           {R"({"custom_id":"a","method":"POST"})", "url"},
           {R"({"custom_id":"a","method":"POST","url":"/v1/moderations"})", "url"},
           {R"({"custom_id":"a","method":"POST","url":"/v1/embeddings"})", "body"},
           {R"({"custom_id":"a","method":"POST","url":"/v1/responses","body":{"background":true}})",
            "background"},
           {R"({"custom_id":"a","method":"POST","url":"/v1/completions"})", "body"},
           {R"({"custom_id":"a","method":"POST","url":"/v1/completions","body":{"stream":true}})",
            "stream"},
       }) {
    const BatchLine parsed = parse_batch_line(line);
    ASSERT_TRUE(parsed.error) << line;
    EXPECT_EQ(parsed.custom_id, "a");
    EXPECT_THAT(parsed.error->message, HasSubstr(what));
  }
  EXPECT_FALSE(parse_batch_line(journal_request("a")).error);
}

TEST(BatchLines, AsksEveryPathWhoseAnswerIsAWholeBody) {
  for (const std::string& path :
       {std::string("/v1/chat/completions"), std::string("/v1/completions"),
        std::string("/v1/responses"), std::string("/v1/messages"), std::string("/v1/embeddings"),
        std::string("/v1/rerank"), std::string("/v2/rerank"), std::string("/v1/score"),
        std::string("/v1/classify"), std::string("/v1/fill-mask")}) {
    const BatchLine line =
        parse_batch_line(R"({"custom_id":"a","method":"POST","url":")" + path + R"(","body":{}})");
    EXPECT_FALSE(line.error) << path;
    EXPECT_EQ(line.path, path);
  }
}

TEST(BatchLines, WritesResultsAsOneLineEach) {
  const std::string line = result_line("a", 200, "req_7", "{\"x\":\n1}");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto parsed = boost::json::parse(line).as_object();
  EXPECT_EQ(parsed.at("custom_id"), "a");
  EXPECT_TRUE(parsed.at("error").is_null());
  EXPECT_EQ(parsed.at("response").at("status_code"), 200);
  EXPECT_EQ(parsed.at("response").at("request_id"), "req_7");
  EXPECT_EQ(parsed.at("response").at("body").at("x"), 1);
  const auto gateway = boost::json::parse(result_line("a", 502, "", "<html>")).as_object();
  EXPECT_EQ(gateway.at("response").at("body"), "<html>");
  const auto error = boost::json::parse(error_line("b", {"code", "why"})).as_object();
  EXPECT_TRUE(error.at("response").is_null());
  EXPECT_EQ(error.at("error").at("message"), "why");
}

TEST(BatchOutput, GoesOnBehindWhatIsThere) {
  const test::TempFolder folder;
  const std::string path = folder.write("out.jsonl", "one\ntw").string();
  {
    auto output = BatchOutput::open(path);
    ASSERT_TRUE(output) << to_string(output.error());
    EXPECT_EQ(output->read().value(), "one\ntw");
    ASSERT_TRUE(output->cut(4));
    ASSERT_TRUE(output->append("three\n"));
    ASSERT_TRUE(output->sync());
  }
  EXPECT_EQ(BatchOutput::open(path)->read().value(), "one\nthree\n");
}

TEST(BatchOutput, IsWrittenByOneAtATime) {
  const test::TempFolder folder;
  const std::string path = (folder.path() / "out.jsonl").string();
  const auto first = BatchOutput::open(path);
  ASSERT_TRUE(first);
  const auto second = BatchOutput::open(path);
  ASSERT_FALSE(second);
  EXPECT_THAT(to_string(second.error()), HasSubstr("another weft batch"));
}

TEST(BatchOutput, KnowsItselfByEveryName) {
  const test::TempFolder folder;
  const std::string path = folder.write("out.jsonl", "one\n").string();
  std::filesystem::create_symlink(path, folder.path() / "other.jsonl");
  const auto output = BatchOutput::open(path);
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->is((folder.path() / "other.jsonl").string()));
  EXPECT_FALSE(output->is((folder.path() / "none.jsonl").string()));
  EXPECT_FALSE(output->is(folder.write("in.jsonl", "one\n").string()));
}

TEST(BatchOutput, NamesTheFileThatCannotBeWritten) {
  const auto output = BatchOutput::open("/no/such/folder/out.jsonl");
  ASSERT_FALSE(output);
  EXPECT_THAT(to_string(output.error()), HasSubstr("/no/such/folder/out.jsonl"));
  auto full = BatchOutput::open("/dev/full");
  ASSERT_TRUE(full);
  EXPECT_FALSE(full->append("line\n"));
}

}  // namespace
}  // namespace weft::cli
