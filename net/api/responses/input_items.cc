#include "weft/net/api/responses/input_items.h"

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/net/api/responses/compaction_api.h"
#include "weft/net/api/tools/call_history.h"
#include "weft/net/api/tools/tool_list.h"
#include "weft/net/api/tools/tool_origin.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

constexpr std::string_view kReference = "item_reference";
constexpr std::string_view kSearch = "tool_search";

/// Puts a conversation together from items.
class ItemReader {
 public:
  ItemReader(BodyFields& fields, const ServedModel& model, const json::array& before,
             ReferencedItems& items)
      : fields_(fields), model_(model), items_(items) {
    for (const json::value& message : before) note_calls(message.as_object());
  }

  json::array read(dom::array list) && {
    if (!has_at_most(fields_, "input", list, defaults::kMaxMessages, "items")) return {};
    std::size_t index = 0;
    for (const dom::element entry : list) {
      BodyFields item(entry.get_object(), indexed("input", index++), fields_);
      take_item(item);
      if (item.finish()) return {};
    }
    if (messages_.empty()) fields_.fail("input", "must have at least one message");
    return std::move(messages_);
  }

 private:
  void note_calls(const json::object& message) {
    const json::value* const calls = message.if_contains("tool_calls");
    if (calls == nullptr || !calls->is_array()) return;
    for (const json::value& call : calls->get_array()) {
      const json::string& id = call.at("id").as_string();
      const json::string& name = call.at("function").at("name").as_string();
      history_.add({id.data(), id.size()}, {name.data(), name.size()});
    }
  }

  void take_item(BodyFields& item) {
    // A reference may leave out its type, as a message may.
    const bool refers = item.has("id") && !item.has("role");
    const std::string_view type = item.text("type").value_or(refers ? kReference : "message");
    take_harmless_fields(item, FieldPlace::kItem);
    if (type == "message") return take_message(item);
    if (type == "function_call") return take_call(item);
    if (type == "function_call_output") return take_output(item);
    if (type == "reasoning") return take_reasoning(item);
    if (type == "compaction") return take_compaction(item);
    if (type == kReference) return take_reference(item);
    if (take_agent_item(item, type)) return;
    item.fail("type",
              shown(type) +
                  " is none of message, function_call, function_call_output, custom_tool_call, "
                  "custom_tool_call_output, tool_search_call, tool_search_output, "
                  "additional_tools, reasoning, compaction, item_reference",
              api_code::kUnsupported);
  }

  /// Takes an item of a kind of tool other than plain functions. Returns whether the item is one.
  bool take_agent_item(BodyFields& item, std::string_view type) {
    if (type == "custom_tool_call") {
      take_custom_call(item);
    } else if (type == "custom_tool_call_output") {
      take_output(item);
    } else if (type == "tool_search_call") {
      take_search_call(item);
    } else if (type == "tool_search_output") {
      take_search_output(item);
    } else if (type == "additional_tools") {
      item.ignore({"role", "tools"});  // take_tools() has read its fields
    } else {
      return false;
    }
    return true;
  }

  /// Takes the referenced item in place of the reference.
  void take_reference(const BodyFields& item) {
    const std::string_view id = item.needed_text("id");
    if (item.error()) return;
    const auto kept = items_.take(id);
    if (!kept) return item.fail("id", kept.error().message);
    BodyFields referred(parser_.parse(*kept).get_object(), item.path(), fields_);
    take_item(referred);
    referred.finish();
  }

  void take_compaction(const BodyFields& item) {
    const std::string_view summary = item.needed_text("encrypted_content");
    if (item.error()) return;
    thought_.clear();
    messages_.push_back(message_of_compaction(summary));
    answering_ = false;
  }

  void take_message(BodyFields& item) {
    json::object message = take_item_message(item, model_);
    if (item.error()) return;
    const bool assistant = message["role"] == "assistant";
    if (assistant) set_reasoning(model_, thought_, message);
    thought_.clear();
    messages_.push_back(std::move(message));
    answering_ = assistant;
  }

