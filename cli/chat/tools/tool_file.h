#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"

namespace weft::cli {

/// Bounds of a file of tools: its size, and the number of tools. More tools would not fit into a
/// prompt.
inline constexpr std::size_t kLargestToolFile = std::size_t{1} << 20;
inline constexpr std::size_t kMaxTools = 64;
/// The time that a command may take: the default, and the most.
inline constexpr std::chrono::seconds kToolTime{30};
inline constexpr std::chrono::seconds kLongestToolTime{3600};

/// A function that a model may call, and the command that carries it out.
struct ChatTool {
  std::string name{};
  std::string description{};
  boost::json::object parameters{};    ///< the JSON schema of its arguments
  std::vector<std::string> command{};  ///< the program and its arguments, never read by a shell
  bool ask = true;                     ///< the user is asked before every run
  std::chrono::seconds time = kToolTime;
};

/// Reads a JSON list of {"name", "description", "parameters", "command" or "shell", "ask",
/// "timeout_s"}. A program with a slash in its name that is no absolute path is looked for beside
/// the file. `shell` is a line for /bin/sh.
///
/// Errors: of read_text_file(); kBadConfig with the file and the field that is wrong, or unknown.
[[nodiscard]] Result<std::vector<ChatTool>> read_tool_file(const std::string& path);

/// Returns the tool as a request of the Responses API has it.
[[nodiscard]] boost::json::object tool_definition(const ChatTool& tool);

}  // namespace weft::cli
