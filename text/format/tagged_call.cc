#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "weft/text/format/call_reader.h"
#include "weft/text/format/json_span.h"
#include "weft/text/format/tag_scanner.h"
#include "weft/text/json/json_text.h"

namespace weft {
namespace {

// A value that is to be JSON is held back until it is whole; a longer one is a text. Numbers and
// flags are short; lists and objects of this size are rare, and texts are streamed.
constexpr std::size_t kMaxHeldValue = std::size_t{64} << 10;

constexpr std::size_t kMaxValueDepth = 32;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_markup_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_markup_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Returns the JSON that a value without quotes stands for; empty: it is a text.
std::string_view json_of(std::string_view value, ToolSchemas::Type type) {
  if (type == ToolSchemas::Type::kOther) {
    if (value == "True") return "true";
    if (value == "False") return "false";
    if (value == "None") return "null";
  }
  std::string problem;
  static_cast<void>(parse_json(value, kMaxValueDepth, problem));
  return problem.empty() ? value : std::string_view{};
}

/// Writes one argument as JSON while its value comes.
class ArgumentValue {
 public:
  void begin(ToolSchemas::Type type, bool lines) {
    type_ = type;
    lines_ = lines;
    first_ = lines;
    line_end_ = false;
    held_.clear();
    streams_ = type == ToolSchemas::Type::kText;
    quoted_ = false;
  }

  void add(std::string_view run, CallSink& sink) {
    if (streams_) return add_text(run, sink);
    held_.append(run);
    if (held_.size() <= kMaxHeldValue) return;
    streams_ = true;
    add_text(held_, sink);
    held_.clear();
  }

  void end(CallSink& sink) {
    if (!streams_) {
      const std::string_view json = json_of(trimmed(held_), type_);
      if (!json.empty()) return sink.arguments(json);
      add_text(held_, sink);
    }
    quote(sink);
    if (line_end_ && !lines_) write("\n", sink);
    sink.arguments("\"");
  }

 private:
  // Where values stand on lines of their own, the first and the last line's end are not of them.
  void add_text(std::string_view run, CallSink& sink) {
    quote(sink);
    if (first_ && !run.empty()) {
      first_ = false;
      if (run.front() == '\n') run.remove_prefix(1);
    }
    if (run.empty()) return;
    if (line_end_) write("\n", sink);
    line_end_ = run.back() == '\n';
    if (line_end_) run.remove_suffix(1);
    write(run, sink);
  }

  void quote(CallSink& sink) {
    if (!quoted_) sink.arguments("\"");
    quoted_ = true;
  }

  void write(std::string_view text, CallSink& sink) {
    escaped_.clear();
    append_json_escaped(text, escaped_);
    sink.arguments(escaped_);
  }

  ToolSchemas::Type type_ = ToolSchemas::Type::kUnknown;
  bool lines_ = false;
  bool first_ = false;     // nothing of the value has come
  bool line_end_ = false;  // which may be the last one
  bool streams_ = false;
  bool quoted_ = false;
  std::string held_;
  std::string escaped_;
};

/// Reads CallBody::kTagged, and writes the arguments as JSON.
class TaggedCall final : public CallReader {
 public:
  explicit TaggedCall(const CallSyntax& syntax) : syntax_(syntax) {}

  Step push(char c, CallSink& sink) override {
    switch (state_) {
      case State::kNameOpen:
        return push_tag(syntax_.name_open, State::kName, c, sink);
      case State::kName:
        return push_name(c, sink);
      case State::kBetween:
        return push_between(c, sink);
      case State::kKey:
        return push_key(c);
      case State::kValueOpen:
        return push_tag(syntax_.value_open, State::kValue, c, sink);
      case State::kValue:
        return push_value(c, sink);
    }
    return Step::kBroken;
  }

 private:
  enum class State : std::uint8_t { kNameOpen, kName, kBetween, kKey, kValueOpen, kValue };

