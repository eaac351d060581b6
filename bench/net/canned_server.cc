#include "weft/bench/net/canned_server.h"

#include <sys/socket.h>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

namespace weft::bench {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;

namespace {

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// A chunk's header, in the form of Weft's server.
constexpr std::string_view kChunkHead =
    R"({"id":"cmpl-0123456789abcdef0123456789abcdef","object":"text_completion","created":1760000000,)"
    R"("model":"demo","choices":[{"text":)";
constexpr std::string_view kChunkTail =
    R"(,"index":0,"logprobs":null,"finish_reason":null}],"usage":null})";

std::string sse_event(std::string_view data) {
  const std::string event = "data: " + std::string(data) + "\n\n";
  char size[16];
  std::snprintf(size, sizeof(size), "%zx\r\n", event.size());
  return size + event + "\r\n";
}

bool answer_completion(int fd, std::int64_t tokens) {
  const std::string head(kChunkHead);
  const std::string token = sse_event(head + "\" word\"" + std::string(kChunkTail));
  const std::string end =
      sse_event(head + R"("","index":0,"logprobs":null,"finish_reason":"length"}],"usage":null})") +
      sse_event(head.substr(0, head.find(",\"choices\"")) +
                R"(,"choices":[],"usage":{"prompt_tokens":16,"completion_tokens":)" +
                std::to_string(tokens) + "}}") +
      sse_event("[DONE]") + "0\r\n\r\n";
  if (!send_all(fd,
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
                "chunked\r\n\r\n")) {
    return false;
  }
  for (std::int64_t i = 0; i < tokens; ++i) {
    if (!send_all(fd, token)) return false;
  }
  return send_all(fd, end);
}

/// Makes a server's text frame.
std::string frame(std::string_view text) {
  std::string bytes(1, '\x81');
  if (text.size() < 126) {
    bytes.push_back(static_cast<char>(text.size()));
  } else {
    bytes.push_back(126);
    bytes.push_back(static_cast<char>(text.size() >> 8U));
    bytes.push_back(static_cast<char>(text.size() & 0xFFU));
  }
  return bytes.append(text);
}

bool answer_response(int fd, const boost::json::value& asked) {
  const std::string stream_id(asked.at("stream_id").as_string());
  const std::int64_t tokens = asked.at("max_output_tokens").as_int64();
  const std::string head =
      R"({"type":"response.output_text.delta","stream_id":")" + stream_id +
      R"(","item_id":"msg_0123456789abcdef0123456789abcdef","output_index":0,"content_index":0,)"
      R"("sequence_number":)";
  const std::string tail = R"(,"delta":" word","logprobs":[]})";
  for (std::int64_t i = 0; i < tokens; ++i) {
    std::string event = head;
    event.append(std::to_string(i)).append(tail);
    if (!send_all(fd, frame(event))) return false;
  }
  return send_all(
      fd,
      frame(R"({"type":"response.incomplete","stream_id":")" + stream_id +
            R"(","response":{"status":"incomplete","usage":{"input_tokens":16,"output_tokens":)" +
            std::to_string(tokens) + "}}}"));
}

void serve_websocket(asio::ip::tcp::socket& socket,
                     const http::request<http::string_body>& upgrade) {
  websocket::stream<asio::ip::tcp::socket&> stream(socket);
  boost::system::error_code error;
  stream.accept(upgrade, error);
  boost::beast::flat_buffer buffer;
  while (!error) {
    stream.read(buffer, error);
    if (error) return;
    const auto bytes = buffer.data();
    const auto asked =
        boost::json::parse({static_cast<const char*>(bytes.data()), bytes.size()}, error);
    buffer.clear();
    if (error || !answer_response(socket.native_handle(), asked)) return;
  }
}

}  // namespace

CannedServer::CannedServer()
    : acceptor_(context_, {asio::ip::make_address("127.0.0.1"), 0}),
      accepting_([this] { accept(); }) {}

CannedServer::~CannedServer() {
  boost::system::error_code ignored;
  ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
  accepting_.join();
  for (Socket& socket : sockets_) ignored = socket.shutdown(Socket::shutdown_both, ignored);
}

std::string CannedServer::url() const {
  return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
}

void CannedServer::accept() {
  for (;;) {
    boost::system::error_code error;
    Socket socket = acceptor_.accept(error);
    if (error) return;
    socket.set_option(asio::ip::tcp::no_delay(true));
    Socket& kept = sockets_.emplace_back(std::move(socket));
    threads_.emplace_back([&kept] { serve(kept); });
  }
}

void CannedServer::serve(Socket& socket) {
  boost::beast::flat_buffer buffer;
  for (;;) {
    http::request<http::string_body> request;
    boost::system::error_code error;
    http::read(socket, buffer, request, error);
    if (error) return;
    if (websocket::is_upgrade(request)) return serve_websocket(socket, request);
    std::int64_t tokens = 1;
    if (request.method() == http::verb::post) {
      tokens = boost::json::parse(request.body()).at("max_tokens").as_int64();
    }
    if (!answer_completion(socket.native_handle(), tokens)) return;
  }
}

}  // namespace weft::bench
