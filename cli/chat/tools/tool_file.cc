#include "weft/cli/chat/tools/tool_file.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "weft/config/config_error.h"
#include "weft/core/io/file.h"

namespace weft::cli {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 7> kToolKeys = {
    "name", "description", "parameters", "command", "shell", "ask", "timeout_s"};

/// Every API accepts names up to this length.
constexpr std::size_t kLongestToolName = 64;
constexpr std::string_view kToolNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

/// Reads one tool up to the first mistake, which it keeps.
class ToolReader {
 public:
  ToolReader(const json::value& value, const std::filesystem::path& folder)
      : fields_(value.if_object()), folder_(folder) {}

  ChatTool read() {
    if (fields_ == nullptr) {
      fail({}, "must be an object");
      return {};
    }
    for (const auto& field : *fields_) {
      if (std::ranges::find(kToolKeys, std::string_view(field.key())) == kToolKeys.end()) {
        fail(field.key(), "is not known");
      }
    }
    ChatTool tool{.name = text("name"), .description = text("description")};
    if (tool.name.empty() || tool.name.size() > kLongestToolName ||
        tool.name.find_first_not_of(kToolNameCharacters) != std::string::npos) {
      fail("name", "must be 1 to 64 letters, digits, _ or -");
    }
    read_parameters(tool);
    read_command(tool);
    read_bounds(tool);
    return tool;
  }

  [[nodiscard]] const std::optional<std::string>& mistake() const { return mistake_; }

 private:
  void fail(std::string_view field, std::string_view what) {
    if (mistake_) return;
    mistake_.emplace(field.empty() ? "" : ".");
    mistake_->append(field).append(field.empty() ? " " : ": ").append(what);
  }

  std::string text(std::string_view name) {
    const json::value* value = fields_->if_contains(name);
    if (value == nullptr) return {};
    if (!value->is_string()) fail(name, "must be a text");
    return value->is_string() ? std::string(value->as_string()) : std::string();
  }

  void read_parameters(ChatTool& tool) {
    const json::value* schema = fields_->if_contains("parameters");
    if (schema == nullptr) {
      tool.parameters = {{"type", "object"}, {"properties", json::object{}}};
    } else if (schema->is_object()) {
      tool.parameters = schema->as_object();
    } else {
      fail("parameters", "must be a JSON schema, an object");
    }
  }

  void read_command(ChatTool& tool) {
    const json::value* command = fields_->if_contains("command");
    std::string shell = text("shell");
    if ((command != nullptr) == fields_->contains("shell")) {
      return fail({}, "must have a command or a shell");
    }
    if (command == nullptr) {
      if (shell.empty()) return fail("shell", "must not be empty");
      tool.command = {"/bin/sh", "-c", std::move(shell)};
      return;
    }
    const json::array* words = command->if_array();
    if (words == nullptr || words->empty()) return fail("command", "must be a list of texts");
    for (const json::value& word : *words) {
      if (!word.is_string()) return fail("command", "must be a list of texts");
      tool.command.emplace_back(word.as_string());
    }
    std::string& program = tool.command.front();
    if (program.empty()) return fail("command", "must begin with a program");
    if (program.find('/') != std::string::npos) program = (folder_ / program).string();
  }

  void read_bounds(ChatTool& tool) {
    if (const json::value* ask = fields_->if_contains("ask")) {
      if (!ask->is_bool()) return fail("ask", "must be true or false");
      tool.ask = ask->as_bool();
    }
    const json::value* time = fields_->if_contains("timeout_s");
    if (time == nullptr) return;
    const std::int64_t seconds = time->is_int64() ? time->as_int64() : 0;
    if (seconds < 1 || seconds > kLongestToolTime.count()) {
      return fail("timeout_s", "must be 1 to " + std::to_string(kLongestToolTime.count()));
    }
    tool.time = std::chrono::seconds(seconds);
  }

  const json::object* fields_;
  const std::filesystem::path& folder_;
  std::optional<std::string> mistake_;
};

}  // namespace

Result<std::vector<ChatTool>> read_tool_file(const std::string& path) {
  const auto text = read_text_file(path, kLargestToolFile);
  if (!text) return text.error();
  const auto wrong = [&path](const std::string& what) {
    return Error{ConfigErrc::kBadConfig, path + what};
  };
  json::error_code error;
  const json::value list = json::parse(*text, error);
  if (error) return wrong(": this is no JSON: " + error.message());
  if (!list.is_array() || list.as_array().empty()) return wrong(": must be a list of tools");
  if (list.as_array().size() > kMaxTools) {
    return wrong(": names more than " + std::to_string(kMaxTools) + " tools");
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::vector<ChatTool> tools;
  for (const json::value& value : list.as_array()) {
    ToolReader reader(value, folder);
    ChatTool tool = reader.read();
    const std::string place = ": [" + std::to_string(tools.size()) + "]";
    if (reader.mistake()) return wrong(place + *reader.mistake());
    if (std::ranges::find(tools, tool.name, &ChatTool::name) != tools.end()) {
      return wrong(place + ".name: there is another \"" + tool.name + "\"");
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

json::object tool_definition(const ChatTool& tool) {
  json::object definition{{"type", "function"}, {"name", tool.name}};
  if (!tool.description.empty()) definition["description"] = tool.description;
  definition["parameters"] = tool.parameters;
  return definition;
}

}  // namespace weft::cli
