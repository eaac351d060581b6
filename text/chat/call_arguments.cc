#include "weft/text/chat/call_arguments.h"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <string>
#include <utility>

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::string_view kArgument = "needle";

ChatTemplateInput conversation_with_call(json::value arguments, const json::object& special) {
  const json::object parameters{{"type", "object"},
                                {"properties", {{kArgument, {{"type", "string"}}}}}};
  ChatTemplateInput input;
  input.special_tokens = special;
  input.add_generation_prompt = true;
  input.tools = json::array{
      {{"type", "function"},
       {"function", {{"name", "f"}, {"description", "d"}, {"parameters", parameters}}}}};
  const json::array calls{{{"id", "call00001"},  // as Mistral's templates want it
                           {"type", "function"},
                           {"function", {{"name", "f"}, {"arguments", std::move(arguments)}}}}};
  input.messages = {{{"role", "user"}, {"content", "x"}},
                    {{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}}};
  return input;
}

/// Whether the prompt has the arguments in it, and not as Python prints them.
bool shows_argument(const ChatTemplate& chat_template, const ChatTemplateInput& input) {
  const auto prompt = chat_template.render(input, std::chrono::local_seconds{});
  if (!prompt) return false;

  const std::size_t first = prompt->find("value-of-");
  return first != std::string::npos && prompt->find("{'needle'") == std::string::npos;
}

}  // namespace

bool wants_text_arguments(const ChatTemplate& chat_template, const json::object& special_tokens) {
  const json::object arguments{{kArgument, "value-of-it"}};
  if (shows_argument(chat_template, conversation_with_call(arguments, special_tokens)))
    return false;
  return shows_argument(
      chat_template,
      conversation_with_call(json::string(json::serialize(arguments)), special_tokens));
}

void make_arguments_text(json::array& messages) {
  for (json::value& message : messages) {
    json::object* const object = message.if_object();
    json::value* const calls = object ? object->if_contains("tool_calls") : nullptr;
    if (calls == nullptr || !calls->is_array()) continue;
    for (json::value& call : calls->get_array()) {
      json::object* const one = call.if_object();
      json::value* const function = one ? one->if_contains("function") : nullptr;
      if (function == nullptr || !function->is_object()) continue;
      json::value* const arguments = function->get_object().if_contains("arguments");
      if (arguments == nullptr || arguments->is_string()) continue;
      *arguments = json::string(json::serialize(*arguments));
    }
  }
}

}  // namespace weft
