#include "weft/actors/request/output_form.h"

#include <algorithm>
#include <boost/json/string.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/grammar/calls/answer_form.h"
#include "weft/grammar/grammar_error.h"
#include "weft/text/chat/final_message.h"
#include "weft/text/format/output_parser.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

using Mode = ToolChoice::Mode;

Error refused(std::string detail) { return {EngineErrc::kBadRequest, std::move(detail)}; }

/// The beginning of an output that is part of its prompt already.
struct Beginning {
  bool in_thought = false;  ///< the prompt has opened a thought
  std::string text{};       ///< text that the prompt has begun the output with
};

/// Returns the number of bytes that the ends of `prompt` and `text` have in common.
std::size_t shown_end(std::string_view prompt, std::string_view text) {
  std::size_t same = 0;
  while (same < std::min(prompt.size(), text.size()) &&
         prompt[prompt.size() - 1 - same] == text[text.size() - 1 - same]) {
    ++same;
  }
  return same;
}

std::string_view without_last_space(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \n\t\r\f\v") + 1);
}

/// Returns the text of the message that the output continues; empty if there is none.
std::string_view continued_text_of(const Request& request) {
  if (!request.continue_final_message || request.messages.empty()) return {};
  const auto* const last = request.messages.back().if_object();
  const boost::json::string* const text = last == nullptr ? nullptr : continued_text(*last);
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

// Finds out whether a thought is open where the model continues a message, from the text of the
// prompt's last tokens. A template may have trimmed the message's text, or printed only its end.
Beginning beginning_of(const Request& request, std::span<const TokenId> prompt,
                       const ServedModel& model) {
  constexpr std::size_t kTail = 32;
  const std::string_view said = continued_text_of(request);
  const auto tail = prompt.last(std::min(prompt.size(), kTail + said.size()));
  const auto text = model.tokenizer.decode(tail, /*skip_special=*/false);
  if (!text) return {};
  std::size_t shown = shown_end(*text, said);
  if (shown == 0) shown = shown_end(*text, without_last_space(said));
  const std::string_view before = std::string_view(*text).substr(0, text->size() - shown);
  Beginning beginning{.in_thought = ends_in_thought(before, model.format->format)};
  if (model.format->format.harmony && request.continue_final_message) {
    constexpr std::string_view kTurn = "<|start|>assistant";
    const std::size_t turn = before.rfind(kTurn);
    if (turn == std::string_view::npos) return beginning;
    beginning.text = before.substr(turn + kTurn.size());
  }
  beginning.text += std::string_view(*text).substr(text->size() - shown);
  return beginning;
}

/// Returns the name of the request's constraint in errors.
const std::string& name_of(const Request& request) {
  static const std::string choice = "tool_choice";
  return request.structured_output ? request.structured_output.name : choice;
}

// A choice that constrains has functions to choose from, and a family that writes calls.
Result<void> check_choice(const Request& request, const OutputForm& form) {
  const ToolChoice& choice = request.tool_choice;
  if (!choice.constrains()) return {};
  if (!request.typed_output) return refused("tool_choice: wants typed_output");
  if (ToolSchemas(request.tools).empty()) return refused("tool_choice: there are no tools");
  if (!form.parser.tools) {
    return refused("tool_choice: how this model writes calls is not known");
  }
  for (const auto* names : {&choice.only, &choice.strict}) {
    for (const std::string& name : *names) {
      if (!form.parser.tools->knows(name))
        return refused("tool_choice: '" + name + "' is not one of the tools");
    }
  }
  return {};
}

Result<void> check_sampling(const Request& request, const ServedModel& model) {
  const std::string& name = name_of(request);
  if (!model.tokenizer.exists()) return refused(name + ": " + to_string(no_tokenizer()));
  const SamplingParams& sampling = request.sampling;
  if (sampling.ignore_eos) return refused(name + ": not with ignore_eos, since it must end");
  if (end_tokens_of(sampling, model).empty()) {
    return refused(to_string(Error{GrammarErrc::kNoEndToken, name}));
  }
  return {};
}

Result<CompiledOutput> compile(const Request& request, const OutputForm& form,
                               const ServedModel& model) {
  const bool calls = request.tool_choice.constrains();
  if (!request.structured_output && !calls) return CompiledOutput();
  if (const auto checked = check_sampling(request, model); !checked) return checked.error();
  if (!form.format) return model.grammars.compile(request.structured_output);
  AnswerForm answer;
  answer.format = form.format.get();
  if (form.parser.tools) answer.tools = &request.tools;
  answer.choice = request.tool_choice;
  answer.one_call = form.parser.one_call;
  const OutputParser parser(std::shared_ptr<const OutputFormat>(form.format, &form.format->format),
                            form.parser);
  answer.in_thought = parser.thinks();
  answer.in_text = !form.parser.begun.empty() && !answer.in_thought;
  answer.answer = request.structured_output;
  return model.grammars.compile(answer);
}

bool may_use_up_budget(const Request& request) {
  const bool ends_before = request.max_tokens > 0 && request.max_tokens <= request.thinking_budget;
  return request.thinking_budget >= 0 && !ends_before;
}

// An output that is one text is not parsed.
OutputForm form_of(const Request& request, std::span<const TokenId> prompt,
                   const ServedModel& model) {
  OutputForm form;
  const OutputFormat& format = model.format->format;
  if (!request.typed_output || !format.any()) return form;
  form.format = model.format;
  const bool calls = format.harmony || format.calls.body != CallBody::kNone;
  if (!request.tools.is_null() && calls) {
    form.parser.tools = std::make_shared<const ToolSchemas>(request.tools);
    if (form.parser.tools->empty()) form.parser.tools = nullptr;
  }
  if (request.structured_output && !form.parser.tools && !format.harmony &&
      !format.thoughts.any()) {
    return {};  // the output is only an answer
  }
  Beginning beginning = beginning_of(request, prompt, model);
  form.parser.in_thought = beginning.in_thought;
  form.parser.begun = std::move(beginning.text);
  form.parser.one_call = !request.parallel_tool_calls;
  form.parser.whole_answer = static_cast<bool>(request.structured_output);
  return form;
}

}  // namespace

