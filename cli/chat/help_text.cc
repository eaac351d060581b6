#include "weft/cli/chat/help_text.h"

#include <algorithm>
#include <string_view>

#include "weft/cli/chat/chat_commands.h"

namespace weft::cli {
namespace {

/// The column where explanations begin if several words fit after it; otherwise they are below the
/// command.
constexpr std::size_t kHelpColumn = 32;
constexpr std::size_t kFewColumns = 60;
constexpr std::size_t kNarrowIndent = 6;

constexpr std::string_view kKeys =
    "Ctrl-C stops an answer; Tab completes; the arrow keys go through earlier lines.";

/// Appends the words of `text` to the last line of `out`, and new lines that begin with `indent`
/// spaces.
void append_words(std::string_view text, std::size_t indent, std::size_t columns,
                  std::string& out) {
  std::size_t used = out.size() - (out.rfind('\n') + 1);  // npos + 1 is 0
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (used > indent && used + 1 + end > columns) {
      out.append("\n").append(indent, ' ');
      used = indent;
    } else if (used > indent) {
      out.push_back(' ');
      ++used;
    }
    out.append(text.substr(0, end));
    used += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out.push_back('\n');
}

}  // namespace

std::string help_text(std::size_t columns) {
  const bool narrow = columns < kFewColumns;
  const std::size_t indent = narrow ? kNarrowIndent : kHelpColumn;
  std::string text;
  for (const CommandHelp& command : command_help()) {
    std::string usage = "  " + std::string(command.name) + " " + std::string(command.arguments);
    usage.resize(std::max(usage.find_last_not_of(' ') + 1, narrow ? 0 : indent - 1), ' ');
    text += usage;
    if (narrow || usage.size() >= indent) {
      text.append("\n").append(indent, ' ');
    } else {
      text.push_back(' ');
    }
    append_words(command.text, indent, columns, text);
  }
  append_words(kKeys, 0, columns, text);
  return text;
}

}  // namespace weft::cli
