#include "weft/net/api/messages/message_turns.h"

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/chat/fitted_roles.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/net/api/tools/call_history.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

void append_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += '\n';
  text += line;
}

/// Calls each(fields of the block, its type) for the blocks of a list, until the first mistake.
template <class Each>
void for_each_block(const BodyFields& owner, std::string_view name, dom::array blocks,
                    const Each& each) {
  if (!has_at_most(owner, name, blocks, defaults::kMaxContentParts, "blocks")) return;
  std::size_t index = 0;
  for (const dom::element element : blocks) {
    const BodyFields block(element.get_object(), owner.path_of(indexed(name, index++)), owner);
    each(block, block.needed_text("type"));
    take_harmless_fields(block, FieldPlace::kPart);
    if (block.finish()) return;
  }
}

void refuse_block(const BodyFields& block, std::string_view type) {
  block.fail("type", shown(type) + " is not supported here", api_code::kUnsupported);
}

/// Returns the text of a block about tools: a tool that a search has found, or a change of the
/// tools in the middle of a conversation. Nothing for any other block.
std::optional<std::string> take_tool_news(const BodyFields& block, std::string_view type) {
  if (type == "tool_reference") {
    return "The tool " + std::string(block.needed_text("tool_name")) + " can be called now.";
  }
  if (type != "tool_addition" && type != "tool_removal") return std::nullopt;
  const BodyFields tool = block.needed_child("tool");
  tool.ignore({"type"});
  const auto definition = tool.object("definition");  // take_tools() has read its fields
  std::string_view name = tool.text("name").value_or(tool.text("tool_name").value_or(""));
  if (definition && definition->at_key("name").get(name) != simdjson::SUCCESS) name = {};
  if (name.empty()) tool.fail("name", "is missing", api_code::kMissing);
  tool.finish();
  return "The tool " + std::string(name) +
         (type == "tool_addition" ? " can be called now." : " can no longer be called.");
}

/// Returns the text of a field that is a text or a list of text blocks.
std::string take_text_of(const BodyFields& owner, std::string_view name) {
  const auto value = owner.any(name);
  std::string text;
  std::string_view whole;
  dom::array blocks;
  if (!value) return text;
  if (value->get(whole) == simdjson::SUCCESS) {
    text = whole;
  } else if (value->get(blocks) == simdjson::SUCCESS) {
    for_each_block(owner, name, blocks, [&](const BodyFields& block, std::string_view type) {
      if (type == "text") return append_line(text, block.needed_text("text"));
      const auto news = take_tool_news(block, type);
      if (!news) return refuse_block(block, type);
      append_line(text, *news);
    });
  } else {
    owner.fail(name, "must be a string or a list of blocks", api_code::kInvalidType);
  }
  return text;
}

/// Reads messages one after the other into turns for the template.
class TurnReader {
 public:
  explicit TurnReader(const ServedModel& model) : model_(model) {}

  void add_text(std::string_view role, std::string_view text) {
    // Many templates want the roles to alternate, and the API does not.
    const bool goes_on = !turns_.empty() && turns_.back().at("role").as_string() == role &&
                         !turns_.back().as_object().contains("tool_calls");
    if (goes_on) {
      turns_.back().at("content").as_string().append("\n").append(text);
    } else {
      turns_.push_back(message_of(role, text));
    }
  }

  void add_message(const BodyFields& message) {
    const std::string_view role = message.needed_text("role");
    const auto content = message.any("content");
    dom::array blocks;
    if (role != "user" && role != "assistant" && role != "system") {
      message.fail("role", shown(role) + " is none of user, assistant, system");
    } else if (!content) {
      message.fail("content", "is missing", api_code::kMissing);
    } else if (role == "system" || content->get(blocks) != simdjson::SUCCESS) {
      add_text(role, take_text_of(message, "content"));
    } else if (role == "user") {
      add_user_blocks(message, blocks);
    } else {
      add_assistant_blocks(message, blocks);
    }
    take_harmless_fields(message, FieldPlace::kMessage);
    message.finish();
  }

  [[nodiscard]] json::array take() { return std::move(turns_); }

 private:
  void add_user_blocks(const BodyFields& message, dom::array blocks) {
    if (blocks.size() == 0) message.fail("content", "is an empty list");
    for_each_block(message, "content", blocks, [&](const BodyFields& block, std::string_view type) {
      if (type == "text") return add_text("user", block.needed_text("text"));
      if (type == "tool_result") return add_result(block);
      refuse_block(block, type);
    });
  }

  void add_result(const BodyFields& block) {
    const std::string_view id = block.needed_text("tool_use_id");
    json::object result = message_of("tool", take_text_of(block, "content"));
    result["tool_call_id"] = id;
    const std::string_view function = calls_.function_of(id);
    if (!function.empty()) result["name"] = function;
    static_cast<void>(block.flag("is_error"));  // no template knows this flag: the block's text has
                                                // to say it
    turns_.push_back(std::move(result));
  }

  void add_assistant_blocks(const BodyFields& message, dom::array blocks) {
    std::string text;
    std::string thoughts;
    json::array calls;
    for_each_block(message, "content", blocks, [&](const BodyFields& block, std::string_view type) {
      if (type == "text") {
        append_line(text, block.needed_text("text"));
      } else if (type == "thinking") {
        append_line(thoughts, block.needed_text("thinking"));
        static_cast<void>(block.text("signature"));
      } else if (type == "redacted_thinking") {
        static_cast<void>(block.text("data"));  // only Anthropic can decrypt it
      } else if (type == "tool_use") {
        calls.push_back(take_call_block(block));
      } else {
        refuse_block(block, type);
      }
    });
    if (calls.empty() && thoughts.empty()) return add_text("assistant", text);
    json::object turn = message_of("assistant", text);
    if (!calls.empty()) turn["tool_calls"] = std::move(calls);
    set_reasoning(model_, thoughts, turn);
    turns_.push_back(std::move(turn));
  }

  json::object take_call_block(const BodyFields& block) {
    const std::string_view id = block.needed_text("id");
    const std::string_view name = block.needed_text("name");
    if (!block.object("input")) block.fail("input", "is missing", api_code::kMissing);
    const auto input = block.any("input");
    block.ignore({"caller"});
    calls_.add(id, name);
    return call_with(id, name, input ? to_json(*input) : json::object());
  }

  const ServedModel& model_;
  CallHistory calls_;
  json::array turns_;
};

}  // namespace

json::array take_turns(BodyFields& fields, const ServedModel& model) {
  refuse_without_template(fields, model);
  TurnReader reader(model);
  const std::string system = take_text_of(fields, "system");
  if (!system.empty()) reader.add_text("system", system);
  const auto list = fields.array("messages");
  if (!list) {
    fields.fail("messages", "is missing", api_code::kMissing);
    return {};
  }
  if (!has_at_most(fields, "messages", *list, defaults::kMaxMessages, "messages")) return {};
  std::size_t index = 0;
  for (const dom::element entry : *list) {
    reader.add_message(BodyFields(entry.get_object(), indexed("messages", index++), fields));
    if (fields.error()) return {};
  }
  if (index == 0) {
    fields.fail("messages", "must have at least one message");
  }
  return fitted_roles(reader.take(), model.chat.roles());
}

}  // namespace weft