  /// Reads a tag that has to come, after white space.
  Step push_tag(std::string_view tag, State next, char c, CallSink& sink) {
    if (word_.empty() && is_markup_space(c) && !tag.empty()) return Step::kMore;
    if (word_.size() == tag.size()) {  // it is empty
      enter(next);
      return push(c, sink);
    }
    if (tag[word_.size()] != c) return Step::kBroken;
    word_.push_back(c);
    if (word_ == tag) enter(next);
    return Step::kMore;
  }

  // What ends the name may be missing where a key or the end follows at once.
  Step push_name(char c, CallSink& sink) {
    if (word_.empty() && is_markup_space(c)) return Step::kMore;
    word_.push_back(c);
    if (word_.size() > 2 * CallSink::kMaxName) return Step::kBroken;
    std::string_view end = syntax_.name_close;
    if (!word_.ends_with(end)) end = syntax_.key_open;
    if (!word_.ends_with(end)) end = syntax_.body_close;
    if (!word_.ends_with(end)) return Step::kMore;
    name_ = trimmed(std::string_view(word_).substr(0, word_.size() - end.size()));
    if (!sink.begin(name_)) return Step::kBroken;
    if (end == syntax_.body_close) return end_call(sink);
    enter(end == syntax_.key_open ? State::kKey : State::kBetween);
    return Step::kMore;
  }

  Step push_between(char c, CallSink& sink) {
    if (word_.empty() && is_markup_space(c)) return Step::kMore;
    word_.push_back(c);
    if (word_ == syntax_.key_open) {
      enter(State::kKey);
    } else if (word_ == syntax_.body_close) {
      return end_call(sink);
    } else if (!syntax_.key_open.starts_with(word_) && !syntax_.body_close.starts_with(word_)) {
      close_object(sink);
      return Step::kBroken;
    }
    return Step::kMore;
  }

  Step push_key(char c) {
    word_.push_back(c);
    if (word_.size() > 2 * CallSink::kMaxName) return Step::kBroken;
    if (!word_.ends_with(syntax_.key_close)) return Step::kMore;
    word_.resize(word_.size() - syntax_.key_close.size());
    key_ = trimmed(word_);
    enter(State::kValueOpen);
    if (syntax_.value_open.empty()) enter(State::kValue);
    return Step::kMore;
  }

  Step push_value(char c, CallSink& sink) {
    if (!in_value_) begin_value(sink);
    std::string_view one(&c, 1);
    const auto plain = [&](std::string_view run) { value_.add(run, sink); };
    if (!scanner_.scan(one, plain)) return Step::kMore;
    value_.end(sink);
    in_value_ = false;
    enter(State::kBetween);
    return Step::kMore;
  }

  void begin_value(CallSink& sink) {
    in_value_ = true;
    std::string head = first_ ? "{\"" : ", \"";
    first_ = false;
    append_json_escaped(key_, head);
    head.append("\": ");
    sink.arguments(head);
    value_.begin(sink.tools().type_of(name_, key_), syntax_.value_open.empty());
    scanner_.watch({syntax_.value_close});
  }

  void close_object(CallSink& sink) const { sink.arguments(first_ ? "{}" : "}"); }

  Step end_call(CallSink& sink) {
    close_object(sink);
    sink.end();
    return Step::kDone;
  }

  void enter(State state) {
    state_ = state;
    word_.clear();
  }

  const CallSyntax& syntax_;
  State state_ = State::kNameOpen;
  std::string word_;  // what has come of a tag, a name or a key
  std::string name_;
  std::string key_;
  bool first_ = true;  // no argument has come
  bool in_value_ = false;
  ArgumentValue value_;
  TagScanner scanner_;
};

}  // namespace

std::unique_ptr<CallReader> make_tagged_call(const CallSyntax& syntax) {
  return std::make_unique<TaggedCall>(syntax);
}

}  // namespace weft