  /// Returns the assistant's message that the next calls belong to.
  json::object& answer() {
    if (!answering_) {
      json::object message = message_of("assistant", "");
      set_reasoning(model_, thought_, message);
      thought_.clear();
      messages_.push_back(std::move(message));
      answering_ = true;
    }
    return messages_.back().as_object();
  }

  void take_call(const BodyFields& item) {
    const std::string_view arguments = item.needed_text("arguments");
    add_call(item, take_function_name(item), arguments_of(arguments));
  }

  void take_custom_call(const BodyFields& item) {
    const std::string_view input = item.needed_text("input");
    add_call(item, take_function_name(item), custom_arguments(input));
  }

  void take_search_call(const BodyFields& item) {
    item.ignore({"execution"});
    const auto arguments = item.any("arguments");
    add_call(item, std::string(kSearch), arguments ? to_json(*arguments) : json::object());
  }

  static std::string take_function_name(const BodyFields& item) {
    return function_name(item.text("namespace").value_or(""), item.needed_text("name"));
  }

  void add_call(const BodyFields& item, const std::string& function, json::value arguments) {
    const std::string_view id = item.needed_text("call_id");
    if (item.error()) return;
    history_.add(id, function);
    json::object& message = answer();
    if (!message.contains("tool_calls")) message["tool_calls"] = json::array();
    json::array& calls = message["tool_calls"].as_array();
    if (calls.size() == defaults::kMaxCalls) {
      return item.fail({}, "is one call too many of one message");
    }
    calls.push_back(call_with(id, function, std::move(arguments)));
  }

  void take_output(BodyFields& item) {
    item.ignore({"name", "namespace"});  // these fields repeat the call before it
    const std::string_view id = item.needed_text("call_id");
    add_output(item, id, take_item_text(item, "output"));
  }

  /// Takes the result of a search for tools: their names. take_tools() has read the tools.
  void take_search_output(const BodyFields& item) {
    item.ignore({"execution"});
    const std::string_view id = item.needed_text("call_id");
    const auto tools = item.array("tools");
    const std::string names = tools ? function_names(*tools) : std::string();
    add_output(item, id, names.empty() ? "No tools were found." : "Found these tools: " + names);
  }

  void add_output(const BodyFields& item, std::string_view id, std::string_view text) {
    json::object message = message_of("tool", text);
    if (!history_.knows(id)) item.fail("call_id", shown(id) + " is of no call that went before");
    message["tool_call_id"] = id;
    const std::string_view name = history_.function_of(id);
    if (!name.empty()) message["name"] = name;
    messages_.push_back(std::move(message));
    answering_ = false;
  }

  void take_reasoning(const BodyFields& item) {
    item.ignore({"summary", "encrypted_content"});
    const auto list = item.array("content");
    answering_ = false;
    if (!list) return;
    if (!has_at_most(item, "content", *list, defaults::kMaxContentParts, "parts")) return;
    std::size_t index = 0;
    for (const dom::element entry : *list) {
      const BodyFields part(entry.get_object(), item.path_of(indexed("content", index++)), item);
      if (part.needed_text("type") != "reasoning_text") {
        part.fail("type", "can be reasoning_text alone", api_code::kUnsupported);
      }
      thought_.append(part.needed_text("text"));
      part.finish();
    }
  }

  BodyFields& fields_;
  const ServedModel& model_;
  ReferencedItems& items_;
  dom::parser parser_;  // parses the referenced items
  CallHistory history_;
  json::array messages_;
  std::string thought_;     // the thought that precedes the next message
  bool answering_ = false;  // the last message is the assistant's, so calls may be added to it
};

}  // namespace

json::array take_input(BodyFields& fields, const ServedModel& model, const json::array& before,
                       ReferencedItems& items) {
  refuse_without_template(fields, model);
  const auto input = fields.any("input");
  if (!input) {
    fields.fail("input", "is missing", api_code::kMissing);
    return {};
  }
  std::string_view text;
  if (input->get(text) == simdjson::SUCCESS) return json::array{message_of("user", text)};
  dom::array list;
  if (input->get(list) == simdjson::SUCCESS) {
    return ItemReader(fields, model, before, items).read(list);
  }
  fields.fail("input", "must be a string or a list of items", api_code::kInvalidType);
  return {};
}

}  // namespace weft
