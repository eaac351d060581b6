#include "weft/net/server/listener.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

using testing::StartsWith;

class ListenerTest : public ServedPipeline {};

TEST_F(ListenerTest, WhoWaitsToBeAcceptedIsAnsweredWhenItCloses) {
  server_config.max_connections = 1;
  start();
  PlainClient first = client();
  first.get("/live");
  EXPECT_THAT(first.read_answer(), StartsWith("HTTP/1.1 200"));
  PlainClient second = client();  // the system connects it, and the server has room for one alone
  second.get("/live", "Connection: close\r\n");
  std::thread closing([&] { server->close(std::chrono::hours(1)); });
  EXPECT_THAT(second.read_to_end(), StartsWith("HTTP/1.1 200"));
  first.close();
  closing.join();
}

}  // namespace
}  // namespace weft::test
