#include <string>

#include "weft/text/format/call_reader.h"
#include "weft/text/format/json_span.h"
#include "weft/text/format/python_literal.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

bool is_identifier(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-' || c == '.';
}

/// Reads CallBody::kPython: [f(a="x", b=[1, 2]), g()], or without the brackets where each call is
/// on its own line. A call is passed on once a parenthesis and a key, or a closing parenthesis,
/// have come, so that an expression which looks like a call does not become one.
class PythonCalls final : public CallReader {
 public:
  explicit PythonCalls(const CallSyntax& syntax) : syntax_(syntax) {}

  Step push(char c, CallSink& sink) override {
    switch (state_) {
      case State::kOuter:
        return push_outer(c);
      case State::kName:
        return push_name(c);
      case State::kKey:
        return push_key(c, sink);
      case State::kValue:
        return push_value(c, sink);
      case State::kAfterValue:
        return push_after_value(c, sink);
    }
    return Step::kBroken;
  }

 private:
  enum class State : std::uint8_t { kOuter, kName, kKey, kValue, kAfterValue };

  Step push_outer(char c) {
    if (is_markup_space(c)) return Step::kMore;
    state_ = State::kName;
    bracketed_ = c == '[';
    if (bracketed_) return Step::kMore;
    return syntax_.by_line ? push_name(c) : Step::kBroken;
  }

  Step push_name(char c) {
    if (name_.empty() && (is_markup_space(c) || (c == ',' && !first_))) return Step::kMore;
    if (name_.empty() && !first_) {
      if (bracketed_ && c == ']') return Step::kDone;
      if (!bracketed_ && !is_identifier(c)) return Step::kDoneBefore;
    }
    if (is_identifier(c)) {
      name_.push_back(c);
      return name_.size() > CallSink::kMaxName ? Step::kBroken : Step::kMore;
    }
    if (c != '(' || name_.empty()) return Step::kBroken;
    state_ = State::kKey;
    return Step::kMore;
  }

  Step push_key(char c, CallSink& sink) {
    if (is_markup_space(c)) return Step::kMore;
    if (c == ')' && key_.empty()) return end_call(sink);
    if (is_identifier(c)) {
      key_.push_back(c);
      return key_.size() > CallSink::kMaxName ? Step::kBroken : Step::kMore;
    }
    if (c != '=' || key_.empty()) return Step::kBroken;
    const bool begins = !sink.in_call();
    if (begins && !sink.begin(name_)) return Step::kBroken;
    json_ = begins ? "{\"" : ", \"";
    append_json_escaped(key_, json_);
    json_.append("\": ");
    sink.arguments(json_);
    key_.clear();
    literal_ = {};
    state_ = State::kValue;
    return Step::kMore;
  }

  Step push_value(char c, CallSink& sink) {
    json_.clear();
    const PythonLiteral::Step step = literal_.push(c, json_);
    sink.arguments(json_);
    switch (step) {
      case PythonLiteral::Step::kMore:
        return Step::kMore;
      case PythonLiteral::Step::kLast:
        state_ = State::kAfterValue;
        return Step::kMore;
      case PythonLiteral::Step::kAfter:
        state_ = State::kAfterValue;
        return push_after_value(c, sink);
      case PythonLiteral::Step::kBroken:
        break;
    }
    return Step::kBroken;
  }

  Step push_after_value(char c, CallSink& sink) {
    if (is_markup_space(c)) return Step::kMore;
    if (c == ')') return end_call(sink);
    if (c != ',') return Step::kBroken;
    state_ = State::kKey;
    return Step::kMore;
  }

  Step end_call(CallSink& sink) {
    const bool empty = !sink.in_call();
    if (empty && !sink.begin(name_)) return Step::kBroken;
    sink.arguments(empty ? "{}" : "}");
    sink.end();
    name_.clear();
    first_ = false;
    state_ = State::kName;
    return Step::kMore;
  }

  const CallSyntax& syntax_;
  State state_ = State::kOuter;
  bool bracketed_ = false;
  bool first_ = true;  // no call has come yet
  std::string name_;
  std::string key_;
  std::string json_;  // JSON that is about to be passed on
  PythonLiteral literal_;
};

}  // namespace

std::unique_ptr<CallReader> make_python_calls(const CallSyntax& syntax) {
  return std::make_unique<PythonCalls>(syntax);
}

}  // namespace weft
