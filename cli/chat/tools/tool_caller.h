#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/chat/chat_backend.h"
#include "weft/cli/chat/terminal.h"
#include "weft/cli/chat/tools/tool_file.h"

namespace weft::cli {

/// Carries out the functions that a model calls, with the user's consent. Owner only.
class ToolCaller {
 public:
  /// The outcome of a call.
  struct Outcome {
    std::string output{};      ///< the output that the model gets
    bool interrupted = false;  ///< Ctrl-C at the question, or where lines come from a pipe
  };

  ToolCaller(Terminal& terminal, std::vector<ChatTool> tools)
      : terminal_(terminal), tools_(std::move(tools)) {}

  [[nodiscard]] bool empty() const noexcept { return tools_.empty(); }
  /// Returns "calculator, clock".
  [[nodiscard]] std::string names() const;
  /// Returns the `tools` of a request.
  [[nodiscard]] boost::json::array definitions() const;

  /// Shows the call, asks the user where the tool says so, runs its command with the arguments on
  /// standard input, and shows the output. A call that fails, or that the user does not allow, has
  /// an output that says so. Where no user can be asked, tools that need consent do not run. Ctrl-C
  /// ends a command. `idle` is called meanwhile, as Terminal::read() does.
  [[nodiscard]] Outcome call(const AnswerCall& call, const Terminal::Idle& idle);

 private:
  enum class Consent : std::uint8_t { kGiven, kRefused, kInterrupted };
  [[nodiscard]] Consent consent(const ChatTool& tool, const Terminal::Idle& idle);
  [[nodiscard]] Outcome run(const ChatTool& tool, const std::string& arguments,
                            const Terminal::Idle& idle);

  Terminal& terminal_;
  const std::vector<ChatTool> tools_;
};

}  // namespace weft::cli
