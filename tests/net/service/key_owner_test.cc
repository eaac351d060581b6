// A client cannot see the results of another key's requests.

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kOne = "X-Api-Key: one\r\n";
constexpr std::string_view kTwo = "X-Api-Key: two\r\n";

class KeyOwnerTest : public ServedPipeline {
 public:
  KeyOwnerTest() {
    server_config.api_key_file =
        folder_
            .write("keys.toml",
                   "[[key]]\nname = 'one'\nkey = 'one'\n[[key]]\nname = 'two'\n"
                   "key = 'two'\n")
            .string();
    start();
  }

  std::string ask(std::string_view method, const std::string& path, std::string_view key) const {
    PlainClient client(server->port());
    client.say(std::string(method) + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" +
               std::string(key) + "\r\n");
    return client.read_answer();
  }
  std::string respond(const std::string& fields, std::string_view key) const {
    PlainClient client(server->port());
    client.post("/v1/responses", R"({"input":"a","max_output_tokens":2)" + fields + "}", key);
    return client.read_answer();
  }
  json::value running(std::string_view key) const {
    return body_of(ask("GET", "/requests", key)).at("requests");
  }
  static json::value body_of(const std::string& answer) {
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }

 private:
  const TempFolder folder_;
};

TEST_F(KeyOwnerTest, AnothersResponseIsNotThere) {
  const std::string id(body_of(respond("", kOne)).at("id").as_string());
  const std::string path = "/v1/responses/" + id;
  const std::string previous = R"(,"previous_response_id":")" + id + "\"";
  for (const char* method : {"GET", "DELETE"}) {
    EXPECT_THAT(ask(method, path, kTwo), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("not_found")));
  }
  EXPECT_THAT(ask("POST", path + "/cancel", kTwo), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(respond(previous, kTwo),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("previous_response_not_found")));
  PlainClient socket(server->port());
  EXPECT_THAT(socket.ask_to_upgrade(kTwo), StartsWith("HTTP/1.1 101"));
  socket.say_frame(Opcode::kText, R"({"type":"response.create","input":"b")" + previous + "}");
  EXPECT_THAT(socket.read_until("}}"), HasSubstr("previous_response_not_found"));

  EXPECT_THAT(ask("GET", path, kOne), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(respond(previous, kOne), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("DELETE", path, kOne), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET", path, kOne), StartsWith("HTTP/1.1 404"));
}

TEST_F(KeyOwnerTest, AnothersAnswerIsSeenToRunAndCannotBeCancelled) {
  gate.close();
  PlainClient client(server->port());
  client.post("/v1/chat/completions",
              R"({"messages":[{"role":"user","content":"a"}],"max_tokens":4,"ignore_eos":true})",
              std::string(kOne) + "X-Request-Id: mine\r\n");
  gate.wait_for_step();
  const json::value own = running(kOne);
  ASSERT_EQ(own.as_array().size(), 1U);
  EXPECT_EQ(own.at(0).at("request_id"), "mine");
  const std::string id(own.at(0).at("id").as_string());
  const json::value others = running(kTwo);
  ASSERT_EQ(others.as_array().size(), 1U);
  EXPECT_TRUE(others.at(0).at("id").is_null());
  EXPECT_TRUE(others.at(0).at("request_id").is_null());
  EXPECT_EQ(others.at(0).at("engine_requests"), own.at(0).at("engine_requests"));

  const std::string cancel = "/v1/responses/" + id + "/cancel";
  EXPECT_THAT(ask("POST", cancel, kTwo), StartsWith("HTTP/1.1 404"));
  gate.open();
  EXPECT_THAT(client.read_answer(), HasSubstr("\"completion_tokens\":4"));
}

TEST_F(KeyOwnerTest, OnesOwnAnswerCanBeCancelled) {
  gate.close();
  PlainClient client(server->port());
  client.post("/v1/completions", R"({"prompt":[5],"max_tokens":4000,"ignore_eos":true})", kOne);
  gate.wait_for_step();
  const std::string id(running(kOne).at(0).at("id").as_string());
  PlainClient other(server->port());
  other.post("/v1/responses/" + id + "/cancel", "", kOne);
  gate.open();
  EXPECT_THAT(other.read_answer(), HasSubstr("cancelled"));
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 499"));
}

}  // namespace
}  // namespace weft::test
