#include "weft/cli/chat/chat_commands.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <charconv>
#include <utility>

#include "weft/config/edit_distance.h"

namespace weft::cli {
namespace {

namespace json = boost::json;

constexpr std::array<CommandHelp, 12> kCommands = {{
    {"/batch", "[\"...\", ...] [32, ...]",
     "submit prompts, with or without the most tokens of each answer; alone: batch mode"},
    {"/batch", "@FILE.jsonl", "submit prompts from a file: texts, or {\"prompt\", \"max_tokens\"}"},
    {"/chat", "", "chat mode: every line is a question"},
    {"/status", "", "the settings, and the progress of the batches"},
    {"/cancel", "ID", "cancel a batch"},
    {"/thoughts", "", "the model's thoughts before its last answer"},
    {"/save", "FILE", "write the conversation as JSON"},
    {"/system", "TEXT", "set the system message; without TEXT: none"},
    {"/set", "NAME VALUE",
     "set a field of every request, such as temperature 0.7; a NAME alone: unset it"},
    {"/new", "", "forget the conversation"},
    {"/help", "", "this"},
    {"/quit", "", "leave; so does Ctrl-D"},
}};

/// Settings that Tab completes; any other name may be set as well.
constexpr std::array<std::string_view, 10> kSettings = {"temperature",
                                                        "top_p",
                                                        "top_k",
                                                        "min_p",
                                                        "repetition_penalty",
                                                        "seed",
                                                        "stop",
                                                        "max_output_tokens",
                                                        "presence_penalty",
                                                        "frequency_penalty"};

/// Fields that this program sets itself in every request.
constexpr std::array<std::string_view, 10> kChatFields = {
    "model",  "input",     "instructions", "previous_response_id", "store",
    "stream", "stream_id", "background",   "service_tier",         "type"};

// A name with more differences than this is another one, not a mistyped one.
constexpr std::size_t kTypos = 2;

std::string nearest_command(std::string_view name) {
  std::string nearest;
  std::size_t best = kTypos + 1;
  for (const CommandHelp& command : kCommands) {
    const std::size_t distance = edit_distance(name, command.name);
    if (distance >= best) continue;
    best = distance;
    nearest = command.name;
  }
  return nearest;
}

/// The rest of a line after its command, without the space around it, and where it begins.
struct Rest {
  std::string_view line;
  std::size_t begin;

  [[nodiscard]] std::string_view text() const { return line.substr(begin); }
  [[nodiscard]] bool empty() const { return begin == line.size(); }
  [[nodiscard]] InputError error(std::string what) const { return {std::move(what), begin}; }
};

template <class Command>
Parsed<ChatCommand> alone(const Rest& rest, std::string_view name, Command command) {
  if (rest.empty()) return ChatCommand(std::move(command));
  return rest.error("nothing belongs behind " + std::string(name));
}

Parsed<ChatCommand> submit(const Rest& rest) {
  if (rest.text().starts_with('@')) {
    if (rest.text().size() == 1) return InputError{"a file's name belongs here", rest.begin + 1};
    return ChatCommand(chat::SubmitFile{std::string(rest.text().substr(1))});
  }
  auto prompts = parse_prompts(rest.line, rest.begin);
  if (!prompts) return prompts.error();
  return ChatCommand(chat::Submit{*std::move(prompts)});
}

Parsed<ChatCommand> cancel(const Rest& rest) {
  std::int64_t id = 0;
  const std::string_view text = rest.text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || id < 1 || end != text.data() + text.size()) {
    return rest.error("the number of a batch belongs here; /status lists them");
  }
  return ChatCommand(chat::Cancel{id});
}

Parsed<ChatCommand> set(const Rest& rest) {
  const std::string_view text = rest.text();
  const std::size_t space = std::min(text.find_first_of(" \t"), text.size());
  std::string name(text.substr(0, space));
  if (std::ranges::find(kChatFields, name) != kChatFields.end()) {
    return rest.error(name + " is not for /set: this program says it itself");
  }
  if (name == "max_tokens") name = "max_output_tokens";  // the field's name in the other APIs
  const std::size_t value_at = std::min(text.find_first_not_of(" \t", space), text.size());
  if (value_at == text.size()) return ChatCommand(chat::Set{std::move(name)});
  const std::string_view value = text.substr(value_at);
  json::error_code error;
  json::value parsed = json::parse(value, error);
  if (!error) return ChatCommand(chat::Set{std::move(name), std::move(parsed)});
  if (std::string_view("[{\"").find(value.front()) != std::string_view::npos) {
    return InputError{"this is no JSON: " + error.message(), rest.begin + value_at};
  }
  // a value that is no JSON is a word
  return ChatCommand(chat::Set{std::move(name), json::value(value)});
}

Parsed<ChatCommand> parse_slash(std::string_view name, const Rest& rest, std::size_t begin) {
  if (name == "/batch" && !rest.empty()) return submit(rest);
  if (name == "/batch") return ChatCommand(chat::Enter{ChatMode::kBatch});
  if (name == "/chat") return alone(rest, name, chat::Enter{ChatMode::kChat});
  if (name == "/status") return alone(rest, name, chat::Status{});
  if (name == "/cancel") return cancel(rest);
  if (name == "/thoughts") return alone(rest, name, chat::Thoughts{});
  if (name == "/save") {
    if (rest.empty()) return rest.error("a file's name belongs here");
    return ChatCommand(chat::Save{std::string(rest.text())});
  }
  if (name == "/system") return ChatCommand(chat::System{std::string(rest.text())});
  if (name == "/set") return set(rest);
  if (name == "/new") return alone(rest, name, chat::Forget{});
  if (name == "/help") return alone(rest, name, chat::Help{});
  if (name == "/quit") return alone(rest, name, chat::Quit{});
  const std::string nearest = nearest_command(name);
  return InputError{nearest.empty() ? "there is no such command; /help lists them"
                                    : "there is no such command; is " + nearest + " meant?",
                    begin};
}

}  // namespace

Parsed<ChatCommand> parse_command(std::string_view line, ChatMode mode) {
  constexpr std::string_view kSpace = " \t\r";
  line = line.substr(0, line.find_last_not_of(kSpace) + 1);  // npos + 1 is 0
  const std::size_t begin = std::min(line.find_first_not_of(kSpace), line.size());
  if (begin == line.size()) return ChatCommand();
  if (line[begin] == '/') {
    const std::size_t end = std::min(line.find_first_of(kSpace, begin), line.size());
    const Rest rest{line, std::min(line.find_first_not_of(kSpace, end), line.size())};
    return parse_slash(line.substr(begin, end - begin), rest, begin);
  }
  if (mode == ChatMode::kChat) return ChatCommand(chat::Ask{std::string(line.substr(begin))});
  if (line[begin] == '[' || line[begin] == '@') return submit({line, begin});
  return InputError{"in batch mode a line is [\"a prompt\", ...] or @FILE; /chat leaves it", begin};
}

std::span<const CommandHelp> command_help() noexcept { return kCommands; }

std::vector<std::string> completions_of(std::string_view line) {
  std::vector<std::string> found;
  const auto offer = [&found](std::string_view name, std::string_view start) {
    if (name.starts_with(start) && (found.empty() || found.back() != name)) {
      found.emplace_back(name);
    }
  };
  constexpr std::string_view kSet = "/set ";
  if (line.starts_with(kSet)) {
    for (const std::string_view name : kSettings) offer(name, line.substr(kSet.size()));
  } else if (line.starts_with('/')) {
    for (const CommandHelp& command : kCommands) offer(command.name, line);
  }
  return found;
}

}  // namespace weft::cli
