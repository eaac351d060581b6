// How the memory of bodies and messages is bounded, over a server's own sockets.

#include <gmock/gmock.h>

#include <future>

#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class BodyMemoryTest : public ServedPipeline {
 public:
  BodyMemoryTest() { server_config.max_body_memory = 1024; }
};

TEST_F(BodyMemoryTest, ABodyThatFindsNoRoomBesideOthersIsToldToTryAgain) {
  start();
  PlainClient first = client();
  first.say("POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" +
            std::string(900, ' '));
  EXPECT_TRUE(will_show("weft_body_bytes 900"));
  const std::string body = R"({"prompt":"ab"})" + std::string(200, ' ');
  PlainClient second = client();
  second.post("/tokenize", body);
  EXPECT_THAT(second.read_to_end(), AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("overloaded"),
                                          HasSubstr("Retry-After: 1\r\n")));
  EXPECT_TRUE(will_show("weft_bodies_refused_total 1"));
  first.say(R"({"prompt":"ab"})" + std::string(85, ' '));
  EXPECT_THAT(first.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(will_show("weft_body_bytes 0"));
  PlainClient third = client();
  third.post("/tokenize", body);
  EXPECT_THAT(third.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(BodyMemoryTest, ATextCountsUntilTheTokenizerHasDoneIt) {
  start();
  Service& service = server->service();
  const std::string body = R"({"prompt":"ab"})";
  boost::beast::http::request_header<> header;
  header.method(boost::beast::http::verb::post);
  header.target("/tokenize");
  const auto admitted = service.admit(header);
  const auto& admission = std::get<Service::Admission>(admitted);
  std::promise<HttpReply> reply;
  {
    BodyMemory::Share memory(service.body_memory());
    ASSERT_TRUE(memory.grow(body.size()));
    RouteResult result = service.handle(admission, header, body, memory);
    memory.clear();  // the connection's rest of the counted memory
    EXPECT_TRUE(shows("weft_body_bytes 15"));
    std::get<LaterReply>(result)(
        [&](LaterResult made) { reply.set_value(std::get<HttpReply>(std::move(made))); });
  }
  EXPECT_EQ(reply.get_future().get().status, 200U);
  EXPECT_TRUE(will_show("weft_body_bytes 0"));
}

TEST_F(BodyMemoryTest, AClientThatGoesGivesBackWhatItsBodyTook) {
  start();
  PlainClient one = client();
  one.say("POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n1234");
  EXPECT_TRUE(will_show("weft_body_bytes 4"));
  one.reset();
  EXPECT_TRUE(will_show("weft_body_bytes 0"));
}

TEST_F(BodyMemoryTest, AWebSocketWhoseMessageFindsNoRoomIsClosedWith1013) {
  start();
  PlainClient one = client();
  EXPECT_THAT(one.ask_to_upgrade(), StartsWith("HTTP/1.1 101"));
  one.say_frame(Opcode::kText, std::string(2000, ' '));
  const std::string code = {3, static_cast<char>(1013 - 3 * 256)};
  EXPECT_THAT(one.read_until(code), StartsWith("\x88"));
  EXPECT_THAT(one.read_until("try again later"), StartsWith("too many large messages"));
  one.close();
  EXPECT_TRUE(will_show("weft_body_bytes 0"));
}

TEST_F(BodyMemoryTest, AMessageThatWaitsInItsStreamCountsUntilItsTurn) {
  start();
  gate.close();
  PlainClient one = client();
  EXPECT_THAT(one.ask_to_upgrade(), StartsWith("HTTP/1.1 101"));
  const std::string message =
      R"({"type":"response.create","input":"a","ignore_eos":true,"max_output_tokens":2})" +
      std::string(200, ' ');
  one.say_frame(Opcode::kText, message);
  gate.wait_for_step();
  for (int i = 0; i < 2; ++i) one.say_frame(Opcode::kText, message);
  EXPECT_TRUE(will_show("weft_body_bytes " + std::to_string(2 * message.size())));
  one.say_frame(Opcode::kText, message);
  EXPECT_THAT(one.read_until("overloaded"), HasSubstr(R"("status":429)"));
  gate.open();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(one.read_until(R"("type":"response.incomplete")"), HasSubstr("delta"));
  }
  EXPECT_TRUE(will_show("weft_body_bytes 0"));
}

}  // namespace
}  // namespace weft::test
