#pragma once

#include <fcntl.h>
#include <linux/filter.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "weft/tests/net/server/plain_client.h"

namespace weft::test {

enum class Transport : std::uint8_t { kSse, kWebSocket, kPlain };

/// The question, which is the same in each API.
struct Question {
  std::string prompt;
  int max_tokens = 1;
  int top_logprobs = 0;  ///< above 0 each token's event is some kilobytes
  std::uint64_t seed = 1;
};

/// A client that asks one question, and knows every way to leave.
class LeavingClient : public PlainClient {
 public:
  /// `headers` belong to the request, or to a WebSocket's upgrade.
  LeavingClient(std::uint16_t port, Transport transport, std::string headers)
      : PlainClient(port, kReceiveBuffer), transport_(transport), headers_(std::move(headers)) {}

  /// Asks for the upgrade where the transport is a WebSocket; else does nothing.
  void upgrade() {
    if (transport_ == Transport::kWebSocket) ask_to_upgrade(headers_);
  }

  void ask(const Question& question) {
    const std::string shared = R"("ignore_eos":true,"seed":)" + std::to_string(question.seed) + ",";
    const std::string bound = std::to_string(question.max_tokens);
    const std::string top = std::to_string(question.top_logprobs);
    if (transport_ == Transport::kWebSocket) {
      std::string logprobs;
      if (question.top_logprobs > 0) {
        logprobs = R"("include":["message.output_text.logprobs"],"top_logprobs":)" + top + ",";
      }
      return say_frame(Opcode::kText, R"({"type":"response.create",)" + shared + logprobs +
                                          R"("store":false,"max_output_tokens":)" + bound +
                                          R"(,"input":")" + question.prompt + R"("})");
    }
    std::string body = "{" + shared;
    if (question.top_logprobs > 0) body += R"("logprobs":)" + top + ",";
    if (transport_ == Transport::kSse) body += R"("stream":true,)";
    body += R"("max_tokens":)" + bound + R"(,"prompt":")" + question.prompt + R"("})";
    post("/v1/completions", body, headers_);
  }

  /// Returns the end of the answer to `question`.
  [[nodiscard]] std::string end_of(const Question& question) const {
    const std::string tokens = R"(_tokens":)" + std::to_string(question.max_tokens);
    if (transport_ == Transport::kSse) return "data: [DONE]\n\n";
    return (transport_ == Transport::kPlain ? R"("completion)" : R"("output)") + tokens;
  }

  void say_close_frame() { say_frame(Opcode::kClose, "\x03\xE8"); }

  /// Makes the client's host vanish: from here on all incoming data is dropped silently, and no
  /// data goes out.
  void vanish() {
    std::array<sock_filter, 1> drop_all{{BPF_STMT(BPF_RET | BPF_K, 0)}};
    const sock_fprog program{.len = 1, .filter = drop_all.data()};
    if (::setsockopt(descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
      throw std::runtime_error("cannot make a socket deaf");
    }
  }

  /// Makes a process of its own the only one that has the socket.
  void move_to_child() {
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    constexpr int kFirstOwn = 3;
    ::posix_spawn_file_actions_adddup2(&actions, descriptor(), kFirstOwn);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, kFirstOwn + 1);
    std::string program = "sleep";
    std::string seconds = "600";
    std::array<char*, 3> arguments{program.data(), seconds.data(), nullptr};
    const int failure =
        ::posix_spawnp(&child_, "sleep", &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) throw std::runtime_error("cannot start a process");
    close();
  }
  void kill_child() const {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  // It is small, so that an answer that is not read soon stays in the server; smaller ones make TCP
  // wait.
  static constexpr int kReceiveBuffer = 8 << 10;

  const Transport transport_;
  const std::string headers_;
  pid_t child_ = -1;
};

}  // namespace weft::test
