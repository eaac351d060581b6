// The charge of a key for refused requests, and the limits of an address.

#include <gmock/gmock.h>

#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class RefusedWorkTest : public ServedPipeline {
 public:
  /// Starts a server whose one key has this many tokens a minute.
  void start_with_allowance(int tokens) {
    server_config.api_key_file =
        folder_
            .write("keys.toml", "[[key]]\nname = 'one'\nkey = 'one'\ntokens_per_minute = " +
                                    std::to_string(tokens) + "\n")
            .string();
    start();
  }
  std::string ask(const std::string& body) const {
    PlainClient one = client();
    one.post(kCompletions, body, "X-Api-Key: one\r\n");
    return one.read_answer();
  }

 private:
  const TempFolder folder_;
};

TEST_F(RefusedWorkTest, AMistakeInAShortBodyCostsNothing) {
  start_with_allowance(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(ask("{" + std::string(4000, ' ')), StartsWith("HTTP/1.1 400"));
  }
}

TEST_F(RefusedWorkTest, ALongerBodyThatIsRefusedCostsItsTokensByEstimate) {
  start_with_allowance(3000);
  EXPECT_THAT(ask("{" + std::string(8000, ' ')), StartsWith("HTTP/1.1 400"));  // 2001 tokens
  EXPECT_THAT(ask("{" + std::string(8000, ' ')), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask("{" + std::string(8000, ' ')), StartsWith("HTTP/1.1 429"))
      << "what the key has nothing left for is refused before it is decoded";
}

TEST_F(RefusedWorkTest, ALongBodyCostsNoMoreThanTheContext) {
  limits.context = 64;
  start_with_allowance(100);
  EXPECT_THAT(ask("{" + std::string(100'000, ' ')), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask("{" + std::string(100'000, ' ')), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask("{" + std::string(100'000, ' ')), StartsWith("HTTP/1.1 429"));
}

TEST_F(RefusedWorkTest, APromptThatTheEngineRefusesCostsItsTokensToo) {
  limits.context = 64;
  start_with_allowance(30);
  const std::string prompt(8000, 'b');
  EXPECT_THAT(ask(R"({"prompt":")" + prompt + "\"}"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("context_length_exceeded")));
  EXPECT_THAT(ask(std::string(kThreeTokens)), StartsWith("HTTP/1.1 429"));
}

TEST_F(RefusedWorkTest, AnAddressHasItsRequestsASecondAndIsToldWhenToComeAgain) {
  server_config.max_requests_per_second_per_address = 1;
  start();
  PlainClient one = client();
  constexpr int kAtOnce = 4;  // sent in one write, so that all are read at once
  std::string requests;
  for (int i = 0; i < kAtOnce; ++i) requests += "GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n";
  one.say(requests);
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  std::string refused;
  for (int i = 1; i < kAtOnce; ++i) {
    const std::string answer = one.read_answer();
    if (answer.starts_with("HTTP/1.1 429")) refused = answer;
  }
  EXPECT_THAT(refused, AllOf(HasSubstr("Retry-After: 1\r\n"), HasSubstr("rate_limit_exceeded")));
}

TEST_F(RefusedWorkTest, AnAddressHasItsConnectionsAndAnotherOneIsClosed) {
  server_config.max_connections_per_address = 1;
  start();
  {
    PlainClient one = client();
    one.get("/live");
    EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
    PlainClient other = client();
    other.get("/live");
    EXPECT_EQ(other.read_to_end(), "");
  }
  EXPECT_TRUE(eventually([this] {
    PlainClient again = client();
    again.get("/live");
    return again.read_answer().starts_with("HTTP/1.1 200");
  }));
}

}  // namespace
}  // namespace weft::test
