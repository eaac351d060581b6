#include "weft/net/server/request_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "weft/core/metrics.h"
#include "weft/net/defaults.h"

namespace weft {
namespace {

using Found = RequestReader::Found;
using std::chrono::seconds;
using std::chrono::steady_clock;

class RequestReaderTest : public testing::Test {
 public:
  /// Puts `bytes` in and returns the result of next().
  Found put(std::string_view bytes) {
    reader.put(boost::asio::buffer(bytes.data(), bytes.size()));
    return reader.next();
  }
  [[nodiscard]] int refused_with() const { return reader.error().status; }

  ServerConfig config;
  MetricsRegistry metrics;
  BodyMemory memory{1000, metrics};
  RequestReader reader{config, memory};
};

TEST_F(RequestReaderTest, ReadsRequestsThatComeInPieces) {
  EXPECT_EQ(reader.next(), Found::kNothing);
  EXPECT_EQ(put("POST /a HTTP/1.1\r\nHost: x\r\nContent-"), Found::kNothing);
  EXPECT_EQ(put("Length: 5\r\n\r\nab"), Found::kHeader);
  EXPECT_EQ(reader.header().target(), "/a");
  EXPECT_TRUE(reader.wants_body());
  EXPECT_EQ(reader.next(), Found::kNothing);
  EXPECT_EQ(put("cde"), Found::kRequest);
  EXPECT_EQ(reader.take().request.body(), "abcde");
  EXPECT_TRUE(reader.empty());
  EXPECT_EQ(reader.next(), Found::kNothing);
}

TEST_F(RequestReaderTest, KeepsWhatIsBehindARequestForTheNext) {
  EXPECT_EQ(put("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n"),
            Found::kHeader);
  EXPECT_FALSE(reader.wants_body());
  EXPECT_EQ(reader.next(), Found::kRequest);
  EXPECT_EQ(reader.take().request.target(), "/a");
  EXPECT_EQ(reader.next(), Found::kHeader);
  EXPECT_EQ(reader.header().target(), "/b");
  reader.drop();  // refused by its header
  EXPECT_EQ(reader.next(), Found::kNothing);
}

TEST_F(RequestReaderTest, RefusesWhatIsNoRequest) {
  EXPECT_EQ(put("hello\r\n\r\n"), Found::kError);
  EXPECT_EQ(refused_with(), 400);
}

TEST_F(RequestReaderTest, RefusesALargeHeader) {
  config.max_header_bytes = 1024;
  EXPECT_EQ(put("GET / HTTP/1.1\r\nHost: x\r\nX-A: " + std::string(2000, 'a')), Found::kError);
  EXPECT_EQ(refused_with(), 431);
}

TEST_F(RequestReaderTest, RefusesALargeBodyByItsAnnouncement) {
  config.max_body_bytes = 1024;
  EXPECT_EQ(put("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1025\r\n\r\n"), Found::kError);
  EXPECT_EQ(refused_with(), 413);
}

TEST_F(RequestReaderTest, RefusesABodyThatFindsNoMemoryAndGivesBackWhatItHad) {
  EXPECT_EQ(put("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n"), Found::kHeader);
  EXPECT_EQ(put(std::string(900, 'a')), Found::kNothing);
  EXPECT_EQ(put(std::string(200, 'a')), Found::kError);
  EXPECT_EQ(refused_with(), 429);
  BodyMemory::Share other(memory);
  EXPECT_TRUE(other.grow(1000));
}

TEST_F(RequestReaderTest, RefusesHeadersThatOthersMayReadDifferently) {
  for (const char* fields :
       {"", "Host: a\r\nHost: b\r\n", "Host: x\r\nTransfer-Encoding: gzip\r\n",
        "Host: x\r\nTransfer-Encoding: gzip, chunked\r\n",
        "Host: x\r\nTransfer-Encoding:\r\n chunked\r\n",
        "Host: x\r\nTransfer-Encoding: chunked\r\n\t\r\n", "Host: x\r\nX-A: b\r\n c\r\n",
        "Host: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n",
        "Host: x\r\nContent-Length: 7, 7\r\n", "Host: b\xC3\xBC\r\n", "Host: b\x80\r\n",
        "Host: a b\r\n", "Host: user@a\r\n", "Host: a/b\r\n"}) {
    RequestReader one(config, memory);
    const std::string header = "POST / HTTP/1.1\r\n" + std::string(fields) + "\r\n";
    one.put(boost::asio::buffer(header));
    ASSERT_EQ(one.next(), Found::kHeader) << fields;
    ASSERT_TRUE(one.header_error()) << fields;
    EXPECT_EQ(one.header_error()->status, 400) << fields;
  }
}

TEST_F(RequestReaderTest, TakesTheHeadersThatAllReadAlike) {
  for (const char* fields :
       {"Host: \r\n", "Host: [::1]:8080\r\n", "Host: a-b.example:80\r\nContent-Length: 0\r\n",
        "Host: x\r\nTransfer-Encoding: Chunked\r\n", "Host: x\r\nX-A: b\xC3\xBC\r\n"}) {
    RequestReader one(config, memory);
    const std::string header = "POST / HTTP/1.1\r\n" + std::string(fields) + "\r\n0\r\n\r\n ";
    one.put(boost::asio::buffer(header));
    ASSERT_EQ(one.next(), Found::kHeader) << fields;
    EXPECT_FALSE(one.header_error()) << fields;
  }
}

TEST_F(RequestReaderTest, FoldsOfOneRequestAreNotThoseOfTheNext) {
  EXPECT_EQ(put("GET / HTTP/1.1\r\nHost: x\r\nX-A: b\r\n"), Found::kNothing);
  EXPECT_EQ(put(" c\r\n\r\n"), Found::kHeader) << "in pieces";
  EXPECT_TRUE(reader.header_error());
  reader.drop();
  EXPECT_EQ(put("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), Found::kHeader);
  EXPECT_FALSE(reader.header_error());
}

TEST_F(RequestReaderTest, RefusesATargetBeyondAscii) {
  EXPECT_EQ(put("GET /b\xC3\xBC HTTP/1.1\r\nHost: x\r\n\r\n"), Found::kHeader);
  EXPECT_TRUE(reader.header_error());
}

TEST_F(RequestReaderTest, IsLateWhenAHeaderTakesTooLong) {
  const auto now = steady_clock::now();
  EXPECT_FALSE(reader.is_late(now + config.idle_timeout * 2));
  EXPECT_EQ(put("GET"), Found::kNothing);
  EXPECT_FALSE(reader.is_late(now + config.header_timeout - seconds(1)));
  EXPECT_TRUE(reader.is_late(now + config.header_timeout + seconds(1)));
}

TEST_F(RequestReaderTest, IsLateWhenABodyComesTooSlowly) {
  config.min_body_rate = 10;
  const auto now = steady_clock::now();
  EXPECT_EQ(put("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n"), Found::kHeader);
  EXPECT_EQ(put(std::string(100, 'a')), Found::kNothing);
  EXPECT_FALSE(reader.is_late(now + net_defaults::kBodyGrace - seconds(1)));
  EXPECT_FALSE(reader.is_late(now + seconds(9)));
  EXPECT_TRUE(reader.is_late(now + seconds(12)));
}

}  // namespace
}  // namespace weft
