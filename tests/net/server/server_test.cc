// HTTP by hand: the bytes on the socket.

#include <gmock/gmock.h>

#include <optional>

#include "weft/core/actor/supervision.h"
#include "weft/net/defaults.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/net/server/leaving_client.h"
#include "weft/tests/net/server/own_sockets.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"
#include "weft/tests/net/server/tiny_service.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ServerTest : public ServedPipeline {
 public:
  static void upgrade(PlainClient& one) {
    EXPECT_THAT(one.ask_to_upgrade(), StartsWith("HTTP/1.1 101"));
  }
  /// Starts a server whose only place `first` takes, until the gate opens.
  void fill(std::optional<PlainClient>& first) {
    config.max_queued_requests = 1;
    start();
    gate.close();
    first.emplace(server->port());
    first->post(kCompletions, kThreeTokens);
    gate.wait_for_step();
  }
};

TEST_F(ServerTest, AnAnswerSaysWhenItWasMade) {
  start();
  PlainClient one = client();
  one.get("/live");
  EXPECT_THAT(one.read_answer(),
              testing::ContainsRegex("\r\nDate: [A-Z][a-z]+, [0-9]+ [A-Z][a-z]+ [0-9]+ "
                                     "[0-9]+:[0-9]+:[0-9]+ GMT\r\n"));
}

TEST_F(ServerTest, ARequestIsAnsweredAndTheConnectionKept) {
  start();
  PlainClient one = client();
  for (int i = 0; i < 3; ++i) {
    one.post(kCompletions, kThreeTokens);
    EXPECT_THAT(one.read_answer(), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                                         HasSubstr("\"completion_tokens\":3"), EndsWith("}")));
  }
  EXPECT_TRUE(eventually([&] { return all_is_free(); }));
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInTheirOrder) {
  start();
  PlainClient one = client();
  one.say(
      "GET /live HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(one.read_answer(), HasSubstr("200 OK"));
  EXPECT_THAT(one.read_answer(), HasSubstr("404 Not Found"));
  EXPECT_THAT(one.read_to_end(), AllOf(HasSubstr("200 OK"), HasSubstr("Connection: close")));
}

TEST_F(ServerTest, WhatComesAfterPipelinedRequestsIsReadAsItWasSent) {
  start();
  PlainClient one = client();
  one.say(
      "GET /live HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(one.read_answer(), HasSubstr("200 OK"));
  EXPECT_THAT(one.read_answer(), HasSubstr("\"version\""));
  // The read that it comes to began before the second request was taken out.
  one.get("/nowhere");
  EXPECT_THAT(one.read_answer(), HasSubstr("404 Not Found"));
}

TEST_F(ServerTest, AnUpgradeBehindAnotherRequestIsRefused) {
  start();
  PlainClient one = client();
  one.say(
      "GET /live HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n");
  EXPECT_THAT(one.read_answer(), HasSubstr("200 OK"));
  EXPECT_THAT(one.read_to_end(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("bad_request")));
}

TEST_F(ServerTest, AStreamComesInChunksAndEndsWithDone) {
  start();
  PlainClient one = client();
  one.post(kCompletions, R"({"prompt":[5],"max_tokens":4,"ignore_eos":true,"stream":true})");
  const std::string all = one.read_until("0\r\n\r\n");
  EXPECT_THAT(all, AllOf(HasSubstr("Transfer-Encoding: chunked"), HasSubstr("text/event-stream"),
                         HasSubstr("data: [DONE]\n\n")));
  one.get("/live");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, AClientOfTheOldHttpGetsItsStreamUpToTheEndOfTheConnection) {
  start();
  PlainClient one = client();
  const std::string body = R"({"prompt":[5],"max_tokens":2,"ignore_eos":true,"stream":true})";
  one.say("POST /v1/completions HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) +
          "\r\n\r\n" + body);
  EXPECT_THAT(one.read_to_end(), AllOf(StartsWith("HTTP/1.0 200 OK"), Not(HasSubstr("chunked")),
                                       EndsWith("data: [DONE]\n\n")));
}

TEST_F(ServerTest, WhatIsNoRequestIsAnswered400AndTheConnectionEnds) {
  start();
  for (const std::string_view nonsense :
       {"hello\r\n\r\n", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\nHost: x\n\n", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n0",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n0"}) {
    PlainClient one = client();
    one.say(nonsense);
    EXPECT_THAT(one.read_to_end(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("bad_request")))
        << nonsense;
  }
}

TEST_F(ServerTest, AHeaderThatIsTooLargeOrHasTooManyFieldsIsRefused) {
  start();
  PlainClient one = client();
  one.say("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(20000, 'a') + "\r\n\r\n");
  EXPECT_THAT(one.read_to_end(), StartsWith("HTTP/1.1 431"));
  PlainClient other = client();
  std::string fields;
  for (int i = 0; i < 101; ++i) fields += "A" + std::to_string(i) + ": a\r\n";
  other.get("/live", fields);
  EXPECT_THAT(other.read_to_end(), StartsWith("HTTP/1.1 431"));
}

TEST_F(ServerTest, ABodyThatIsTooLargeIsRefusedByItsHeaderAlone) {
  start();
  PlainClient one = client();
  one.say("POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000000\r\n\r\n");
  EXPECT_THAT(one.read_to_end(), AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("body_too_large")));
}

TEST_F(ServerTest, ABodyInManySmallChunksIsPutTogether) {
  start();
  PlainClient one = client();
  one.say("POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  std::string chunks;
  for (const char c : std::string(R"({"prompt":"ab"})")) {
    chunks += "1\r\n";
    chunks += c;
    chunks += "\r\n";
  }
  one.say(chunks + "0\r\n\r\n");
  EXPECT_THAT(one.read_answer(), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\"count\"")));
}

TEST_F(ServerTest, AClientThatWaitsForItIsToldToContinue) {
  start();
  PlainClient one = client();
  one.say(
      "POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(one.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  one.say(R"({"prompt":"ab"})");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, WhileTheModelLoadsRequestsAreRefusedAndTheServerIsAlive) {
  serve_at_once = false;
  start();
  PlainClient one = client();
  one.get("/health");
  EXPECT_THAT(one.read_answer(),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("loading"), HasSubstr("Retry-After: 5")));
  one.get("/live");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  one.get("/v1/models");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 503"));
  serve();
  one.get("/v1/models");
  EXPECT_THAT(one.read_answer(), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\"tiny\"")));
}

