#include "weft/net/http/net_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>

namespace weft::test {
namespace {

using boost::asio::buffer;
using boost::system::error_code;

/// A stream whose frames go out by send_now(), with little room before its peer must read.
class NetStreamTest : public testing::Test {
 public:
  NetStreamTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const int room = 4096;
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    const boost::asio::generic::stream_protocol protocol(AF_UNIX, 0);
    stream.emplace(NetStream::Socket(io, protocol, ends[0]));
    peer.assign(protocol, ends[1]);
    peer.non_blocking(true);
    stream->allow_send_now();
  }

  /// Reads all that comes until `bytes` are there.
  std::string read(std::size_t bytes) {
    std::string all;
    while (all.size() < bytes) {
      io.restart();
      io.poll();
      std::string piece(bytes - all.size(), '\0');
      error_code none;
      all.append(piece, 0, peer.read_some(buffer(piece), none));
    }
    io.restart();
    io.poll();
    return all;
  }

  boost::asio::io_context io{1};
  std::optional<NetStream> stream;
  NetStream::Socket peer{io};
  const std::string frames = std::string(100'000, 'f');
};

TEST_F(NetStreamTest, WhatHasRoomGoesOutAtOnce) {
  error_code error;
  ASSERT_TRUE(stream->can_send_now());
  EXPECT_TRUE(stream->send_now("frame", error));
  EXPECT_TRUE(stream->can_send_now());
  EXPECT_EQ(read(5), "frame");
}

TEST_F(NetStreamTest, WhatHasNoRoomGoesOutBeforeWhatIsWrittenLater) {
  error_code error;
  EXPECT_FALSE(stream->send_now(frames, error));
  EXPECT_FALSE(error);
  EXPECT_FALSE(stream->can_send_now());
  std::optional<error_code> written;
  std::optional<error_code> sent;
  stream->async_write_some(buffer("pong", 4),
                           [&](error_code failed, std::size_t) { written = failed; });
  stream->async_send_rest([&](error_code failed) { sent = failed; });
  io.poll();
  EXPECT_FALSE(written);
  EXPECT_EQ(read(frames.size() + 4), frames + "pong");
  EXPECT_EQ(written, error_code());
  EXPECT_EQ(sent, error_code());
  EXPECT_TRUE(stream->can_send_now());
}

TEST_F(NetStreamTest, NothingIsSentNowBeforeAWriteUnderWayHasCompleted) {
  bool written = false;
  stream->async_write_some(buffer(frames), [&](error_code, std::size_t) { written = true; });
  EXPECT_FALSE(stream->can_send_now());
  io.poll();
  EXPECT_TRUE(written);
  EXPECT_TRUE(stream->can_send_now());
}

TEST_F(NetStreamTest, WhatHasNoRoomIsCountedAsItGoesOut) {
  error_code error;
  EXPECT_FALSE(stream->send_now(frames, error));
  const std::uint64_t at_once = stream->sent_bytes();
  EXPECT_GT(at_once, 0U);
  EXPECT_LT(at_once, frames.size());
  stream->async_send_rest([](error_code) {});
  EXPECT_EQ(read(frames.size() / 2), frames.substr(0, frames.size() / 2));
  EXPECT_GT(stream->sent_bytes(), at_once);
  EXPECT_LT(stream->sent_bytes(), frames.size());
  EXPECT_EQ(read(frames.size() - frames.size() / 2), frames.substr(frames.size() / 2));
  EXPECT_EQ(stream->sent_bytes(), frames.size());
}

TEST_F(NetStreamTest, WhatIsWrittenIsCounted) {
  stream->async_write_some(buffer("frame", 5), [](error_code, std::size_t) {});
  io.poll();
  EXPECT_EQ(stream->sent_bytes(), 5U);
}

TEST_F(NetStreamTest, TakesWhatHasArrivedAndDoesNotWaitForMore) {
  std::string taken(8, '.');
  EXPECT_EQ(stream->take_arrived(buffer(taken)), 0U);
  error_code none;
  peer.write_some(buffer("0123456789", 10), none);
  EXPECT_EQ(stream->take_arrived(buffer(taken)), 8U);
  EXPECT_EQ(taken, "01234567");
  EXPECT_EQ(stream->take_arrived(buffer(taken)), 2U);
  EXPECT_EQ(taken, "89234567");
  peer.close();
  EXPECT_EQ(stream->take_arrived(buffer(taken)), 0U);
}

TEST_F(NetStreamTest, APeerThatHasGoneIsAnError) {
  peer.close();
  error_code error;
  EXPECT_FALSE(stream->send_now("frame", error));
  EXPECT_EQ(error, boost::system::errc::broken_pipe);
}

TEST_F(NetStreamTest, OperationsCompleteWhenTheStreamIsGone) {
  error_code error;
  EXPECT_FALSE(stream->send_now(frames, error));
  std::optional<error_code> written;
  std::optional<error_code> sent;
  stream->async_write_some(buffer("pong", 4),
                           [&](error_code failed, std::size_t) { written = failed; });
  stream->async_send_rest([&](error_code failed) { sent = failed; });
  std::string some(50'000, '\0');
  error_code none;
  peer.read_some(buffer(some), none);
  stream.reset();
  io.poll();
  EXPECT_EQ(written, boost::asio::error::operation_aborted);
  EXPECT_EQ(sent, boost::asio::error::operation_aborted);
}

}  // namespace
}  // namespace weft::test
