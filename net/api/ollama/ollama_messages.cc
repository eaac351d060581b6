#include "weft/net/api/ollama/ollama_messages.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/net/api/tools/call_history.h"
#include "weft/net/api/tools/call_id.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

class OllamaMessageReader {
 public:
  explicit OllamaMessageReader(const ServedModel& model) : model_(model) {}

  void add(const BodyFields& message) {
    const std::string_view role = message.needed_text("role");
    if (role != "system" && role != "user" && role != "assistant" && role != "tool") {
      message.fail("role", shown(role) + " is none of system, user, assistant, tool");
    }
    const auto content = message.text("content");
    if (!content && role != "assistant") {
      message.fail("content", "is missing", api_code::kMissing);
    }
    json::object turn = message_of(role, content.value_or(std::string_view()));
    if (role == "assistant") {
      add_calls(message, turn);
      set_reasoning(model_, message.text("thinking").value_or(std::string_view()), turn);
    } else if (role == "tool") {
      add_call_answered(message, turn);
    }
    take_harmless_fields(message, FieldPlace::kOllamaMessage);
    message.finish();
    turns_.push_back(std::move(turn));
  }
  [[nodiscard]] std::size_t size() const noexcept { return turns_.size(); }
  [[nodiscard]] json::array take() { return std::move(turns_); }

 private:
  struct Call {
    std::string id;
    std::string function;
  };

  void add_calls(const BodyFields& message, json::object& turn) {
    const auto list = message.array("tool_calls");
    if (!list || list->size() == 0) return;
    open_.clear();  // a result answers the calls just before it, which bounds the search
    if (!has_at_most(message, "tool_calls", *list, defaults::kMaxCalls, "calls")) return;
    json::array calls;
    for (const dom::element entry : *list) {
      const std::string path = message.path_of(indexed("tool_calls", calls.size()));
      calls.push_back(take_call(BodyFields(entry.get_object(), path, message)));
      if (message.error()) return;
    }
    turn["tool_calls"] = std::move(calls);
  }

  json::object take_call(const BodyFields& call) {
    const BodyFields function = call.needed_child("function");
    Call made{.id = std::string(call.text("id").value_or(std::string_view())),
              .function = std::string(function.needed_text("name"))};
    if (made.id.empty()) made.id = call_id("", turns_.size(), calls_++);
    static_cast<void>(function.object("arguments"));
    const auto arguments = function.any("arguments");
    json::value values = arguments ? to_json(*arguments) : json::object();
    function.ignore({"index", "description"});
    call.ignore({"type"});
    function.finish();
    call.finish();
    json::object result = call_with(made.id, made.function, std::move(values));
    open_.push_back(std::move(made));
    return result;
  }

  void add_call_answered(const BodyFields& message, json::object& turn) {
    const auto name = message.text("tool_name");
    const auto id = message.text("tool_call_id");
    auto call = std::ranges::find_if(open_, [&](const Call& each) {
      return id ? each.id == *id : name && each.function == *name;
    });
    if (call == open_.end() && !id) call = open_.begin();
    if (name) turn["name"] = *name;
    if (id) turn["tool_call_id"] = *id;
    if (call == open_.end()) return;
    turn["name"] = call->function;
    turn["tool_call_id"] = call->id;
    open_.erase(call);
  }

  const ServedModel& model_;
  std::vector<Call> open_;  // calls that no message has answered yet
  std::size_t calls_ = 0;
  json::array turns_;
};

}  // namespace

json::array take_ollama_messages(BodyFields& fields, const ServedModel& model) {
  OllamaMessageReader reader(model);
  const auto list = fields.array("messages");
  if (!list) return {};
  if (!has_at_most(fields, "messages", *list, defaults::kMaxMessages, "messages")) return {};
  for (const dom::element entry : *list) {
    reader.add(BodyFields(entry.get_object(), indexed("messages", reader.size()), fields));
    if (fields.error()) return {};
  }
  return reader.take();
}

}  // namespace weft