TEST_F(ServerTest, AnEngineThatHasLostItsDeviceIsNotReadyAndTheServerIsAlive) {
  on_step = [](const Plan&) -> void { throw ActorFailure(ExitKind::kDeviceLost, "gone"); };
  start();
  PlainClient one = client();
  one.get("/health");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  one.post(kCompletions, kThreeTokens);
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 50"));
  EXPECT_TRUE(eventually([&] { return !engine->ready(); }));
  const auto refused =
      AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 5"), HasSubstr("not_ready"));
  one.get("/health");
  EXPECT_THAT(one.read_answer(), refused);
  one.get("/v1/models");
  EXPECT_THAT(one.read_answer(), refused);
  one.get("/live");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, EveryRouteButTwoWantsTheKey) {
  server_config.api_key = "secret";
  start();
  PlainClient one = client();
  one.get("/v1/models");
  EXPECT_THAT(one.read_answer(), AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("invalid_api_key")));
  one.get("/v1/models", "Authorization: Bearer wrong\r\n");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 401"));
  one.get("/health");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  one.get("/live");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  for (const std::string_view shown :
       {"Authorization: Bearer secret\r\n", "Authorization: Basic eDpzZWNyZXQ=\r\n",
        "X-Api-Key: secret\r\n"}) {
    one.get("/v1/models", shown);
    EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200")) << shown;
  }
}

