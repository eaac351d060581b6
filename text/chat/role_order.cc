#include "weft/text/chat/role_order.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::string_view kSystem = "system";
constexpr std::string_view kUser = "user";
constexpr std::string_view kAssistant = "assistant";

/// Renders conversations of messages that each have a text of their own.
class RoleProbe {
 public:
  RoleProbe(const ChatTemplate& chat_template, const json::object& special_tokens)
      : template_(chat_template), special_tokens_(special_tokens) {}

  [[nodiscard]] bool takes(std::initializer_list<std::string_view> roles) const {
    json::array messages;
    for (const std::string_view role : roles) messages.push_back(message(role, messages.size()));
    return takes(std::move(messages));
  }

  [[nodiscard]] bool takes_text_after_result(bool text_arguments) const {
    const json::value arguments = text_arguments ? json::value("{}") : json::value(json::object());
    const json::array calls{{{"id", "call00001"},  // in the form of Mistral's templates
                             {"type", "function"},
                             {"function", {{"name", "f"}, {"arguments", arguments}}}}};
    json::object result = message("tool", 2);
    result["tool_call_id"] = "call00001";
    result["name"] = "f";
    json::array messages{message(kUser, 0),
                         {{"role", kAssistant}, {"content", ""}, {"tool_calls", calls}},
                         std::move(result)};
    // No conclusion is possible where the template takes no tool results.
    if (!takes(messages)) return true;
    messages.push_back(message(kUser, 3));
    return takes(std::move(messages));
  }

 private:
  static json::object message(std::string_view role, std::size_t index) {
    return {{"role", role}, {"content", "text-of-" + std::to_string(index)}};
  }

  [[nodiscard]] bool takes(json::array messages) const {
    ChatTemplateInput input;
    input.special_tokens = special_tokens_;
    input.add_generation_prompt = true;
    input.messages = messages;
    const auto prompt = template_.render(input, std::chrono::local_seconds{});
    return prompt && std::ranges::all_of(messages, [&](const json::value& one) {
             const json::string& text = one.at("content").as_string();
             return prompt->find(std::string_view(text.data(), text.size())) != std::string::npos;
           });
  }

  const ChatTemplate& template_;
  const json::object& special_tokens_;
};

}  // namespace

RoleOrder role_order_of(const ChatTemplate& chat_template, const json::object& special_tokens,
                        bool text_arguments) {
  const RoleProbe probe(chat_template, special_tokens);
  RoleOrder order;
  // No conclusion is possible where the template takes no conversation at all.
  if (!probe.takes({kUser, kAssistant, kUser})) return order;
  order.system = probe.takes({kSystem, kUser});
  order.systems =
      probe.takes({kSystem, kSystem, kUser, kSystem, kAssistant, kSystem, kUser, kSystem});
  order.repeats = probe.takes({kUser, kUser, kAssistant, kUser, kUser});
  order.after_result = probe.takes_text_after_result(text_arguments);
  return order;
}

}  // namespace weft
