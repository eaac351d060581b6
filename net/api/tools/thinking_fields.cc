#include "weft/net/api/tools/thinking_fields.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "weft/actors/request/stream_defaults.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 6> kEfforts = {"none",   "minimal", "low",
                                                      "medium", "high",    "xhigh"};

void set_once(json::object& variables, std::string_view name, json::value value) {
  if (!variables.contains(name)) variables[name] = std::move(value);
}

}  // namespace

void set_thinking(Request& request, bool wanted) {
  for (const std::string_view name : {"enable_thinking", "thinking"}) {
    set_once(request.chat_template_kwargs, name, wanted);
  }
}

void take_reasoning_effort(BodyFields& fields, std::string_view name,
                           std::string_view chat_template, Request& request) {
  const auto effort = fields.text(name);
  if (!effort) return;
  if (std::ranges::find(kEfforts, *effort) == kEfforts.end()) {
    return fields.fail(name,
                       shown(*effort) + " is none of none, minimal, low, medium, high, xhigh");
  }
  json::object& variables = request.chat_template_kwargs;
  set_once(variables, "reasoning_effort", json::string(*effort));
  const auto knows = [&](std::string_view variable) {
    return chat_template.find(variable) != std::string_view::npos;
  };
  const bool has_efforts = knows("reasoning_effort");
  if (*effort == "none" || (*effort == "minimal" && !has_efforts)) {
    set_thinking(request, false);
    const bool hears = has_efforts || knows("thinking");
    if (!hears && request.thinking_budget < 0) request.thinking_budget = 0;
  } else if (!has_efforts) {
    set_thinking(request, true);
  }
}

void take_wished_effort(const BodyFields& fields, std::string_view chat_template,
                        Request& request) {
  const std::string_view effort = fields.text("effort").value_or("");
  if (chat_template.find("reasoning_effort") == std::string_view::npos) return;
  const bool most = effort == "xhigh" || effort == "max";
  if (!most && effort != "low" && effort != "medium" && effort != "high") return;
  set_once(request.chat_template_kwargs, "reasoning_effort",
           most ? json::string("high") : json::string(effort));
}

bool take_thinking(const BodyFields& fields, bool needs_budget, Request& request) {
  const auto object = fields.object("thinking");
  if (!object) return true;
  const BodyFields thinking(*object, "thinking", fields);
  const std::string_view type = thinking.needed_text("type");
  const std::string_view display = thinking.text("display").value_or("summarized");
  if (display != "summarized" && display != "omitted") {
    thinking.fail("display", shown(display) + " is none of summarized, omitted");
  }
  if (type == "enabled") {
    const auto budget = needs_budget
                            ? thinking.needed_integer("budget_tokens", 1, kMaxStreamTokens)
                            : thinking.integer("budget_tokens", 1, kMaxStreamTokens).value_or(-1);
    request.thinking_budget = static_cast<std::int32_t>(budget);
    set_thinking(request, true);
  } else if (type == "disabled") {
    set_thinking(request, false);
  } else if (type != "adaptive") {
    thinking.fail("type", shown(type) + " is not supported, only enabled, adaptive, disabled",
                  api_code::kUnsupported);
  }
  thinking.finish();
  return display == "summarized";
}

void take_thinking_budget(BodyFields& fields, Request& request) {
  for (const std::string_view name : {"thinking_token_budget", "thinking_budget"}) {
    const auto budget = fields.integer(name, -1, kMaxStreamTokens);
    if (!budget) continue;
    if (request.thinking_budget >= 0 && *budget != request.thinking_budget) {
      return fields.fail(name, "and another field both say how long the model may think");
    }
    request.thinking_budget = static_cast<std::int32_t>(*budget);
  }
}

}  // namespace weft