TEST_F(ServerTest, AFullQueueIsRefusedWithTheTimeToTryAgain) {
  std::optional<PlainClient> first;
  fill(first);
  PlainClient second = client();
  second.post(kCompletions, kThreeTokens);
  EXPECT_THAT(second.read_answer(), AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Retry-After: "),
                                          HasSubstr("overloaded")));
  gate.open();
  EXPECT_THAT(first->read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, EachApiIsToldOfAFullQueueInItsForm) {
  std::optional<PlainClient> first;
  fill(first);
  PlainClient second = client();
  second.post("/v1/messages", "{}", "X-Request-Id: mine\r\n");
  EXPECT_THAT(second.read_answer(),
              AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Retry-After: 1\r\n"),
                    HasSubstr("request-id: mine\r\n"),
                    HasSubstr(R"({"type":"error","error":{"type":"rate_limit_error","message":)"),
                    EndsWith(R"("request_id":"mine"})")));
  second.post("/api/chat", "{}");
  EXPECT_THAT(second.read_answer(),
              AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Retry-After: 1\r\n"),
                    HasSubstr("\r\n\r\n{\"error\":\"")));
  EXPECT_TRUE(eventually([&] { return was_logged("error=overloaded"); }));
  gate.open();
  EXPECT_THAT(first->read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, WhatIsRefusedBeforeItsRouteIsKnownHasTheApisFormToo) {
  server_config.max_body_bytes = 100;
  start();
  PlainClient one = client();
  one.get("/api/nowhere");
  EXPECT_THAT(one.read_answer(),
              AllOf(StartsWith("HTTP/1.1 404"), EndsWith("{\"error\":\"there is no such path\"}")));
  one.get("/v1/messages");
  EXPECT_THAT(one.read_answer(),
              AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: POST"),
                    HasSubstr(R"({"type":"error","error":{"type":"invalid_request_error")")));
  one.post("/v1/messages", std::string(101, 'x'));
  EXPECT_THAT(one.read_to_end(), AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("request_too_large")));
}

TEST_F(ServerTest, FindsWhatClientsProbeWithSlashesTooManyAndByLlamaCppsPaths) {
  start();
  PlainClient one = client();
  for (const char* path : {"//v1//models/", "/models", "/props?model=tiny", "/slots"}) {
    one.get(path);
    EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200")) << path;
  }
}

TEST_F(ServerTest, OllamasAnswersStreamInLines) {
  start();
  PlainClient one = client();
  one.post("/api/generate",
           R"({"prompt":"ab","raw":true,"options":{"num_predict":3,"ignore_eos":true,"seed":1}})");
  EXPECT_THAT(one.read_until("\r\n\r\n"), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                                                HasSubstr("Content-Type: application/x-ndjson\r\n"),
                                                HasSubstr("Transfer-Encoding: chunked\r\n")));
  const std::string lines = one.read_until("\r\n0\r\n\r\n");
  EXPECT_THAT(lines, AllOf(HasSubstr(R"({"model":"tiny:latest",)"), HasSubstr("\"done\":false}\n"),
                           HasSubstr(R"("done":true,"done_reason":"length")"),
                           EndsWith("}\n\r\n0\r\n\r\n")));
  one.post("/api/generate", "{}");
  EXPECT_THAT(one.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(one.read_until("\r\n0\r\n\r\n"),
              HasSubstr(R"("response":"","done":true,"done_reason":"load"})"));
  EXPECT_TRUE(eventually([&] { return all_is_free(); }));
}

