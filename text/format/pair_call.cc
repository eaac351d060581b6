#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/text/format/argument_value.h"
#include "weft/text/format/call_reader.h"
#include "weft/text/format/pair_value.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

/// Reads CallBody::kPairs: NAME{key:value,...}. The tag before the name may be missing or doubled,
/// because models sometimes write it so.
class PairCall final : public CallReader {
 public:
  explicit PairCall(const CallSyntax& syntax) : syntax_(syntax) {}

  Step push(char c, CallSink& sink) override {
    if (done_) return is_markup_space(c) ? Step::kMore : Step::kDoneBefore;
    if (!value_) return push_name(c, sink);
    switch (value_->push(c, sink)) {
      case PairValue::Step::kMore:
        return Step::kMore;
      case PairValue::Step::kLast:
        sink.end();
        done_ = true;
        return Step::kMore;
      case PairValue::Step::kBroken:
        break;
    }
    return Step::kBroken;
  }

 private:
  Step push_name(char c, CallSink& sink) {
    const bool is_end = !syntax_.close.empty() && c == syntax_.close.front();
    if (c != '{' && !is_end) {
      head_.push_back(c);
      const bool is_long = head_.size() > 2 * CallSink::kMaxName;
      return is_long || c == '}' || c == '"' ? Step::kBroken : Step::kMore;
    }
    const std::string_view name = function();
    if (!sink.begin(name)) return Step::kBroken;
    if (is_end) {
      sink.arguments("{}");
      sink.end();
      return Step::kDoneBefore;
    }
    value_.emplace(syntax_, name);
    static_cast<void>(value_->push(c, sink));
    return Step::kMore;
  }

  [[nodiscard]] std::string_view function() const {
    std::string_view name = trimmed_markup(head_);
    if (name.starts_with(':')) name.remove_prefix(1);
    if (name.starts_with(syntax_.name_open)) name.remove_prefix(syntax_.name_open.size());
    return trimmed_markup(name);
  }

  const CallSyntax& syntax_;
  std::string head_;
  std::optional<PairValue> value_;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<CallReader> make_pair_call(const CallSyntax& syntax) {
  return std::make_unique<PairCall>(syntax);
}

}  // namespace weft
