// The calls about uploaded files, over sockets.

#include "weft/net/routes/file_handlers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <string>

#include "weft/tests/net/tuning/served_tuning.h"

namespace weft::test {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kData = "{\"text\":\"one\"}\n";

class FileHandlersTest : public ServedTuning {};

TEST_F(FileHandlersTest, KeepsListsGivesAndDeletesAFile) {
  serve_tuning();
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
  serve_tuning();
  std::string data;
  while (data.size() < (1U << 20U)) data += kData;
  const std::string uploaded = upload(form(data));
  ASSERT_THAT(uploaded, StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(body_of(uploaded).at("bytes"), data.size());
}

TEST_F(FileHandlersTest, NamesTheFieldThatIsWrong) {
  config.training_max_file_bytes = 20;
  serve_tuning();
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
  serve_tuning();
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
