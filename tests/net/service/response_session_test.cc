// The Responses API over sockets: the ends of responses, and the state that is dropped with them.

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

#include "weft/net/defaults.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class ResponseSessionTest : public ServedPipeline {
 public:
  struct Socket : PlainClient {
    explicit Socket(const ServedPipeline& served, std::string_view headers = {})
        : PlainClient(served.server->port()) {
      EXPECT_THAT(ask_to_upgrade(headers), StartsWith("HTTP/1.1 101"));
    }
    void create(const std::string& fields) {
      say_frame(Opcode::kText,
                R"({"type":"response.create","input":"a","ignore_eos":true,)" + fields + "}");
    }
  };
  /// Reads the events of one response, up to its last.
  static std::string events(PlainClient& socket) {
    std::string all = socket.read_until(R"("type":"response.incomplete")");
    return all.append(socket.read_until(R"("completed_at":null}})"));
  }
  /// Makes a response that is kept for the connection alone; returns its id.
  static std::string kept_by(Socket& socket) {
    socket.create(R"("max_output_tokens":2,"store":false)");
    const std::string all = events(socket);
    return all.substr(all.find("resp_"), all.find('"', all.find("resp_")) - all.find("resp_"));
  }
};

TEST_F(ResponseSessionTest, ACancelThatIsWrittenWronglyCancelsNothing) {
  start();
  gate.close();
  Socket one(*this);
  one.create(R"("max_output_tokens":3)");
  gate.wait_for_step();
  one.say_frame(Opcode::kText, R"({"type":"response.cancel","response_id":7})");
  EXPECT_THAT(one.read_until("invalid_type"), HasSubstr(R"("status":400)"));
  one.say_frame(Opcode::kText, R"({"type":"response.cancel","responseid":"resp_1"})");
  EXPECT_THAT(one.read_until("unknown_parameter"), HasSubstr(R"("status":400)"));
  gate.open();
  EXPECT_THAT(events(one), HasSubstr("max_output_tokens\"}"));
}

TEST_F(ResponseSessionTest, ARefusedContinuationTakesWhatItContinuedAlong) {
  start();
  Socket one(*this);
  const std::string previous = R"("previous_response_id":")" + kept_by(one) + "\"";
  one.create(previous + R"(,"max_output_tokens":2,"store":false)");
  EXPECT_THAT(events(one), HasSubstr("response.created")) << "it is there";
  one.create(previous + R"(,"top_p":7)");
  EXPECT_THAT(one.read_until("}}"), HasSubstr("top_p"));
  one.create(previous);
  EXPECT_THAT(one.read_until("}}"), HasSubstr("previous_response_not_found"));
}

TEST_F(ResponseSessionTest, SoDoesOneThatTheKeyHasNothingLeftFor) {
  const TempFolder folder;
  const char* const keys = "[[key]]\nname = 'one'\nkey = 'one'\ntokens_per_minute = 1\n";
  server_config.api_key_file = folder.write("keys.toml", keys).string();
  start();
  Socket one(*this, "X-Api-Key: one\r\n");
  const std::string previous = R"("previous_response_id":")" + kept_by(one) + "\"";
  one.create(previous);
  EXPECT_THAT(one.read_until("}}"), HasSubstr("rate_limit_exceeded"));
  one.create(previous);
  EXPECT_THAT(one.read_until("}}"), HasSubstr("previous_response_not_found"));
}

TEST_F(ResponseSessionTest, SoDoesALargeOneThatIsRefusedBeforeItIsDecoded) {
  const TempFolder folder;
  const char* const keys = "[[key]]\nname = 'one'\nkey = 'one'\ntokens_per_minute = 1\n";
  server_config.api_key_file = folder.write("keys.toml", keys).string();
  start();
  Socket one(*this, "X-Api-Key: one\r\n");
  const std::string previous = R"("previous_response_id":")" + kept_by(one) + "\"";
  one.create(previous + std::string(net_defaults::kInlineBody, ' '));
  EXPECT_THAT(one.read_until("}}"), HasSubstr("rate_limit_exceeded"));
  one.create(previous);
  EXPECT_THAT(one.read_until("}}"), HasSubstr("previous_response_not_found"));
}

TEST_F(ResponseSessionTest, APlainResponseThatIsCancelledIsAnsweredAndKeptAsFarAsItCame) {
  start();
  gate.close();
  PlainClient one(server->port());
  one.post("/v1/responses", R"({"input":"a","ignore_eos":true,"max_output_tokens":4000})");
  gate.wait_for_step();
  gate.let(10);
  std::string id;
  ASSERT_TRUE(eventually([&] {
    const auto running = server->service().running().list();
    if (running.empty() || running.front().answer->usage().output_tokens < 3) return false;
    id = running.front().object_id;
    return true;
  }));
  PlainClient other(server->port());
  other.post("/v1/responses/" + id + "/cancel", "");
  const std::string answer = one.read_answer();
  gate.open();
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(R"("status":"incomplete")"),
                            HasSubstr(R"("incomplete_details":{"reason":"cancelled"})")));
  const json::value response = json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  EXPECT_NE(response.at("output").at(0).at("content").at(0).at("text"), "");
  EXPECT_THAT(other.read_answer(), HasSubstr(R"("status":"incomplete")"));
  one.get("/v1/responses/" + id);
  const std::string kept = one.read_answer();
  EXPECT_EQ(json::parse(kept.substr(kept.find("\r\n\r\n") + 4)), response);
}

}  // namespace
}  // namespace weft::test
