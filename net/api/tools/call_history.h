#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <string_view>

#include "weft/actors/loading/served_model.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// The calls of a conversation's earlier messages, by which each result finds its function.
class CallHistory {
 public:
  void add(std::string_view id, std::string_view function) {
    names_.insert_or_assign(std::string(id), std::string(function));
  }
  /// Whether an earlier message made the call `id`.
  [[nodiscard]] bool knows(std::string_view id) const { return names_.contains(id); }
  /// The function of the call `id`; empty: not known.
  [[nodiscard]] std::string_view function_of(std::string_view id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? std::string_view{} : found->second;
  }

 private:
  std::map<std::string, std::string, std::less<>> names_;
};

/// Returns the arguments of a call: an object, or the text itself where it is no JSON object, as a
/// model may have written it.
[[nodiscard]] boost::json::value arguments_of(std::string_view text);

/// A call as templates get it: {"id", "type": "function", "function": {"name", "arguments"}}.
/// `arguments` is JSON text; what is no JSON object stays a text, as a model may have written it.
[[nodiscard]] boost::json::object call_of(std::string_view id, std::string_view function,
                                          std::string_view arguments);

/// Makes the same object from arguments that are JSON already.
[[nodiscard]] boost::json::object call_with(std::string_view id, std::string_view function,
                                            boost::json::value arguments);

/// Takes `tool_calls` of an assistant's message to the message for the template.
void take_tool_calls(const BodyFields& fields, CallHistory& history, boost::json::object& message);

/// Sets the thoughts of an assistant's message, under the name that the model's template has for
/// them. Without such a name it sets nothing, as most templates drop earlier thoughts.
void set_reasoning(const ServedModel& model, std::string_view text, boost::json::object& message);

}  // namespace weft
