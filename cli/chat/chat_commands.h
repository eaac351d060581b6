#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/cli/chat/input_error.h"
#include "weft/cli/chat/prompt_batch.h"

namespace weft::cli {

/// Whether a line without a slash is a question or a batch.
enum class ChatMode : std::uint8_t { kChat, kBatch };

/// The lines of `weft chat` after parsing.
namespace chat {
struct Ask {
  std::string text;
};
struct Submit {
  std::vector<BatchPrompt> prompts;
};
struct SubmitFile {
  std::string path;
};
struct Enter {
  ChatMode mode;
};
struct Status {};
struct Cancel {
  std::int64_t batch;
};
struct Thoughts {};
struct Save {
  std::string path;
};
struct System {
  std::string text;  ///< empty: none
};
struct Set {
  std::string name;                           ///< empty: show the settings
  std::optional<boost::json::value> value{};  ///< none: back to the server's default
};
struct Forget {};
struct Help {};
struct Quit {};
}  // namespace chat

/// std::monostate is an empty line.
using ChatCommand =
    std::variant<std::monostate, chat::Ask, chat::Submit, chat::SubmitFile, chat::Enter,
                 chat::Status, chat::Cancel, chat::Thoughts, chat::Save, chat::System, chat::Set,
                 chat::Forget, chat::Help, chat::Quit>;

/// Parses a line. The error names the expected text and the place of the mistake.
[[nodiscard]] Parsed<ChatCommand> parse_command(std::string_view line, ChatMode mode);

/// A command as /help shows it.
struct CommandHelp {
  std::string_view name;       ///< "/batch"
  std::string_view arguments;  ///< "FILE"
  std::string_view text;
};
[[nodiscard]] std::span<const CommandHelp> command_help() noexcept;

/// Returns the commands and, after "/set ", the well-known settings that begin as `line` does. Each
/// is given from the line's last space on.
[[nodiscard]] std::vector<std::string> completions_of(std::string_view line);

}  // namespace weft::cli
