#include <string>
#include <string_view>

#include "weft/text/format/argument_value.h"
#include "weft/text/format/call_reader.h"
#include "weft/text/format/json_span.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

/// Reads CallBody::kNamed.
class NamedCall final : public CallReader {
 public:
  explicit NamedCall(const CallSyntax& syntax)
      : syntax_(syntax), fenced_(syntax.name_close.find("```") != std::string::npos) {}

  Step push(char c, CallSink& sink) override {
    switch (state_) {
      case State::kOpen:
        return push_open(c);
      case State::kName:
        return push_name(c, sink);
      case State::kArguments:
        return push_arguments(c, sink);
      case State::kText:
        return push_text(c, sink);
      case State::kTail:
        return is_markup_space(c) || (fenced_ && c == '`') ? Step::kMore : Step::kDoneBefore;
    }
    return Step::kBroken;
  }

  // Called where the name is complete and the output ends before the arguments.
  void finish(CallSink& sink) override {
    if (state_ == State::kArguments && !sink.in_call() && !span_.started()) {
      static_cast<void>(begin_call(sink));
    }
  }

 private:
  enum class State : std::uint8_t { kOpen, kName, kArguments, kText, kTail };

  Step push_open(char c) {
    if (matched_ == 0 && is_markup_space(c)) return Step::kMore;
    if (matched_ == syntax_.name_open.size()) {
      state_ = State::kName;
      name_.push_back(c);
      return Step::kMore;
    }
    return syntax_.name_open[matched_++] == c ? Step::kMore : Step::kBroken;
  }

  // Some outputs lack the text that ends the name.
  Step push_name(char c, CallSink& sink) {
    if (c == '{') {
      state_ = State::kArguments;
      return push_arguments(c, sink);
    }
    name_.push_back(c);
    if (name_.size() > 2 * CallSink::kMaxName) return Step::kBroken;
    if (name_.ends_with(syntax_.name_close)) {
      name_.resize(name_.size() - syntax_.name_close.size());
      state_ = State::kArguments;
    }
    return Step::kMore;
  }

  Step push_arguments(char c, CallSink& sink) {
    if (!span_.started() && is_markup_space(c)) return Step::kMore;
    if (!span_.started() && !sink.in_call() && ends_without_arguments(c)) {
      if (!begin_call(sink)) return Step::kBroken;
      sink.arguments("{}");
      sink.end();
      state_ = State::kTail;
      return c == '`' ? Step::kMore : Step::kDoneBefore;
    }
    // The name is passed on once an object follows, or a text that should contain an object.
    if (!sink.in_call() && ((c != '{' && c != '"') || !begin_call(sink))) return Step::kBroken;
    const bool is_text = !span_.started() && c == '"';
    const JsonSpan::Step step = span_.push(c);
    if (is_text) {
      state_ = State::kText;
      return Step::kMore;
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

  /// Returns whether this is the first byte of the tag that ends the call, or of a fence.
  [[nodiscard]] bool ends_without_arguments(char c) const {
    return (!syntax_.close.empty() && c == syntax_.close.front()) || (fenced_ && c == '`');
  }

  [[nodiscard]] bool begin_call(CallSink& sink) const {
    const std::string_view id = trimmed_markup(name_);
    if (syntax_.name_is_id && id.find(syntax_.name_suffix) != std::string_view::npos) {
      sink.name_call(id);
    }
    return sink.begin(function());
  }

  void end_call(CallSink& sink) {
    sink.end();
    state_ = State::kTail;
  }

  [[nodiscard]] std::string_view function() const {
    std::string_view name = name_;
    while (!name.empty() && is_markup_space(name.front())) name.remove_prefix(1);
    const std::size_t prefix = name.find(syntax_.name_prefix);
    if (prefix != std::string_view::npos) name.remove_prefix(prefix + syntax_.name_prefix.size());
    if (!syntax_.name_suffix.empty()) name = name.substr(0, name.find(syntax_.name_suffix));
    while (!name.empty() && is_markup_space(name.back())) name.remove_suffix(1);
    return name;
  }

  const CallSyntax& syntax_;
  const bool fenced_;  // the arguments stand in a block of code
  State state_ = State::kOpen;
  std::size_t matched_ = 0;  // matched bytes of name_open
  std::string name_;
  JsonSpan span_;
  JsonStringDecoder string_;  // decodes arguments that are a text
  std::string text_;          // the decoded text
};

}  // namespace

std::unique_ptr<CallReader> make_named_call(const CallSyntax& syntax) {
  return std::make_unique<NamedCall>(syntax);
}

}  // namespace weft
