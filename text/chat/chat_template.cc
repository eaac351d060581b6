#include "weft/text/chat/chat_template.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/chat/template_variables.h"
#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/concat.h"
#include "weft/text/jinja/run.h"
#include "weft/text/jinja/run/interpreter.h"
#include "weft/text/jinja/syntax/ast.h"
#include "weft/text/jinja/syntax/lexer.h"
#include "weft/text/jinja/syntax/parser.h"
#include "weft/text/jinja/values/json.h"
#include "weft/text/text_error.h"

namespace weft {

struct ChatTemplate::Parsed {
  std::string name;
  jinja::ast::Block block;
};

namespace {

namespace json = boost::json;

/// Returns whether a request may set this variable. It may not set the server's variables and the
/// template functions.
bool may_set(std::string_view name) {
  const auto& taken = kServerTemplateVariables;
  return std::ranges::find(taken, name) == taken.end() && jinja::find_global(name) == nullptr &&
         !name.starts_with("__");
}

std::optional<Error> check_kwargs(const json::object& kwargs) {
  for (const auto& entry : kwargs) {
    const std::string_view name = entry.key();
    if (may_set(name)) continue;
    return Error{TextErrc::kBadTemplateKwarg,
                 jinja::concat({"chat_template_kwargs: '", name, "' is not allowed"})};
  }
  return std::nullopt;
}

/// The variables of one rendering, by name.
class Variables {
 public:
  explicit Variables(jinja::Run& run) : run_(run), dict_(run.memory()) {}

  void set(std::string_view name, const jinja::Value& value) {
    dict_.set(jinja::Text{name}, value);
  }
  void set_all(const json::object& object) {
    for (const auto& entry : object) set(entry.key(), jinja::from_json(run_, entry.value()));
  }
  void set_client(std::string_view name, const json::value& value) {
    set(name, jinja::from_client_json(run_, value));
  }
  void set_kwargs(const json::object& kwargs) {
    for (const auto& entry : kwargs) set_client(entry.key(), entry.value());
  }
  void set_messages(const json::array& messages) {
    jinja::ListBuilder list(run_);
    for (const json::value& message : messages) list.push(jinja::from_client_json(run_, message));
    set("messages", list.finish());
  }
  [[nodiscard]] const jinja::Dict& dict() const { return dict_; }

 private:
  jinja::Run& run_;
  jinja::Dict dict_;
};

Error failure_of(const jinja::Run& run, const std::string& name) {
  const bool located = run.failed_line() != 0;
  const std::string line = located ? std::to_string(run.failed_line()) : std::string();
  return Error{run.failure()->code,
               jinja::concat({name, located ? ":" : "", line, ": ", run.failure()->detail})};
}

/// Renders with the variables that `set(variables)` sets.
template <class Set>
Result<RenderedPrompt> render_with(const std::string& name, const jinja::ast::Block& block,
                                   std::chrono::local_seconds now, const TemplateLimits& limits,
                                   Set set) {
  jinja::Run run(limits, now);
  RenderedPrompt prompt;
  try {
    Variables variables(run);
    set(variables);
    jinja::Interpreter interpreter(run, variables.dict());
    prompt.text = interpreter.render(block);
    prompt.client.assign(interpreter.client().begin(), interpreter.client().end());
    prompt.generated.assign(interpreter.generated().begin(), interpreter.generated().end());
  } catch (const jinja::MemorySpent&) {
    run.fail_memory();
  }
  if (run.failed()) return failure_of(run, name);
  return prompt;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, std::string_view name) {
  if (!is_utf8(source)) {
    return Error{TextErrc::kBadTemplate, jinja::concat({name, ": it is not UTF-8"})};
  }
  auto block = jinja::parse(jinja::normalize_newlines(source));
  if (!block) return Error{block.error().code, jinja::concat({name, ":", block.error().detail})};
  return ChatTemplate(std::make_shared<const Parsed>(Parsed{std::string(name), std::move(*block)}));
}

Result<RenderedPrompt> ChatTemplate::render_prompt(const ChatTemplateInput& input,
                                                   std::chrono::local_seconds now,
                                                   const TemplateLimits& limits) const {
  if (auto error = check_kwargs(input.kwargs)) return std::move(*error);
  return render_with(parsed_->name, parsed_->block, now, limits, [&](Variables& variables) {
    variables.set_all(input.special_tokens);
    variables.set_client("documents", input.documents);
    variables.set_kwargs(input.kwargs);
    variables.set_messages(input.messages);
    variables.set_client("tools", input.tools);
    variables.set("add_generation_prompt", input.add_generation_prompt);
  });
}

Result<std::string> ChatTemplate::render(const ChatTemplateInput& input,
                                         std::chrono::local_seconds now,
                                         const TemplateLimits& limits) const {
  auto prompt = render_prompt(input, now, limits);
  if (!prompt) return prompt.error();
  return std::move(prompt->text);
}

Result<std::string> ChatTemplate::render(const json::object& variables,
                                         std::chrono::local_seconds now,
                                         const TemplateLimits& limits) const {
  auto prompt = render_with(parsed_->name, parsed_->block, now, limits,
                            [&](Variables& values) { values.set_all(variables); });
  if (!prompt) return prompt.error();
  return std::move(prompt->text);
}

const std::string& ChatTemplate::name() const noexcept { return parsed_->name; }

}  // namespace weft