TEST_F(ServerTest, WhileThereIsNoRoomARequestIsRefusedUnreadAndItsConnectionKept) {
  std::optional<PlainClient> first;
  fill(first);
  PlainClient second = client();
  for (const std::string_view path : {kCompletions, std::string_view("/v1/chat/completions"),
                                      std::string_view("/v1/responses")}) {
    second.post(path, "{this is no JSON");
    EXPECT_THAT(second.read_answer(),
                AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Retry-After: 1\r\n"),
                      HasSubstr("too many requests wait"), Not(HasSubstr("Connection: close"))));
  }
  EXPECT_TRUE(eventually([&] { return was_logged("error=overloaded"); }));
  second.get("/v1/models");
  EXPECT_THAT(second.read_answer(), StartsWith("HTTP/1.1 200")) << "it takes no room";
  gate.open();
  EXPECT_THAT(first->read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(eventually([&] { return all_is_free(); }));
  second.post(kCompletions, kThreeTokens);
  EXPECT_THAT(second.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, ARefusalReadsAShortBodyAndNoneThatIsLongOrWaitsToBeAskedFor) {
  start();
  PlainClient one = client();
  one.post("/nowhere", "GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(one.read_answer(),
              AllOf(StartsWith("HTTP/1.1 404"), Not(HasSubstr("Connection: close"))));
  one.get("/live");
  EXPECT_THAT(one.read_answer(), AllOf(StartsWith("HTTP/1.1 200"), EndsWith(R"({"status":"ok"})")));
  const std::string long_body =
      "Content-Length: " + std::to_string(net_defaults::kReadAhead + 1) + "\r\n";
  for (const std::string& unread : {long_body, std::string("Transfer-Encoding: chunked\r\n"),
                                    std::string("Content-Length: 9\r\nExpect: 100-continue\r\n")}) {
    PlainClient other = client();
    other.say("POST /nowhere HTTP/1.1\r\nHost: x\r\n" + unread + "\r\n");
    EXPECT_THAT(other.read_to_end(),
                AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Connection: close")))
        << unread;
  }
}

TEST_F(ServerTest, ADeadlineEndsARequest) {
  start();
  PlainClient one = client();
  one.post(kCompletions, R"({"prompt":[5,6,7],"max_tokens":4000,"ignore_eos":true})",
           "X-Request-Timeout-Ms: 1\r\n");
  EXPECT_THAT(one.read_answer(), AllOf(StartsWith("HTTP/1.1 408"), HasSubstr("deadline_exceeded")));
  EXPECT_TRUE(eventually([&] { return all_is_free(); }));
}

TEST_F(ServerTest, AClientThatGoesTakesItsRequestAlong) {
  start();
  for (const bool streams : {false, true}) {
    for (const bool resets : {false, true}) {
      gate.close();
      PlainClient one = client();
      std::string body(kStream);
      if (!streams) body.replace(body.find(R"(,"stream":true)"), 14, "");
      one.post(kCompletions, body);
      gate.wait_for_step();
      gate.let(16);  // the step that stands there may be one of the request before
      if (streams) one.read_until("data: ");
      if (resets) {
        one.reset();
      } else {
        one.close();
      }
      EXPECT_TRUE(eventually([&] { return server->service().running().count() == 0; }));
      gate.open();
      EXPECT_TRUE(eventually([&] { return all_is_free(); }));
    }
  }
}

class LeftBehindTest : public ServerTest, public testing::WithParamInterface<Transport> {
 public:
  void start_with(int tokens_per_minute) {
    const std::string key = "[[key]]\nname = 'one'\nkey = 'one'\ntokens_per_minute = ";
    server_config.api_key_file =
        folder_.write("keys.toml", key + std::to_string(tokens_per_minute) + "\n").string();
    start();
    gate.close();
  }
  LeavingClient leaving() const { return {server->port(), GetParam(), kKey}; }
  /// Asks, and waits until the first step stands before the gate.
  void ask(LeavingClient& one, const Question& question) {
    one.upgrade();
    one.ask(question);
    gate.wait_for_step();
  }
  void expect_paid_by(LeavingClient& one) {
    one.reset();
    EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
    gate.open();
    EXPECT_TRUE(eventually([&] { return is_spent(); }));
  }

 private:
  static constexpr const char* kKey = "X-Api-Key: one\r\n";

  /// Whether the key's allowance is spent: asks for more than is possible, which costs the key
  /// nothing.
  bool is_spent() const {
    PlainClient one = client();
    one.post(kCompletions, R"({"prompt":[5],"max_tokens":1000000})", kKey);
    const std::string answer = one.read_answer();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 4"));
    return answer.find("rate_limit_exceeded") != std::string::npos;
  }

  const TempFolder folder_;
};

TEST_P(LeftBehindTest, WhatAClientLeavesBehindIsChargedToItsKey) {
  start_with(2);
  LeavingClient one = leaving();
  ask(one, {.prompt = "c", .max_tokens = 2000});
  gate.let(10);
  ASSERT_TRUE(eventually([&] {
    const auto running = server->service().running().list();
    return !running.empty() && running.front().answer->usage().output_tokens >= 5;
  }));
  expect_paid_by(one);
}

TEST_P(LeftBehindTest, ThePromptIsChargedToo) {
  start_with(100);
  LeavingClient one = leaving();
  ask(one, {.prompt = std::string(1000, 'c'), .max_tokens = 10});
  expect_paid_by(one);
}

INSTANTIATE_TEST_SUITE_P(, LeftBehindTest, testing::Values(Transport::kSse, Transport::kWebSocket));

TEST_F(ServerTest, AServerThatClosesWaitsForItsLastConnectionAndNotLonger) {
  start();
  gate.close();
  PlainClient one = client();
  one.post(kCompletions, kThreeTokens);
  gate.wait_for_step();
  server->drain();
  std::thread closing([&] { server->close(std::chrono::hours(1)); });
  gate.open();
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  one.close();
  closing.join();
  EXPECT_EQ(server->connections(), 0U);
}

TEST_F(ServerTest, AClientThatLeavesBehindAHeapOfPipelinedRequestsIsNoticed) {
  start();
  gate.close();
  PlainClient one = client();
  one.post(kCompletions, R"({"prompt":[5,6,7],"max_tokens":2000,"ignore_eos":true})");
  gate.wait_for_step();
  one.say(std::string(2 * net_defaults::kReadAhead, '\n'));  // the rest is the system's to keep
  one.shut_down_sending();
  EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
  EXPECT_TRUE(eventually([&] { return all_is_free(); }));
}

TEST_F(ServerTest, AServerEndsWhileTheTokenizerIsAtWork) {
  start();
  const std::string body = R"({"prompt":")" + std::string(std::size_t{1} << 20, 'a') + R"("})";
  std::vector<std::unique_ptr<PlainClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<PlainClient>(server->port()));
    clients.back()->post("/tokenize", body);
  }
  clients.front()->read_answer();
  clients.clear();
  EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
  stop();
}

