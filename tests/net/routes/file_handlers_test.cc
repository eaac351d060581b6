// The calls about uploaded files, over sockets.

#include "weft/net/routes/file_handlers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string>

#include "weft/jobs/fine_tuning.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kData = "{\"text\":\"one\"}\n";

std::string field(const std::string& name, const std::string& value) {
  return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
}
std::string file(const std::string& content, const std::string& name = "a.jsonl") {
  return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name +
         "\"\r\nContent-Type: application/octet-stream\r\n\r\n" + content + "\r\n";
}
std::string form(const std::string& content) {
  return field("purpose", "fine-tune") + file(content) + "--b--\r\n";
}

class FileHandlersTest : public ServedPipeline {
 public:
  FileHandlersTest() { config.training_folder = (temp.path() / "training").string(); }
  ~FileHandlersTest() override { stop(); }  // before the folder goes

  /// Serves with the configured folder.
  void serve_files() {
    tuning = FineTuning::open(config).value();
    serve_at_once = false;
    start();
    server->service().offer(*tuning);
    serve();
  }
  std::string ask(const std::string& method, const std::string& path, const std::string& body = {},
                  const std::string& header = {}) const {
    PlainClient one = client();
    one.say(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n" + header + "\r\n" + body);
    return one.read_answer();
  }
  std::string upload(const std::string& body, const std::string& key = {}) const {
    return ask("POST", "/v1/files", body,
               "Content-Type: multipart/form-data; boundary=b\r\n" + key);
  }
  static json::value body_of(const std::string& answer) {
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }
  static std::string text_of(const json::value& value) {
    return value.is_null() ? std::string("-") : std::string(value.as_string());
  }
  /// Returns "STATUS PARAM CODE" of a refusal.
  static std::string refusal(const std::string& answer) {
    const json::value error = body_of(answer).at("error");
    return answer.substr(9, 3) + " " + text_of(error.at("param")) + " " + text_of(error.at("code"));
  }

  TempFolder temp;
  std::unique_ptr<FineTuning> tuning;
};

TEST_F(FileHandlersTest, KeepsListsGivesAndDeletesAFile) {
  serve_files();
  const std::string uploaded = upload(form(kData));
  ASSERT_THAT(uploaded, StartsWith("HTTP/1.1 200"));
  const json::value object = body_of(uploaded);
  const std::string id = text_of(object.at("id"));
  EXPECT_THAT(id, StartsWith("file-"));
  EXPECT_EQ(object.at("object"), "file");
  EXPECT_EQ(object.at("bytes"), 15);
  EXPECT_EQ(object.at("filename"), "a.jsonl");
  EXPECT_EQ(object.at("purpose"), "fine-tune");
  EXPECT_EQ(object.at("status"), "processed");
  EXPECT_EQ(body_of(ask("GET", "/v1/files/" + id)), object);
  EXPECT_THAT(ask("GET", "/v1/files/" + id + "/content"),
              AllOf(HasSubstr("application/octet-stream"), testing::EndsWith(kData)));
  EXPECT_EQ(body_of(ask("GET", "/v1/files?purpose=fine-tune")).at("data").at(0), object);
  EXPECT_EQ(body_of(ask("GET", "/v1/files?purpose=batch")).at("data"), json::array());
  EXPECT_EQ(body_of(ask("DELETE", "/v1/files/" + id)),
            (json::value{{"id", id}, {"object", "file"}, {"deleted", true}}));
  EXPECT_EQ(refusal(ask("GET", "/v1/files/" + id)), "404 file not_found");
  EXPECT_EQ(refusal(ask("GET", "/v1/files/" + id + "/content")), "404 file not_found");
  EXPECT_EQ(refusal(ask("DELETE", "/v1/files/" + id)), "404 file not_found");
}

TEST_F(FileHandlersTest, ALargeFileIsDecodedByTheWorkersToo) {
  serve_files();
  std::string data;
  while (data.size() < (1U << 20U)) data += kData;
  const std::string uploaded = upload(form(data));
  ASSERT_THAT(uploaded, StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(body_of(uploaded).at("bytes"), data.size());
}

TEST_F(FileHandlersTest, NamesTheFieldThatIsWrong) {
  config.training_max_file_bytes = 20;
  serve_files();
  EXPECT_EQ(refusal(upload(file(kData) + "--b--")), "400 purpose missing_required_parameter");
  EXPECT_EQ(refusal(upload(field("purpose", "fine-tune") + "--b--")),
            "400 file missing_required_parameter");
  EXPECT_EQ(refusal(upload(field("purpose", "assistants") + file(kData) + "--b--")),
            "400 purpose unsupported");
  EXPECT_EQ(refusal(upload(field("purpose", "fine-tune") + field("file", kData) + "--b--")),
            "400 file invalid_value");
  EXPECT_EQ(refusal(upload(field("color", "red") + form(kData))), "400 color unknown_parameter");
  EXPECT_EQ(refusal(upload(file(kData) + form(kData))), "400 file duplicate_parameter");
  EXPECT_EQ(refusal(upload("nothing")), "400 - invalid_form");
  EXPECT_EQ(refusal(ask("POST", "/v1/files", "{}", "Content-Type: application/json\r\n")),
            "400 - invalid_form");
  EXPECT_EQ(refusal(upload(form(std::string(21, ' ')))), "413 file file_too_large");
  const std::string bad = upload(form("{}\n"));
  EXPECT_EQ(refusal(bad), "400 file invalid_training_file");
  EXPECT_THAT(bad, HasSubstr("line 1: the line: must have either messages or text"));
  EXPECT_EQ(refusal(ask("GET", "/v1/files?limit=0")), "400 limit invalid_value");
  EXPECT_EQ(body_of(ask("GET", "/v1/files")).at("data"), json::array());
}

TEST_F(FileHandlersTest, AFileBelongsToItsKey) {
  server_config.api_key_file =
      temp.write("keys.toml",
                 "[[key]]\nname = 'ann'\nkey = 'a'\n[[key]]\nname = 'bob'\nkey = 'b'\n")
          .string();
  serve_files();
  const std::string uploaded = upload(form(kData), "X-Api-Key: a\r\n");
  ASSERT_THAT(uploaded, StartsWith("HTTP/1.1 200"));
  const std::string place = "/v1/files/" + text_of(body_of(uploaded).at("id"));
  EXPECT_EQ(refusal(upload(form(kData))), "401 - invalid_api_key");
  for (const char* method : {"GET", "DELETE"}) {
    EXPECT_EQ(refusal(ask(method, place, {}, "X-Api-Key: b\r\n")), "404 file not_found");
  }
  EXPECT_EQ(refusal(ask("GET", place + "/content", {}, "X-Api-Key: b\r\n")), "404 file not_found");
  EXPECT_EQ(body_of(ask("GET", "/v1/files", {}, "X-Api-Key: b\r\n")).at("data"), json::array());
  EXPECT_THAT(ask("GET", place, {}, "X-Api-Key: a\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(FileHandlersTest, AServerWithoutAFolderNamesTheKey) {
  start();
  EXPECT_EQ(refusal(upload(form(kData))), "404 - no_fine_tuning");
  EXPECT_THAT(ask("GET", "/v1/files"), HasSubstr("training.folder"));
}

}  // namespace
}  // namespace weft::test
