#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "weft/tests/cli/weft_program.h"

namespace weft::test {

/// The result of a run of the program.
struct ProgramRun {
  int status;          ///< the exit status; -1 when a signal ended it
  std::string output;  ///< both streams
};

/// Runs the built program as a user's shell does, after `before`; `arguments` may redirect.
inline ProgramRun run_weft(const std::string& arguments, const std::string& before = {}) {
  std::string command = "exec 2>&1; " + before + "\"";
  command.append(weft_program()).append("\" ").append(arguments);
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::string output;
  std::array<char, 4096> buffer{};
  for (std::size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

}  // namespace weft::test
