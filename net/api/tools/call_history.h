#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <string_view>

#include "weft/actors/loading/served_model.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// The calls in a conversation's earlier messages. They give each result the name of its function.
class CallHistory {
 public:
  void add(std::string_view id, std::string_view function) {
    names_.insert_or_assign(std::string(id), std::string(function));
  }
  /// Whether an earlier message made the call `id`.
  [[nodiscard]] bool knows(std::string_view id) const { return names_.contains(id); }
  /// Returns the function of the call `id`; empty: not known.
  [[nodiscard]] std::string_view function_of(std::string_view id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? std::string_view{} : found->second;
  }

 private:
  std::map<std::string, std::string, std::less<>> names_;
};

/// Returns the arguments of a call: an object, or the text itself where the model did not write a
/// JSON object.
[[nodiscard]] boost::json::value arguments_of(std::string_view text);

/// Returns a call in the form of templates: {"id", "type": "function", "function": {"name",
/// "arguments"}}. `arguments` is JSON text. A text that is no JSON object stays a text, because a
/// model may have written it.
[[nodiscard]] boost::json::object call_of(std::string_view id, std::string_view function,
                                          std::string_view arguments);

/// Returns the same object for arguments that are JSON already.
[[nodiscard]] boost::json::object call_with(std::string_view id, std::string_view function,
                                            boost::json::value arguments);

/// Copies `tool_calls` of an assistant's message into the message for the template.
void take_tool_calls(const BodyFields& fields, CallHistory& history, boost::json::object& message);

/// Sets the thoughts of an assistant's message, under the name that the model's template has for
/// them. Without such a name it sets nothing; most templates drop earlier thoughts anyway.
void set_reasoning(const ServedModel& model, std::string_view text, boost::json::object& message);

}  // namespace weft
