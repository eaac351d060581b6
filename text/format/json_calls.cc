#include <string>
#include <string_view>

#include "weft/text/format/call_reader.h"
#include "weft/text/format/json_span.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

/// Reads CallBody::kJson. Arguments that precede the name are held back until the name is known;
/// the caller bounds their length.
class JsonCalls final : public CallReader {
 public:
  explicit JsonCalls(const CallSyntax& syntax) : syntax_(syntax) {}

  Step push(char c, CallSink& sink) override {
    switch (state_) {
      case State::kOuter:
        return push_outer(c);
      case State::kElement:
        return push_element(c);
      case State::kKey:
        return push_key(c, sink);
      case State::kKeyText:
        return push_key_text(c);
      case State::kColon:
        return push_colon(c);
      case State::kValue:
        return push_value_start(c, sink);
      case State::kName:
        return push_name(c, sink);
      case State::kArgumentText:
        return push_argument_text(c, sink);
      case State::kArguments:
      case State::kOther:
        return push_span(c, sink);
    }
    return Step::kBroken;
  }

  void finish(CallSink& sink) override {
    if (sink.in_call() && has_arguments_ && state_ == State::kKey) sink.end();
  }

 private:
  enum class State : std::uint8_t {
    kOuter,
    kElement,
    kKey,
    kKeyText,
    kColon,
    kValue,
    kName,
    kArgumentText,
    kArguments,
    kOther,
  };

  Step push_outer(char c) {
    if (is_markup_space(c)) return Step::kMore;
    if (c == '[') {
      list_ = true;
      state_ = State::kElement;
      return Step::kMore;
    }
    return push_element(c);
  }

  Step push_element(char c) {
    if (is_markup_space(c)) return Step::kMore;
    if (list_ && c == ',') return Step::kMore;
    if (list_ && c == ']') return Step::kDone;
    if (c != '{') return Step::kBroken;
    state_ = State::kKey;
    nested_ = 0;
    named_ = has_arguments_ = false;
    held_.clear();
    return Step::kMore;
  }

  Step push_key(char c, CallSink& sink) {
    if (is_markup_space(c) || c == ',') return Step::kMore;
    if (c == '"') {
      begin_text(State::kKeyText);
      return Step::kMore;
    }
    if (c != '}') return Step::kBroken;
    if (nested_ > 0) {
      --nested_;
      return Step::kMore;
    }
    if (!named_) return Step::kBroken;
    if (!has_arguments_) sink.arguments("{}");
    sink.end();
    state_ = State::kElement;
    return list_ ? Step::kMore : Step::kDone;
  }

  Step push_key_text(char c) {
    if (string_.push(c, text_)) state_ = State::kColon;
    return text_.size() > CallSink::kMaxName ? Step::kBroken : Step::kMore;
  }

  Step push_colon(char c) {
    if (is_markup_space(c)) return Step::kMore;
    if (c != ':') return Step::kBroken;
    state_ = State::kValue;
    return Step::kMore;
  }

  Step push_value_start(char c, CallSink& sink) {
    if (is_markup_space(c)) return Step::kMore;
    const bool text = c == '"';
    if (text && !named_ && is_name_key()) {
      begin_text(State::kName);
      return Step::kMore;
    }
    if (c == '{' && nested_ == 0 && text_ == "function") {  // the form of calls in OpenAI's API
      ++nested_;
      state_ = State::kKey;
      return Step::kMore;
    }
    const bool arguments = !has_arguments_ && is_arguments_key();
    if (arguments && text) {
      begin_text(State::kArgumentText);
      return Step::kMore;
    }
    span_ = {};
    state_ = arguments && (c == '{' || c == '[') ? State::kArguments : State::kOther;
    return push_span(c, sink);
  }

  Step push_name(char c, CallSink& sink) {
    const bool ended = string_.push(c, text_);
    if (text_.size() > CallSink::kMaxName) return Step::kBroken;
    if (!ended) return Step::kMore;
    if (!sink.begin(text_)) return Step::kBroken;
    named_ = true;
    sink.arguments(held_);
    held_.clear();
    state_ = State::kKey;
    return Step::kMore;
  }

  // Some models write the arguments as a text that contains JSON.
  Step push_argument_text(char c, CallSink& sink) {
    text_.clear();
    const bool ended = string_.push(c, text_);
    give(text_, sink);
    if (ended) end_arguments();
    return Step::kMore;
  }

  Step push_span(char c, CallSink& sink) {
    const JsonSpan::Step step = span_.push(c);
    if (step == JsonSpan::Step::kBroken) return Step::kBroken;
    if (step == JsonSpan::Step::kAfter) {
      state_ = State::kKey;
      return push_key(c, sink);
    }
    if (state_ == State::kArguments) give({&c, 1}, sink);
    if (step == JsonSpan::Step::kLast) {
      if (state_ == State::kArguments) return end_arguments();
      state_ = State::kKey;
    }
    return Step::kMore;
  }

  Step end_arguments() {
    has_arguments_ = true;
    state_ = State::kKey;
    return Step::kMore;
  }

  void give(std::string_view text, CallSink& sink) {
    if (named_) return sink.arguments(text);
    held_.append(text);
  }

  void begin_text(State state) {
    string_ = {};
    text_.clear();
    state_ = state;
  }

  [[nodiscard]] bool is_name_key() const {
    return text_ == syntax_.name_key || text_ == "name" || text_ == "function";
  }
  [[nodiscard]] bool is_arguments_key() const {
    return text_ == syntax_.arguments_key || text_ == "arguments" || text_ == "parameters";
  }

  const CallSyntax& syntax_;
  State state_ = State::kOuter;
  bool list_ = false;
  int nested_ = 0;  // 1 inside "function"
  bool named_ = false;
  bool has_arguments_ = false;
  JsonStringDecoder string_;
  std::string text_;  // text of the key, or of the name
  JsonSpan span_;
  std::string held_;  // arguments that came before the name
};

}  // namespace

std::unique_ptr<CallReader> make_json_calls(const CallSyntax& syntax) {
  return std::make_unique<JsonCalls>(syntax);
}

}  // namespace weft
