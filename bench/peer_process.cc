#include "weft/bench/peer_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace weft::bench {

PeerProcess::PeerProcess(const std::vector<std::string>& command) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0) return;
  if (pipe2(out.data(), O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) {
    pid_ = -1;
  }
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
}

PeerProcess::~PeerProcess() {
  if (input_ >= 0) close(input_);
  if (output_ >= 0) close(output_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

// The two functions below change the other program, not this object.
// NOLINTBEGIN(readability-make-member-function-const)
std::string PeerProcess::read_line() {
  std::string line;
  for (char c = 0; output_ >= 0 && read(output_, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

void PeerProcess::write_line(const std::string& line) {
  const std::string text = line + "\n";
  static_cast<void>(write(input_, text.data(), text.size()) == 0);
}
// NOLINTEND(readability-make-member-function-const)

}  // namespace weft::bench