TEST_F(ServerTest, WhoDoesNotReadIsCutOffPastTheBound) {
  server_config.max_unread_bytes = 1024;
  limits.context = 1 << 20;
  limits.pages = 1 << 19;
  start();
  PlainClient one(server->port(), 4096);
  one.post(kCompletions,
           R"({"prompt":[5,6,7],"max_tokens":1000000,"ignore_eos":true,"stream":true})");
  EXPECT_TRUE(eventually([&] { return was_logged("client_too_slow"); }));
  EXPECT_TRUE(will_show("weft_slow_readers_total{limit=\"max_unread_bytes\"} 1"));
  EXPECT_TRUE(shows("weft_slow_readers_total{limit=\"write_timeout\"} 0"));
  EXPECT_TRUE(eventually([&] { return all_is_free(); }));
}

TEST_F(ServerTest, ARunningStreamIsFinishedWhileTheServerDrains) {
  start();
  gate.close();
  PlainClient idle = client();
  idle.get("/live");
  idle.read_answer();
  PlainClient one = client();
  one.post(kCompletions, R"({"prompt":[5],"max_tokens":4,"ignore_eos":true,"stream":true})");
  gate.wait_for_step();
  server->drain();
  EXPECT_EQ(idle.read_to_end(), "");
  gate.open();
  EXPECT_THAT(one.read_to_end(), HasSubstr("data: [DONE]"));
  EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
}

