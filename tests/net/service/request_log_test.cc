#include "weft/net/service/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <boost/json/parse.hpp>
#include <sstream>
#include <string>

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A log whose lines can be read.
class ReadableLog {
 public:
  ReadableLog(RequestLog::Format format, bool prompts,
              spdlog::level::level_enum level = spdlog::level::info)
      : log_(make_logger(format, level), format, prompts) {}

  RequestLog& operator*() { return log_; }
  RequestLog* operator->() { return &log_; }
  [[nodiscard]] std::string text() const { return lines_.str(); }
  [[nodiscard]] boost::json::object object() const {
    return boost::json::parse(lines_.str()).as_object();
  }

 private:
  std::shared_ptr<spdlog::logger> make_logger(RequestLog::Format format,
                                              spdlog::level::level_enum level) {
    auto logger = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_));
    logger->set_pattern(format == RequestLog::Format::kJson ? R"({"level":"%l",%v})" : "%l %v");
    logger->set_level(level);
    return logger;
  }

  std::ostringstream lines_;
  RequestLog log_;
};

constexpr LoggedRequest kRequest = {.request_id = "req-1",
                                    .client = "127.0.0.1",
                                    .key = "one",
                                    .method = "POST",
                                    .path = "/v1/completions",
                                    .status = 200,
                                    .error = {},
                                    .prompt_tokens = 3,
                                    .output_tokens = 4,
                                    .took = std::chrono::milliseconds(1'250),
                                    .body = "{\"prompt\":\n\"secret\"}"};

TEST(RequestLogTest, WritesARequestInALine) {
  ReadableLog log(RequestLog::Format::kText, false);
  log->request(kRequest);
  EXPECT_EQ(log.text(),
            "info 127.0.0.1 POST /v1/completions 200 1.250s in=3 out=4 key=one id=req-1\n");
}

TEST(RequestLogTest, WritesWhatASchemaWasNotHeldTo) {
  LoggedRequest request = kRequest;
  request.warning = "not enforced: format.not";
  ReadableLog text(RequestLog::Format::kText, false);
  text->request(request);
  EXPECT_THAT(text.text(), HasSubstr(" warning=\"not enforced: format.not\" key=one"));
  ReadableLog json(RequestLog::Format::kJson, false);
  json->request(request);
  EXPECT_EQ(json.object().at("warning"), "not enforced: format.not");
}

TEST(RequestLogTest, LeavesOutWhatThereIsNot) {
  ReadableLog log(RequestLog::Format::kText, false);
  LoggedRequest request{};
  request.request_id = "r";
  request.client = "c";
  request.method = "GET";
  request.path = "/";
  request.status = 404;
  request.error = "not_found";
  log->request(request);
  EXPECT_EQ(log.text(), "info c GET / 404 0.000s error=not_found id=r\n");
}

TEST(RequestLogTest, WritesARequestAsJson) {
  ReadableLog log(RequestLog::Format::kJson, false);
  log->request(kRequest);
  const boost::json::object line = log.object();
  EXPECT_EQ(line.at("level"), "info");
  EXPECT_EQ(line.at("message"), "request");
  EXPECT_EQ(line.at("request_id"), "req-1");
  EXPECT_EQ(line.at("client"), "127.0.0.1");
  EXPECT_EQ(line.at("key"), "one");
  EXPECT_EQ(line.at("method"), "POST");
  EXPECT_EQ(line.at("path"), "/v1/completions");
  EXPECT_EQ(line.at("status"), 200);
  EXPECT_EQ(line.at("seconds"), 1.25);
  EXPECT_EQ(line.at("prompt_tokens"), 3);
  EXPECT_EQ(line.at("output_tokens"), 4);
  EXPECT_FALSE(line.contains("error"));
  EXPECT_FALSE(line.contains("body"));
}

TEST(RequestLogTest, WritesWhatWasAskedOnlyWhereItIsWanted) {
  for (const auto format : {RequestLog::Format::kText, RequestLog::Format::kJson}) {
    ReadableLog quiet(format, false);
    quiet->request(kRequest);
    EXPECT_THAT(quiet.text(), Not(HasSubstr("secret")));
  }
  ReadableLog text(RequestLog::Format::kText, true);
  text->request(kRequest);
  EXPECT_THAT(text.text(), HasSubstr(R"( body="{\"prompt\":\n\"secret\"}")"));
  ReadableLog json(RequestLog::Format::kJson, true);
  json->request(kRequest);
  EXPECT_EQ(json.object().at("body"), "{\"prompt\":\n\"secret\"}");
}

TEST(RequestLogTest, CutsALongBody) {
  ReadableLog log(RequestLog::Format::kJson, true);
  LoggedRequest request = kRequest;
  const std::string body(5'000, 'x');
  request.body = body;
  log->request(request);
  EXPECT_EQ(log.object().at("body").as_string(), std::string(1'000, 'x') + "...");
}

TEST(RequestLogTest, ReplacesBytesOfABodyThatAreNoUtf8) {
  LoggedRequest request = kRequest;
  request.body = "a\xFF\xC3(\x01";
  ReadableLog json(RequestLog::Format::kJson, true);
  json->request(request);
  EXPECT_EQ(json.object().at("body"), "a\uFFFD\uFFFD(\x01");
  ReadableLog text(RequestLog::Format::kText, true);
  text->request(request);
  EXPECT_THAT(text.text(), HasSubstr("body=\"a\uFFFD\uFFFD(\\u0001\""));
}

// A client chooses the path, and must not write lines of its own with it.
TEST(RequestLogTest, ShowsNoBytesOfAPathThatAreMoreThanText) {
  LoggedRequest request = kRequest;
  request.path = "/a\n\x1B[2J b\x7F\xFF%";
  ReadableLog text(RequestLog::Format::kText, false);
  text->request(request);
  EXPECT_THAT(text.text(), HasSubstr(" /a%0A%1B[2J%20b%7F%FF%25 200 "));
  ReadableLog json(RequestLog::Format::kJson, false);
  json->request(request);
  EXPECT_EQ(json.object().at("path"), "/a%0A%1B[2J%20b%7F%FF%25");
}

TEST(RequestLogTest, WarnsOfWhatIsTheServersFault) {
  ReadableLog log(RequestLog::Format::kText, false, spdlog::level::warn);
  LoggedRequest request = kRequest;
  log->request(request);
  EXPECT_EQ(log.text(), "");
  request.status = 500;
  log->request(request);
  EXPECT_THAT(log.text(), testing::StartsWith("warning "));
}

TEST(RequestLogTest, NotesWhatHappensToTheServer) {
  ReadableLog text(RequestLog::Format::kText, false);
  text->info("listening {}");
  text->warning("slow");
  text->error("broken");
  EXPECT_EQ(text.text(), "info listening {}\nwarning slow\nerror broken\n");
  ReadableLog json(RequestLog::Format::kJson, false);
  json->error("a \"b\"\n");
  EXPECT_EQ(json.object().at("message"), "a \"b\"\n");
  EXPECT_EQ(json.object().at("level"), "error");
}

TEST(RequestLogTest, WritesWhatIsUrgentEnough) {
  const auto level = [](std::string_view name) {
    return make_stderr_logger(RequestLog::Format::kText, name)->level();
  };
  EXPECT_EQ(level("debug"), spdlog::level::debug);
  EXPECT_EQ(level("info"), spdlog::level::info);
  EXPECT_EQ(level("warning"), spdlog::level::warn);
  EXPECT_EQ(level("error"), spdlog::level::err);
  EXPECT_EQ(level("off"), spdlog::level::off);
}

TEST(ShortenedTest, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "abc...");
  EXPECT_EQ(shortened("a\u6F22b", 4), "a\u6F22...");
  EXPECT_EQ(shortened("a\u6F22b", 3), "a...");
  EXPECT_EQ(shortened("\u6F22", 1), "...");
}

}  // namespace
}  // namespace weft
