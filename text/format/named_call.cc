#include <string>
#include <string_view>

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
        return push_name(c);
      case State::kArguments:
        return push_arguments(c, sink);
      case State::kTail:
        return is_markup_space(c) || (fenced_ && c == '`') ? Step::kMore : Step::kDoneBefore;
    }
    return Step::kBroken;
  }

 private:
  enum class State : std::uint8_t { kOpen, kName, kArguments, kTail };

  Step push_open(char c) {
    if (matched_ == 0 && is_markup_space(c)) return Step::kMore;
    if (matched_ == syntax_.name_open.size()) {
      state_ = State::kName;
      return push_name(c);
    }
    return syntax_.name_open[matched_++] == c ? Step::kMore : Step::kBroken;
  }

  Step push_name(char c) {
    name_.push_back(c);
    if (name_.size() > 2 * CallSink::kMaxName) return Step::kBroken;
    if (name_.ends_with(syntax_.name_close)) {
      name_.resize(name_.size() - syntax_.name_close.size());
      state_ = State::kArguments;
    }
    return Step::kMore;
  }

  Step push_arguments(char c, CallSink& sink) {
    const JsonSpan::Step step = span_.push(c);
    if (!span_.started()) return Step::kMore;
    // The name is told once there is an object behind it.
    if (!sink.in_call() && (c != '{' || !sink.begin(function()))) return Step::kBroken;
    if (step == JsonSpan::Step::kBroken) return Step::kBroken;
    sink.arguments({&c, 1});
    if (step == JsonSpan::Step::kLast) {
      sink.end();
      state_ = State::kTail;
    }
    return Step::kMore;
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
  std::size_t matched_ = 0;  // bytes of name_open
  std::string name_;
  JsonSpan span_;
};

}  // namespace

std::unique_ptr<CallReader> make_named_call(const CallSyntax& syntax) {
  return std::make_unique<NamedCall>(syntax);
}

}  // namespace weft
