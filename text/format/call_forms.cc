#include <memory>
#include <string_view>

#include "weft/text/format/call_reader.h"
#include "weft/text/format/tag_scanner.h"

// Chooses the reader of a call by its first byte.

namespace weft {
namespace {

const CallSyntax& json_form() {
  static const CallSyntax form = [] {
    CallSyntax made;
    made.body = CallBody::kJson;
    return made;
  }();
  return form;
}

/// `<function=NAME>`, written between Hermes' tags by models that were trained on both.
const CallSyntax& function_form() {
  static const CallSyntax form = [] {
    CallSyntax made;
    made.body = CallBody::kTagged;
    made.close = "</tool_call>";
    made.name_open = "<function=";
    made.name_close = ">";
    made.key_open = "<parameter=";
    made.key_close = ">";
    made.value_close = "</parameter>";
    made.body_close = "</function>";
    return made;
  }();
  return form;
}

/// The form that Mistral's newer models write behind the older models' tag.
const CallSyntax& mistral_form() {
  static const CallSyntax form = [] {
    CallSyntax made;
    made.body = CallBody::kNamed;
    made.name_close = "[ARGS]";
    made.name_suffix = "[CALL_ID]";
    return made;
  }();
  return form;
}

std::unique_ptr<CallReader> make_native(const CallSyntax& syntax) {
  switch (syntax.body) {
    case CallBody::kNone:
    case CallBody::kJson:
      break;
    case CallBody::kKeyed:
      return make_keyed_calls();
    case CallBody::kNamed:
      return make_named_call(syntax);
    case CallBody::kTagged:
      return make_tagged_call(syntax);
    case CallBody::kPairs:
      return make_pair_call(syntax);
    case CallBody::kPython:
      return make_python_calls(syntax);
  }
  return make_json_calls(syntax);
}

bool is_json(const CallSyntax& syntax) {
  return syntax.body == CallBody::kJson || syntax.body == CallBody::kKeyed;
}

/// Reads a call whose first byte tells its form.
class AnyForm final : public CallReader {
 public:
  explicit AnyForm(const CallSyntax& syntax) : syntax_(syntax) {}

  Step push(char c, CallSink& sink) override {
    if (reader_) return reader_->push(c, sink);
    if (is_markup_space(c)) return Step::kMore;
    // Python's list of calls and JSON's list of objects both begin with a bracket.
    if (c == '[' && syntax_.body == CallBody::kPython && !bracket_) {
      bracket_ = true;
      return Step::kMore;
    }
    reader_ = make_reader(c);
    if (bracket_) static_cast<void>(reader_->push('[', sink));
    return reader_->push(c, sink);
  }

  void finish(CallSink& sink) override {
    if (reader_) reader_->finish(sink);
  }

 private:
  [[nodiscard]] std::unique_ptr<CallReader> make_reader(char c) const {
    const bool begins_json = c == '{' || (c == '[' && !bracket_);
    if (begins_json && !is_json(syntax_)) return make_json_calls(json_form());
    if (!begins_json && syntax_.body == CallBody::kJson) {
      if (c == '<' && syntax_.open == "<tool_call>") return make_tagged_call(function_form());
      if (syntax_.open == "[TOOL_CALLS]") return make_named_call(mistral_form());
    }
    return make_native(syntax_);
  }

  const CallSyntax& syntax_;
  bool bracket_ = false;  // only a bracket has come so far
  std::unique_ptr<CallReader> reader_;
};

}  // namespace

std::unique_ptr<CallReader> make_call_reader(const CallSyntax& syntax) {
  // Without an opening tag, a text in another form is an answer.
  if (syntax.open.empty()) return make_native(syntax);
  return std::make_unique<AnyForm>(syntax);
}

}  // namespace weft
