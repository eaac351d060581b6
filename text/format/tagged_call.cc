#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "weft/text/format/argument_value.h"
#include "weft/text/format/call_reader.h"
#include "weft/text/format/json_span.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

// The most white space between the end of a value and the tag that must follow; more than any
// template writes.
constexpr std::size_t kMaxValueSpaces = 64;
// The most bytes between the end of a value and the next tag, where the outer tag comes between.
constexpr std::size_t kMaxHeldEnd = 256;

/// Reads CallBody::kTagged, and writes the arguments as JSON. A value may contain the text of its
/// closing tag: it ends only where the next key or the end of the call follows.
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
      case State::kValueEnd:
        return push_value_end(c, sink);
      case State::kOuterEnd:
        return push_outer_end(c, sink);
    }
    return Step::kBroken;
  }

  // A tag follows each value, so a partial tag at the end of an output is dropped as a tag.
  void finish(CallSink& sink) override {
    if (state_ == State::kValueEnd) value_.end(sink);
    if (state_ == State::kOuterEnd) {
      end_value(sink);
      static_cast<void>(end_call(sink));
    }
    if (state_ != State::kValue || !in_value_) return;
    scanner_.flush([&](std::string_view held) {
      if (held.size() == 1) value_.add(held, sink);
    });
    value_.cut(sink);
  }

 private:
  enum class State : std::uint8_t {
    kNameOpen,
    kName,
    kBetween,
    kKey,
    kValueOpen,
    kValue,
    kValueEnd,  ///< after a tag that ends values, unless neither a key nor the call's end follows
    kOuterEnd,  ///< after that tag and the outer tag, unless other text than a tag follows
  };

  /// Reads a tag that must come, after optional white space.
  Step push_tag(std::string_view tag, State next, char c, CallSink& sink) {
    if (word_.empty() && is_markup_space(c) && !tag.empty()) return Step::kMore;
    if (word_.size() == tag.size()) {  // the tag is empty
      enter(next);
      return push(c, sink);
    }
    if (tag[word_.size()] != c) return Step::kBroken;
    word_.push_back(c);
    if (word_ == tag) enter(next);
    return Step::kMore;
  }

  // The text that ends the name may be missing where a key or the end follows at once.
  Step push_name(char c, CallSink& sink) {
    if (word_.empty() && is_markup_space(c)) return Step::kMore;
    word_.push_back(c);
    if (word_.size() > 2 * CallSink::kMaxName) return Step::kBroken;
    std::string_view end = syntax_.name_close;
    if (!word_.ends_with(end)) end = syntax_.key_open;
    if (!word_.ends_with(end)) end = syntax_.body_close;
    if (!word_.ends_with(end)) return Step::kMore;
    name_ = trimmed_markup(std::string_view(word_).substr(0, word_.size() - end.size()));
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
    } else if (ends_call(word_)) {
      return end_call(sink);
    } else if (!begins_tag(word_)) {
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
    std::string_view key = word_;
    said_type_ = ToolSchemas::Type::kUnknown;
    const std::size_t mark =
        syntax_.type_mark.empty() ? std::string_view::npos : key.find(syntax_.type_mark);
    if (mark != std::string_view::npos) {
      const bool is_text = key.substr(mark + syntax_.type_mark.size()).starts_with("true");
      said_type_ = is_text ? ToolSchemas::Type::kText : ToolSchemas::Type::kOther;
      key = key.substr(0, mark);
    }
    key_ = trimmed_markup(key);
    enter(State::kValueOpen);
    if (syntax_.value_open.empty()) enter(State::kValue);
    return Step::kMore;
  }

  Step push_value(char c, CallSink& sink) {
    if (!in_value_) begin_value(sink);
    std::string_view one(&c, 1);
    const auto plain = [&](std::string_view run) { value_.add(run, sink); };
    if (scanner_.scan(one, plain)) enter(State::kValueEnd);
    return Step::kMore;
  }

  Step push_value_end(char c, CallSink& sink) {
    word_.push_back(c);
    const std::size_t spaces =
        // the number of spaces at the beginning
        std::min(word_.find_first_not_of(" \n\t\r"), word_.size());
    const std::string_view tag = std::string_view(word_).substr(spaces);
    if (tag == syntax_.key_open) {
      end_value(sink);
      enter(State::kKey);
      return Step::kMore;
    }
    if (tag == syntax_.body_close) {
      end_value(sink);
      return end_call(sink);
    }
    if (ends_call(tag)) {
      state_ = State::kOuterEnd;
      return Step::kMore;
    }
    if (begins_tag(tag) && spaces <= kMaxValueSpaces) return Step::kMore;
    return go_on_with_value(sink);
  }

  // Some models forget the tag that ends the body.
  Step push_outer_end(char c, CallSink& sink) {
    if (c == '<') {
      end_value(sink);
      static_cast<void>(end_call(sink));
      return Step::kDoneBefore;
    }
    word_.push_back(c);
    const bool goes_on = !is_markup_space(c) || word_.size() > kMaxHeldEnd;
    return goes_on ? go_on_with_value(sink) : Step::kMore;
  }

  /// A tag that did not end the value is part of the value.
  Step go_on_with_value(CallSink& sink) {
    const std::string text = std::exchange(word_, {});
    state_ = State::kValue;
    value_.add(syntax_.value_close, sink);
    Step step = Step::kMore;
    for (const char c : text) step = push(c, sink);
    return step;
  }

  void begin_value(CallSink& sink) {
    in_value_ = true;
    std::string head = first_ ? "{\"" : ", \"";
    first_ = false;
    append_json_escaped(key_, head);
    head.append("\": ");
    sink.arguments(head);
    const bool is_said = said_type_ != ToolSchemas::Type::kUnknown;
    value_.begin(is_said ? said_type_ : sink.tools().type_of(name_, key_),
                 syntax_.value_open.empty() && !syntax_.inline_values);
    scanner_.watch({syntax_.value_close});
  }

  void end_value(CallSink& sink) {
    value_.end(sink);
    in_value_ = false;
  }

  /// Some models forget the tag that ends a body, and write the outer tag.
  [[nodiscard]] bool ends_call(std::string_view tag) const {
    return tag == syntax_.body_close || (!syntax_.close.empty() && tag == syntax_.close);
  }
  [[nodiscard]] bool begins_tag(std::string_view begin) const {
    const std::array<std::string_view, 3> tags = {syntax_.key_open, syntax_.body_close,
                                                  syntax_.close};
    return std::ranges::any_of(tags,
                               [begin](std::string_view tag) { return tag.starts_with(begin); });
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
  std::string word_;  // the bytes so far of a tag, a name or a key
  std::string name_;
  std::string key_;
  ToolSchemas::Type said_type_ = ToolSchemas::Type::kUnknown;  // the type that the mark beside the
                                                               // key states
  bool first_ = true;                                          // no argument has come yet
  bool in_value_ = false;
  ArgumentValue value_;
  TagScanner scanner_;
};

}  // namespace

std::unique_ptr<CallReader> make_tagged_call(const CallSyntax& syntax) {
  return std::make_unique<TaggedCall>(syntax);
}

}  // namespace weft
