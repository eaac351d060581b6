#include "weft/cli/chat/tools/tool_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

#include "weft/core/io/file_descriptor.h"
#include "weft/core/text/utf8.h"

namespace weft::cli {
namespace {

using std::chrono::steady_clock;

/// The most reads in a row. A pipe has room for 16 reads; the bound lets a command that prints
/// without end be stopped in time.
constexpr int kReadsAtOnce = 32;

std::string reason_of(int error) { return std::generic_category().message(error); }

/// A command that runs, and its output so far.
class Running {
 public:
  Running() = default;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (child_ > 0) end();
  }

  /// Returns 0, or the system's error.
  int start(const std::vector<std::string>& command, const std::string& input) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) return errno;
    output_.reset(pipe[0]);
    const FileDescriptor write_end(pipe[1]);
    // The command writes as to any pipe.
    ::fcntl(write_end.get(), F_SETFL, 0);
    // A file, so that a command which does not read its input does not block this thread.
    const FileDescriptor given(::memfd_create("arguments", MFD_CLOEXEC));
    if (given.get() < 0) return errno;
    if (::write(given.get(), input.data(), input.size()) != static_cast<ssize_t>(input.size()) ||
        ::lseek(given.get(), 0, SEEK_SET) != 0) {
      return errno;
    }
    if (const int error = spawn(command, given.get(), write_end.get()); error != 0) return error;
    ended_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
    return ended_.get() < 0 ? errno : 0;
  }

  /// Waits until the command has ended, `until` has come or `stop` is readable. Returns whether it
  /// has ended.
  bool wait(steady_clock::time_point until, int stop) {
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now()).count();
      if (left <= 0) return false;
      pollfd seen[] = {{ended_.get(), POLLIN, 0}, {output_.get(), POLLIN, 0}, {stop, POLLIN, 0}};
      const int timeout = static_cast<int>(std::min<std::int64_t>(left, 60'000));
      if (::poll(seen, 3, timeout) < 0 && errno != EINTR) return false;
      if (seen[1].revents != 0) read_output();
      if (seen[0].revents != 0) return true;
      if (seen[2].revents != 0) return false;
    }
  }

  void signal(int number) const { ::kill(-child_, number); }

  /// Kills the command's remaining processes, and returns its status as waitpid() gives it.
  int end() {
    signal(SIGKILL);
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    read_output();
    return status;
  }

  [[nodiscard]] std::string printed() const {
    std::string text = lossy_utf8(text_);
    text.erase(text.find_last_not_of(" \t\r\n") + 1);  // npos + 1 is 0
    if (!cut_) return text;
    return text + "\n(cut: it printed more than " + std::to_string(kMostToolOutput) + " bytes)";
  }

 private:
  int spawn(const std::vector<std::string>& command, int input, int output) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes, &signals);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error =
        ::posix_spawnp(&child_, words.front(), &files, &attributes, words.data(), environ);
    if (error != 0) child_ = -1;
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    return error;
  }

  /// Reads the output that is there. It reads little of what comes meanwhile, so it always returns.
  void read_output() {
    std::array<char, 4096> bytes{};
    for (int reads = 0; output_.get() >= 0 && reads < kReadsAtOnce; ++reads) {
      const auto got = ::read(output_.get(), bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return;  // nothing is there now
      if (got == 0) return output_.reset();
      const std::size_t room = kMostToolOutput - text_.size();
      cut_ = cut_ || static_cast<std::size_t>(got) > room;
      text_.append(bytes.data(), std::min(static_cast<std::size_t>(got), room));
    }
  }

  pid_t child_ = -1;
  FileDescriptor output_;
  FileDescriptor ended_;
  std::string text_;
  bool cut_ = false;
};

std::string failed(const std::string& why, const std::string& printed) {
  return "error: " + why + (printed.empty() ? "" : "\n" + printed);
}

/// Returns the text that the model gets for a command that ended by itself.
std::string told(int status, const std::string& printed) {
  if (WIFSIGNALED(status)) {
    return failed("it was ended by signal " + std::to_string(WTERMSIG(status)), printed);
  }
  const int code = WEXITSTATUS(status);
  return code == 0 ? printed : failed("it ended with code " + std::to_string(code), printed);
}

}  // namespace

ToolProcess::ToolProcess(std::vector<std::string> command, std::string input,
                         std::chrono::milliseconds time, std::function<void()> on_end)
    : command_(std::move(command)),
      input_(std::move(input)),
      time_(time),
      on_end_(std::move(on_end)),
      stop_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (stop_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  thread_ = std::thread([this] { run(); });
}

ToolProcess::~ToolProcess() {
  stop();
  thread_.join();
  ::close(stop_);
}

void ToolProcess::stop() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_, &one, sizeof(one));
}

std::optional<std::string> ToolProcess::result() {
  const std::scoped_lock lock(mutex_);
  return result_;
}

void ToolProcess::run() {
  std::string result;
  Running running;
  if (const int error = running.start(command_, input_); error != 0) {
    result = failed("cannot run " + command_.front() + ": " + reason_of(error), {});
  } else if (const auto until = steady_clock::now() + time_; running.wait(until, stop_)) {
    const int status = running.end();
    result = told(status, running.printed());
  } else {
    const bool late = steady_clock::now() >= until;
    running.signal(SIGTERM);
    static_cast<void>(running.wait(steady_clock::now() + kToolGrace, -1));
    static_cast<void>(running.end());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time_).count();
    result = failed(late ? "it did not end in " + std::to_string(seconds) + " s"
                         : std::string("the user ended it"),
                    running.printed());
  }
  {
    const std::scoped_lock lock(mutex_);
    result_ = std::move(result);
  }
  on_end_();
}

}  // namespace weft::cli
