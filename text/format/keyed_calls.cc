#include <string>
#include <string_view>

#include "weft/text/format/call_reader.h"
#include "weft/text/format/json_span.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

/// Reads CallBody::kKeyed: each key of an object is a function, and its value is the arguments.
class KeyedCalls final : public CallReader {
 public:
  Step push(char c, CallSink& sink) override {
    switch (state_) {
      case State::kOuter:
        return push_outer(c);
      case State::kElement:
        return push_element(c);
      case State::kKey:
        return push_key(c);
      case State::kName:
        return push_name(c);
      case State::kColon:
        return push_colon(c);
      case State::kArguments:
        return push_arguments(c, sink);
      case State::kText:
        return push_text(c, sink);
    }
    return Step::kBroken;
  }

 private:
  enum class State : std::uint8_t { kOuter, kElement, kKey, kName, kColon, kArguments, kText };

  Step push_outer(char c) {
    if (is_markup_space(c)) return Step::kMore;
    state_ = State::kElement;
    list_ = c == '[';
    return list_ ? Step::kMore : push_element(c);
  }

  Step push_element(char c) {
    if (is_markup_space(c)) return Step::kMore;
    if (list_ && c == ',') return Step::kMore;
    if (list_ && c == ']') return Step::kDone;
    if (c != '{') return Step::kBroken;
    state_ = State::kKey;
    return Step::kMore;
  }

  Step push_key(char c) {
    if (is_markup_space(c) || c == ',') return Step::kMore;
    if (c == '"') {
      string_ = {};
      name_.clear();
      state_ = State::kName;
      return Step::kMore;
    }
    if (c != '}') return Step::kBroken;
    state_ = State::kElement;
    return list_ ? Step::kMore : Step::kDone;
  }

  Step push_name(char c) {
    if (string_.push(c, name_)) state_ = State::kColon;
    return name_.size() > CallSink::kMaxName ? Step::kBroken : Step::kMore;
  }

  Step push_colon(char c) {
    if (is_markup_space(c)) return Step::kMore;
    if (c != ':') return Step::kBroken;
    span_ = {};
    state_ = State::kArguments;
    return Step::kMore;
  }

  Step push_arguments(char c, CallSink& sink) {
    const JsonSpan::Step step = span_.push(c);
    if (!span_.started()) return Step::kMore;
    if (!sink.in_call()) {
      if ((c != '{' && c != '"') || !sink.begin(name_)) return Step::kBroken;
      if (c == '"') {  // the arguments are a text with JSON inside
        string_ = {};
        state_ = State::kText;
        return Step::kMore;
      }
    }
    if (step == JsonSpan::Step::kBroken) return Step::kBroken;
    sink.arguments({&c, 1});
    if (step == JsonSpan::Step::kLast) end_call(sink);
    return Step::kMore;
  }

  Step push_text(char c, CallSink& sink) {
    text_.clear();
    const bool ended = string_.push(c, text_);
    sink.arguments(text_);
    if (ended) end_call(sink);
    return Step::kMore;
  }

  void end_call(CallSink& sink) {
    sink.end();
    state_ = State::kKey;
  }

  State state_ = State::kOuter;
  bool list_ = false;
  JsonStringDecoder string_;
  std::string name_;
  std::string text_;
  JsonSpan span_;
};

}  // namespace

std::unique_ptr<CallReader> make_keyed_calls() { return std::make_unique<KeyedCalls>(); }

}  // namespace weft
