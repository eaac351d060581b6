#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <mutex>
#include <string>
#include <vector>

#include "weft/tests/cli/weft_program.h"

namespace weft::test {

/// The built program as a child, which can be killed at any time. Its standard error is dropped.
class ChildProgram {
 public:
  explicit ChildProgram(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), weft_program());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    id_ = ::fork();
    if (id_ != 0) return;
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDERR_FILENO);
    ::execv(weft_program(), pointers.data());
    ::_exit(127);
  }
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;
  ~ChildProgram() {
    kill_now();
    if (id_ > 0) wait();
  }

  /// Kills the program. Thread-safe, also beside wait().
  void kill_now() const { signal(SIGKILL); }
  /// Sends a signal. Thread-safe, also beside wait().
  void signal(int number) const {
    const std::scoped_lock lock(mutex_);
    if (id_ > 0) ::kill(id_, number);
  }
  /// Whether it has not ended.
  [[nodiscard]] bool is_running() const {
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(id_), &ended, WEXITED | WNOWAIT | WNOHANG);
    return ended.si_pid == 0;
  }
  /// Returns the exit status; -1 when a signal ended it.
  int wait() {
    // The process id stays reserved until no call can use it to kill another process.
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(id_), &ended, WEXITED | WNOWAIT);
    const std::scoped_lock lock(mutex_);
    int status = 0;
    ::waitpid(id_, &status, 0);
    id_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  mutable std::mutex mutex_;
  pid_t id_ = -1;
};

}  // namespace weft::test
