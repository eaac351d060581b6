#include "weft/cli/chat/tools/tool_caller.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <charconv>
#include <csignal>
#include <optional>

#include "weft/cli/chat/tools/tool_process.h"
#include "weft/cli/serve/interrupts.h"
#include "weft/core/text/utf8.h"
#include "weft/net/api/fields/json_text.h"

namespace weft::cli {
namespace {

namespace json = boost::json;

const std::string not_allowed = "error: the user did not allow this call";

/// Returns the first line of a command's output, as much as fits into a line of the terminal.
std::string first_line(const std::string& output) {
  const std::string_view line = std::string_view(output).substr(0, output.find('\n'));
  constexpr std::size_t kFewColumns = 20;
  const std::size_t room = std::max(Terminal::columns(), kFewColumns) - 8;
  const std::string_view shown = cut_utf8(line, room);
  return std::string(shown) + (shown.size() < output.size() ? " ..." : "");
}

/// Writes characters that change a text's direction as JSON escapes, so that the user who allows
/// the call reads its characters in their real order.
std::string in_its_order(std::string_view text) {
  std::string written;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    if (byte(i) == 0xE2U && i + 2 < text.size()) {
      const unsigned code = 0x2000U + ((byte(i + 1) & 0x3FU) << 6U) + (byte(i + 2) & 0x3FU);
      const bool turns = code == 0x200EU || code == 0x200FU ||
                         (code >= 0x202AU && code <= 0x202EU) ||
                         (code >= 0x2066U && code <= 0x2069U);
      if (turns) {
        std::array<char, 4> digits{};
        std::to_chars(digits.begin(), digits.end(), code, 16);
        written.append("\\u").append(digits.begin(), digits.end());
        i += 2;
        continue;
      }
    }
    written += text[i];
  }
  return written;
}

/// Returns the arguments as one line of JSON, without control characters; nothing where they are no
/// JSON object.
std::optional<std::string> one_line(const std::string& arguments) {
  json::error_code error;
  const json::value value = json::parse(arguments.empty() ? "{}" : arguments, error);
  if (error || !value.is_object()) return std::nullopt;
  return in_its_order(json_text(value));
}

}  // namespace

std::string ToolCaller::names() const {
  std::string names;
  for (const ChatTool& tool : tools_) names += (names.empty() ? "" : ", ") + tool.name;
  return names;
}

json::array ToolCaller::definitions() const {
  json::array list;
  for (const ChatTool& tool : tools_) list.push_back(tool_definition(tool));
  return list;
}

ToolCaller::Outcome ToolCaller::call(const AnswerCall& call, const Terminal::Idle& idle) {
  const auto tool = std::ranges::find(tools_, call.name, &ChatTool::name);
  const auto arguments = one_line(call.arguments);
  terminal_.aside(in_its_order("calls " + call.name + " " + arguments.value_or(call.arguments)));
  if (tool == tools_.end()) return {"error: there is no tool of this name"};
  if (!arguments) return {"error: the arguments are no JSON object"};
  switch (consent(*tool, idle)) {
    case Consent::kInterrupted:
      return {not_allowed, true};
    case Consent::kRefused:
      return {not_allowed};
    case Consent::kGiven:
      break;
  }
  Outcome outcome = run(*tool, *arguments, idle);
  terminal_.aside("-> " + first_line(outcome.output));
  return outcome;
}

ToolCaller::Consent ToolCaller::consent(const ChatTool& tool, const Terminal::Idle& idle) {
  if (!tool.ask) return Consent::kGiven;
  if (!terminal_.interactive()) {
    terminal_.note("not run, since nobody can be asked; \"ask\": false in the file allows it");
    return Consent::kRefused;
  }
  for (;;) {
    const auto input = terminal_.ask("run it? (y/n) ", idle);
    if (input.what != Terminal::What::kLine) return Consent::kInterrupted;
    if (input.line == "y" || input.line == "yes") return Consent::kGiven;
    if (input.line == "n" || input.line == "no") return Consent::kRefused;
  }
}

ToolCaller::Outcome ToolCaller::run(const ChatTool& tool, const std::string& arguments,
                                    const Terminal::Idle& idle) {
  Outcome outcome;
  {
    // The command has a session of its own, so a signal that ends the program does not reach it.
    const TakenSignals ends({SIGTERM, SIGHUP});
    ToolProcess process(tool.command, arguments + "\n", tool.time, [this] { terminal_.wake(); });
    auto due = idle();
    for (auto result = process.result(); !result; result = process.result()) {
      const Terminal::Event event = terminal_.wait(due);
      if (event == Terminal::Event::kInterrupt || event == Terminal::Event::kEnded) process.stop();
      if (event == Terminal::Event::kInterrupt) outcome.interrupted = !terminal_.interactive();
      if (event != Terminal::Event::kEnded) due = idle();
    }
    outcome.output = *process.result();
  }
  if (const int signal = Interrupts::take_signal(); signal != 0) std::raise(signal);
  if (terminal_.ended_by() != 0) std::raise(terminal_.ended_by());
  return outcome;
}

}  // namespace weft::cli
