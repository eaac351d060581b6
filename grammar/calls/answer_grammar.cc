#include "weft/grammar/calls/answer_grammar.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "weft/grammar/calls/call_writer.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/grammar_builder.h"
#include "weft/grammar/grammar_error.h"
#include "weft/grammar/structured_part.h"

namespace weft::grammar {
namespace {

using Part = GrammarBuilder::Part;
using Mode = ToolChoice::Mode;

bool has_name(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Returns the functions that may be called; skips entries of another form.
std::vector<CallableTool> tools_of(const AnswerForm& form) {
  std::vector<CallableTool> tools;
  const auto* const list = form.tools == nullptr ? nullptr : form.tools->if_array();
  if (list == nullptr) return tools;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto* const tool = (*list)[i].if_object();
    const auto* const entry = tool == nullptr ? nullptr : tool->if_contains("function");
    const auto* const function = entry == nullptr ? nullptr : entry->if_object();
    const auto* const name = function == nullptr ? nullptr : function->if_contains("name");
    if (name == nullptr || !name->is_string()) continue;
    const std::string text(name->get_string());
    if (!form.choice.only.empty() && !has_name(form.choice.only, text)) continue;
    tools.push_back(
        {text, function->if_contains("parameters"),
         form.choice.mode == Mode::kRequired || has_name(form.choice.strict, text),
         form.choice.schema_place(i),
         has_name(form.choice.strict, text) ? Strictness::kStrict : Strictness::kLenient});
  }
  return tools;
}

class AnswerBuilder {
 public:
  AnswerBuilder(const AnswerForm& form, std::span<const std::string> special)
      : form_(form),
        format_(form.format->format),
        writer_(builder_, format_, special),
        tools_(tools_of(form)) {}

  Result<std::shared_ptr<const Grammar>> build() && {
    const auto all = format_.harmony ? harmony() : thoughts_and(body());
    if (!all) return all.error();
    return std::move(builder_).finish(*all);
  }

 private:
  Result<Part> thoughts_and(Result<Part> rest) {
    if (!rest || !format_.thoughts.any() || form_.in_text) return rest;
    const Part close = builder_.sequence({writer_.markup(format_.thoughts.close), writer_.space()});
    Part end = builder_.sequence({thought_text(), close, *rest});
    // In some families a call ends thoughts that are open.
    if (from_call_) end = builder_.any_of({end, builder_.sequence({thought_text(), *from_call_})});
    if (form_.in_thought) return end;
    const Part open = builder_.sequence({writer_.space(), writer_.markup(format_.thoughts.open)});
    return builder_.any_of({builder_.sequence({open, end}), *rest});
  }

  Part thought_text() {
    std::vector<std::string> ends{format_.thoughts.close};
    if (from_call_) ends.push_back(format_.calls.open);
    return builder_.text_without(ends);
  }

  /// Returns the part after the thoughts.
  Result<Part> body() {
    if (tools_.empty()) return answer();
    const bool one = form_.one_call;
    auto calls = writer_.calls(tools_, one);
    if (!calls) return calls;
    if (format_.thoughts.ended_by_call) from_call_ = *calls;
    if (form_.choice.mode == Mode::kRequired) return calls;
    if (!form_.answer) {
      const Part text = writer_.text_without_calls();
      if (format_.calls.open.empty()) return builder_.any_of({text, *calls});
      const Part more = builder_.sequence({*calls, text});
      const Part several = builder_.repeat(more, 0, one ? 1 : GrammarBuilder::kNoBound);
      if (from_call_) from_call_ = one ? more : builder_.sequence({more, several});
      return builder_.sequence({text, several});
    }
    if (format_.calls.open.empty()) {
      return Error{GrammarErrc::kUnsupportedSchema,
                   form_.answer.name + ": beside tools, of a model whose calls no tag begins"};
    }
    auto said = answer();
    if (!said) return said;
    return builder_.any_of({*said, *calls});
  }

