#include "weft/text/format/pair_value.h"

#include <utility>

#include "weft/text/format/argument_value.h"

namespace weft {
namespace {

// Schemas of tools do not nest as deep.
constexpr std::size_t kMaxPairNesting = 64;
// No number is as long; a longer bare value is a text, and is streamed.
constexpr std::size_t kMaxBareValue = 64;
// The most white space between a text and the character after it.
constexpr std::size_t kMaxTextSpaces = 64;

bool ends_pair_value(char c) { return c == ',' || c == '}' || c == ']'; }

}  // namespace

PairValue::PairValue(const CallSyntax& syntax, std::string_view function)
    : syntax_(syntax), function_(function) {}

PairValue::Step PairValue::push(char c, CallSink& sink) {
  switch (state_) {
    case State::kOpen:
      return open(c, sink);
    case State::kKey:
      return push_key(c, sink);
    case State::kBareKey:
      return push_bare_key(c, sink);
    case State::kColon:
      return push_colon(c);
    case State::kValue:
      return push_value(c, sink);
    case State::kTag:
      return push_tag(c, sink);
    case State::kText:
      return push_text(c, sink);
    case State::kAfterText:
      return push_after_text(c, sink);
    case State::kJsonText:
      return push_json_text(c, sink);
    case State::kBare:
      return push_bare(c, sink);
    case State::kAfter:
      return push_after(c, sink);
  }
  return Step::kBroken;
}

PairValue::Step PairValue::open(char c, CallSink& sink) {
  if (open_.size() == kMaxPairNesting) return Step::kBroken;
  open_.push_back(c == '{' ? '}' : ']');
  first_ = true;
  state_ = c == '{' ? State::kKey : State::kValue;
  sink.arguments({&c, 1});
  return Step::kMore;
}

PairValue::Step PairValue::close(char c, CallSink& sink) {
  if (open_.back() != c) return Step::kBroken;
  open_.pop_back();
  sink.arguments({&c, 1});
  first_ = false;
  state_ = State::kAfter;
  return open_.empty() ? Step::kLast : Step::kMore;
}

void PairValue::begin_item(CallSink& sink) {
  if (!first_) sink.arguments(", ");
  first_ = false;
}

PairValue::Step PairValue::push_key(char c, CallSink& sink) {
  if (is_markup_space(c) || c == ',') return Step::kMore;
  if (c == '}') return close(c, sink);
  is_key_ = true;
  word_.clear();
  if (c == syntax_.value_open.front()) {
    state_ = State::kTag;
    return push_tag(c, sink);
  }
  if (c == '"') {
    begin_text(State::kJsonText, sink);
    return Step::kMore;
  }
  state_ = State::kBareKey;
  return push_bare_key(c, sink);
}

PairValue::Step PairValue::push_bare_key(char c, CallSink& sink) {
  if (c == ':') {
    begin_item(sink);
    sink.arguments("\"");
    const std::string key(trimmed_markup(word_));
    key_.clear();
    write_text(key, sink);
    end_key(sink);
    state_ = State::kValue;
    return Step::kMore;
  }
  if (c == '}' || c == ']' || c == '{' || c == '<') return Step::kBroken;
  word_.push_back(c);
  return word_.size() > CallSink::kMaxName ? Step::kBroken : Step::kMore;
}

PairValue::Step PairValue::push_colon(char c) {
  if (is_markup_space(c)) return Step::kMore;
  if (c != ':') return Step::kBroken;
  state_ = State::kValue;
  return Step::kMore;
}

void PairValue::end_key(CallSink& sink) {
  sink.arguments("\": ");
  is_key_ = false;
}

PairValue::Step PairValue::push_value(char c, CallSink& sink) {
  if (is_markup_space(c) || (c == ',' && !in_object())) return Step::kMore;
  if (c == ']' && !in_object()) return close(c, sink);
  if (ends_pair_value(c)) return Step::kBroken;
  word_.clear();
  if (c == syntax_.value_open.front()) {
    state_ = State::kTag;
    return push_tag(c, sink);
  }
  if (!in_object()) begin_item(sink);
  if (c == '{' || c == '[') return open(c, sink);
  if (c == '"') {
    begin_text(State::kJsonText, sink);
    return Step::kMore;
  }
  state_ = State::kBare;
  bare_text_ = false;
  return push_bare(c, sink);
}

// Text that begins like the tag, but differs later, is a bare key or value.
PairValue::Step PairValue::push_tag(char c, CallSink& sink) {
  word_.push_back(c);
  if (word_ == syntax_.value_open) {
    if (!is_key_ && !in_object()) begin_item(sink);
    begin_text(State::kText, sink);
    scanner_.watch({syntax_.value_close});
    return Step::kMore;
  }
  if (std::string_view(syntax_.value_open).starts_with(word_)) return Step::kMore;
  if (is_key_) return Step::kBroken;
  if (!in_object()) begin_item(sink);
  state_ = State::kBare;
  bare_text_ = false;
  word_.pop_back();
  return push_bare(c, sink);
}

void PairValue::begin_text(State state, CallSink& sink) {
  if (is_key_) begin_item(sink);
  if (is_key_ && open_.size() == 1) key_.clear();
  sink.arguments("\"");
  string_ = {};
  word_.clear();
  state_ = state;
}

PairValue::Step PairValue::push_text(char c, CallSink& sink) {
  std::string_view one(&c, 1);
  const auto plain = [&](std::string_view run) { write_text(run, sink); };
  if (scanner_.scan(one, plain)) {
    word_.clear();
    state_ = State::kAfterText;
  }
  return Step::kMore;
}

PairValue::Step PairValue::push_after_text(char c, CallSink& sink) {
  if (is_markup_space(c) && word_.size() < kMaxTextSpaces) {
    word_.push_back(c);
    return Step::kMore;
  }
  if (ends_pair_value(c) || c == ':') {
    end_text(sink);
    return push(c, sink);
  }
  if (c == syntax_.value_close.front() && !is_key_) {  // the call's end, where its brackets are
                                                       // missing
    end_text(sink);
    while (!open_.empty()) static_cast<void>(close(open_.back(), sink));
    return Step::kBroken;
  }
  state_ = State::kText;
  write_text(syntax_.value_close, sink);
  write_text(std::exchange(word_, {}), sink);
  return push_text(c, sink);
}

void PairValue::end_text(CallSink& sink) {
  if (is_key_) {
    end_key(sink);
    state_ = State::kColon;
    return;
  }
  sink.arguments("\"");
  state_ = State::kAfter;
}

PairValue::Step PairValue::push_json_text(char c, CallSink& sink) {
  std::string decoded;
  const bool ended = string_.push(c, decoded);
  write_text(decoded, sink);
  if (ended) end_text(sink);
  return Step::kMore;
}

PairValue::Step PairValue::push_bare(char c, CallSink& sink) {
  if (ends_pair_value(c)) {
    end_bare(sink);
    state_ = State::kAfter;
    return push_after(c, sink);
  }
  word_.push_back(c);
  if (word_.size() <= kMaxBareValue && !bare_text_) return Step::kMore;
  if (!std::exchange(bare_text_, true)) sink.arguments("\"");
  write_text(std::exchange(word_, {}), sink);
  return Step::kMore;
}

void PairValue::end_bare(CallSink& sink) {
  if (bare_text_) return sink.arguments("\"");
  const std::string_view value = trimmed_markup(word_);
  const bool of_function = open_.size() == 1;
  ToolSchemas::Type type = ToolSchemas::Type::kOther;
  if (of_function && sink.tools().type_of(function_, key_) != ToolSchemas::Type::kUnknown) {
    type = sink.tools().type_of(function_, key_);
  }
  const std::string_view json = json_of_value(value, type);
  if (!json.empty()) return sink.arguments(json);
  sink.arguments("\"");
  write_text(value, sink);
  sink.arguments("\"");
}

PairValue::Step PairValue::push_after(char c, CallSink& sink) {
  if (is_markup_space(c)) return Step::kMore;
  if (c == '}' || c == ']') return close(c, sink);
  if (c != ',') return Step::kBroken;
  state_ = in_object() ? State::kKey : State::kValue;
  return Step::kMore;
}

void PairValue::write_text(std::string_view text, CallSink& sink) {
  if (is_key_ && open_.size() == 1) key_.append(text);
  escaped_.clear();
  append_json_escaped(text, escaped_);
  sink.arguments(escaped_);
}

}  // namespace weft
