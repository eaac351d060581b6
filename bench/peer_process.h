#pragma once

#include <string>
#include <vector>

namespace weft::bench {

/// A program that answers a line on its standard output for each line on its standard input. The
/// destructor ends it. Owner only.
class PeerProcess {
 public:
  /// Starts `command`, found through PATH.
  explicit PeerProcess(const std::vector<std::string>& command);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// Reads the next line, without its end; empty when the program has ended.
  [[nodiscard]] std::string read_line();

  void write_line(const std::string& line);

 private:
  int pid_ = -1;
  int input_ = -1;   ///< The program's standard input.
  int output_ = -1;  ///< The program's standard output.
};

}  // namespace weft::bench