  /// Returns the answer itself, in its tag.
  Result<Part> answer() {
    auto part = structured_part(builder_, form_.answer);
    if (!part || format_.answer_open.empty()) return part;
    const Part open = builder_.sequence({writer_.markup(format_.answer_open), writer_.space()});
    return builder_.sequence({builder_.optional(open), *part});
  }

  Part harmony_message(std::string_view channel, Part text) {
    return builder_.sequence({writer_.markup("<|channel|>"), builder_.literal(channel),
                              writer_.markup("<|message|>"), text});
  }

  /// Returns the rest of a message that the prompt has begun, then the call, if one is required.
  Result<Part> rest_of_message(Part text) {
    std::vector<Part> ends;
    if (!tools_.empty()) {
      auto call = writer_.harmony_call(tools_);
      if (!call) return call;
      ends.push_back(
          builder_.sequence({text, writer_.markup("<|end|>"), writer_.markup("<|start|>"),
                             builder_.literal("assistant"), *call}));
    }
    if (form_.choice.mode != Mode::kRequired || tools_.empty()) {
      auto said = form_.answer ? structured_part(builder_, form_.answer) : Result<Part>(text);
      if (!said) return said;
      ends.push_back(*said);
    }
    return builder_.any_of(ends);
  }

  /// Returns harmony's output: messages without a receiver, then a call or an answer.
  Result<Part> harmony() {
    std::vector<std::string> tags(kHarmonyTags.begin(), kHarmonyTags.end());
    const Part text = builder_.text_without(tags);
    if (form_.in_text) return rest_of_message(text);
    std::vector<Part> remarks{harmony_message("analysis", text)};
    if (!tools_.empty()) remarks.push_back(harmony_message("commentary", text));
    const Part before = builder_.repeat(
        builder_.sequence({builder_.any_of(remarks), writer_.markup("<|end|>"),
                           writer_.markup("<|start|>"), builder_.literal("assistant")}),
        0, defaults::kMaxHarmonyMessages);
    std::vector<Part> ends;
    if (!tools_.empty()) {
      auto call = writer_.harmony_call(tools_);
      if (!call) return call;
      ends.push_back(*call);
    }
    if (form_.choice.mode != Mode::kRequired || tools_.empty()) {
      auto said = form_.answer ? structured_part(builder_, form_.answer) : Result<Part>(text);
      if (!said) return said;
      ends.push_back(harmony_message("final", *said));
    }
    const Part all = builder_.sequence({before, builder_.any_of(ends)});
    if (!form_.in_thought) return all;
    return builder_.sequence({text, writer_.markup("<|end|>"), writer_.markup("<|start|>"),
                              builder_.literal("assistant"), all});
  }

  const AnswerForm& form_;
  const OutputFormat& format_;
  GrammarBuilder builder_;
  CallWriter writer_;
  const std::vector<CallableTool> tools_;
  std::optional<Part> from_call_;  ///< the grammar from a call on, used where a call may end
                                   ///< thoughts
};

void add_names(std::string& key, const std::vector<std::string>& names) {
  for (const std::string& name : names) key += std::to_string(name.size()) + ':' + name;
  key += '\n';
}

}  // namespace

Result<std::shared_ptr<const Grammar>> answer_grammar(const AnswerForm& form,
                                                      std::span<const std::string> special) {
  return AnswerBuilder(form, special).build();
}

std::string key_of(const AnswerForm& form) {
  const std::string answer = key_of(form.answer);
  if (answer.empty()) return {};
  std::string key = "calls";
  key += form.choice.mode == Mode::kRequired ? 'r' : 'a';
  key += form.one_call ? '1' : 'n';
  key += form.in_thought ? 't' : (form.in_text ? 'x' : 'b');
  key += form.choice.schema_name + '\n';
  for (const std::string& place : form.choice.places) key += place + '\n';
  add_names(key, form.choice.only);
  add_names(key, form.choice.strict);
  if (form.tools != nullptr) key += boost::json::serialize(*form.tools);
  key += '\n';
  return key + answer;
}

}  // namespace weft::grammar
