#include "weft/net/api/chat/fitted_roles.h"

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/chat/conversation.h"

namespace weft {
namespace {

namespace json = boost::json;

bool has_role(const json::value& message, std::string_view role) {
  return message.at("role").as_string() == role;
}

bool is_system(const json::value& message) {
  return (has_role(message, "system") || has_role(message, "developer")) &&
         message.at("content").is_string();
}

void append_paragraph(json::string& text, std::string_view more) {
  if (!text.empty() && !more.empty()) text.append("\n\n");
  text.append(more);
}

/// Puts the text of system messages in front, or among the user's messages.
json::array without_inner_systems(json::array messages, const RoleOrder& order) {
  json::string system;
  json::array others;
  bool answered = false;
  for (json::value& message : messages) {
    answered = answered || has_role(message, "assistant");
    if (!is_system(message)) {
      others.push_back(std::move(message));
    } else if (answered) {
      others.push_back(message_of("user", message.at("content").as_string()));
    } else {
      append_paragraph(system, message.at("content").as_string());
    }
  }
  if (system.empty()) return others;
  json::array fitted{message_of(order.system ? "system" : "user", system)};
  fitted.insert(fitted.end(), others.begin(), others.end());
  return fitted;
}

/// Returns whether a user's message is appended to this message.
bool takes_more(const json::value& message, const RoleOrder& order) {
  if (!message.at("content").is_string()) return false;
  return (!order.repeats && has_role(message, "user")) ||
         (!order.after_result && has_role(message, "tool"));
}

json::array with_turns_joined(json::array messages, const RoleOrder& order) {
  json::array fitted;
  for (json::value& message : messages) {
    const bool joins = !fitted.empty() && has_role(message, "user") &&
                       message.at("content").is_string() && takes_more(fitted.back(), order);
    if (joins) {
      append_paragraph(fitted.back().at("content").as_string(), message.at("content").as_string());
    } else {
      fitted.push_back(std::move(message));
    }
  }
  return fitted;
}

}  // namespace

json::array fitted_roles(json::array messages, const RoleOrder& order) {
  if (!order.system || !order.systems) {
    messages = without_inner_systems(std::move(messages), order);
  }
  if (order.repeats && order.after_result && order.system) return messages;
  RoleOrder strict = order;
  if (!order.system) strict.repeats = false;  // a system message belongs to the messages behind it
  return with_turns_joined(std::move(messages), strict);
}

}  // namespace weft