TEST_F(ServerTest, WhoComesWhileTheServerDrainsHearsThatItGoes) {
  start();
  gate.close();
  PlainClient one = client();
  one.post(kCompletions, R"({"prompt":[5],"max_tokens":4,"ignore_eos":true,"stream":true})");
  gate.wait_for_step();
  server->drain();
  const auto asked = [this](std::string_view path) {
    PlainClient late = client();
    late.get(path);
    return late.read_to_end();
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(asked("/health"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("shutting_down"),
                                        HasSubstr("Retry-After"), HasSubstr("Connection: close")));
  }
  EXPECT_THAT(asked("/live"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(asked("/v1/models"), StartsWith("HTTP/1.1 503"));
  PlainClient silent = client();
  EXPECT_EQ(silent.read_to_end(), "") << "who says nothing is not waited for";
  gate.open();
  EXPECT_THAT(one.read_to_end(), HasSubstr("data: [DONE]"));
  server->close(std::chrono::seconds(30));
  EXPECT_THROW(client(), boost::system::system_error);
}

TEST_F(ServerTest, ARequestThatWasSentBeforeTheServerDrainsIsAnsweredThoughNobodyHadReadIt) {
  start();
  std::vector<std::unique_ptr<PlainClient>> clients;
  for (int i = 0; i < 32; ++i) {
    clients.push_back(std::make_unique<PlainClient>(server->port()));
    clients.back()->get("/live");
    EXPECT_THAT(clients.back()->read_answer(), StartsWith("HTTP/1.1 200"));
  }
  for (const auto& one : clients) one->post(kCompletions, kThreeTokens);
  server->drain();
  for (const auto& one : clients) {
    EXPECT_THAT(one->read_to_end(),
                AnyOf(StartsWith("HTTP/1.1 200"),  // read before
                      AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Connection: close"))));
  }
}

TEST_F(ServerTest, PongsStandBetweenAWebSocketsMessagesWhateverRoomThereIs) {
  server_config.max_unread_bytes = 1 << 30;  // a client is slow to read on a busy machine
  start();
  gate.close();
  LeavingClient one(server->port(), Transport::kWebSocket, {});
  one.upgrade();
  one.ask({.prompt = "c", .max_tokens = 1000, .top_logprobs = 20});
  const OwnSocket servers_end = own_socket_to(one.local_port());
  // Each time more is made than there is room for, so that pings come when a message is half sent.
  constexpr int kRounds = 10;
  constexpr int kPings = 50;
  std::string all;
  for (int round = 0; round < kRounds; ++round) {
    gate.let(40);
    ASSERT_TRUE(eventually([&] { return servers_end.unsent() > 0; }));
    for (int i = 1; i < kPings; ++i) one.say_frame(Opcode::kPing, "");
    one.say_frame(Opcode::kPing, "last");
    all += one.read_until("\x8A\x04last");
  }
  int pongs = 0;
  int messages = 0;
  for (std::string_view rest = all; !rest.empty();) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest.at(i)); };
    std::size_t head = 2;
    std::size_t length = byte(1);
    if (length >= 126) {
      head = length == 126 ? 4 : 10;
      length = 0;
      for (std::size_t i = 2; i < head; ++i) length = 256 * length + byte(i);
    }
    ASSERT_LE(head + length, rest.size()) << rest.substr(0, 20);
    const std::string_view text = rest.substr(head, length);
    if (byte(0) == 0x8A) {
      ++pongs;
    } else {
      ASSERT_EQ(byte(0), 0x81);
      ASSERT_THAT(text, AllOf(StartsWith(R"({"type":"response.)"), EndsWith("}")));
      ++messages;
    }
    rest.remove_prefix(head + length);
  }
  EXPECT_EQ(pongs, kRounds * kPings);
  EXPECT_GT(messages, kRounds);
}

}  // namespace
}  // namespace weft::test