std::vector<TokenId> end_tokens_of(const SamplingParams& sampling, const ServedModel& model) {
  std::vector<TokenId> ends = sampling.stop_tokens;
  if (!sampling.ignore_eos)
    ends.insert(ends.end(), model.end_tokens.begin(), model.end_tokens.end());
  return sorted_once(std::move(ends));
}

Result<OutputForm> constrain_output(Request& request, std::span<const TokenId> prompt,
                                    const ServedModel& model) {
  OutputForm form = form_of(request, prompt, model);
  if (const auto checked = check_choice(request, form); !checked) return checked.error();
  auto compiled = compile(request, form, model);
  if (!compiled) {
    if (compiled.error().code == GrammarErrc::kNoRoom) {
      return Error{EngineErrc::kGrammarsFull, to_string(compiled.error())};
    }
    const bool is_told = compiled.error().code == EngineErrc::kBadRequest;
    return is_told ? compiled.error() : refused(to_string(compiled.error()));
  }
  form.not_enforced = std::move(compiled->not_enforced);
  std::shared_ptr<const TokenConstraint> constraint = std::move(compiled->constraint);
  if (form.format && may_use_up_budget(request)) {
    const OutputParser parser(
        std::shared_ptr<const OutputFormat>(form.format, &form.format->format), form.parser);
    auto bounded = model.grammars.bound_thoughts(std::move(constraint), *form.format,
                                                 parser.thinks(), request.thinking_budget);
    if (!bounded) return refused("thinking_budget: " + to_string(bounded.error()));
    constraint = *std::move(bounded);
  }
  if (!constraint) return form;
  if (request.sampling.constraint) {
    return refused(name_of(request) + ": sampling has a constraint of its own");
  }
  request.sampling.constraint = std::move(constraint);
  return form;
}

}  // namespace weft
