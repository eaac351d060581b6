#include "weft/text/format/argument_value.h"

#include <boost/json/value.hpp>
#include <utility>

#include "weft/text/format/json_span.h"
#include "weft/text/format/tag_scanner.h"
#include "weft/text/json/json_text.h"

namespace weft {
namespace {

// A value that may be JSON is held back until it is whole; a longer value is a text. Numbers and
// flags are short; lists and objects of this size are rare, and texts are streamed.
constexpr std::size_t kMaxHeldValue = std::size_t{64} << 10;

constexpr std::size_t kMaxValueDepth = 32;

constexpr std::string_view kNull = "null";
constexpr std::string_view kPythonNull = "None";

}  // namespace

std::string_view trimmed_markup(std::string_view text) {
  while (!text.empty() && is_markup_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_markup_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view json_of_value(std::string_view value, ToolSchemas::Type type) {
  switch (type) {
    case ToolSchemas::Type::kText:
      return {};
    case ToolSchemas::Type::kOptionalText:
      return value == kNull || value == kPythonNull ? kNull : std::string_view{};
    case ToolSchemas::Type::kOther:
      if (value == "True") return "true";
      if (value == "False") return "false";
      if (value == kPythonNull) return kNull;
      break;
    case ToolSchemas::Type::kUnknown:
      break;
  }
  std::string problem;
  static_cast<void>(parse_json(value, kMaxValueDepth, problem));
  return problem.empty() ? value : std::string_view{};
}

void ArgumentValue::begin(ToolSchemas::Type type, bool lines) {
  type_ = type;
  lines_ = lines;
  first_ = lines;
  line_end_ = false;
  held_.clear();
  streams_ = type == ToolSchemas::Type::kText;
  quoted_ = false;
}

bool ArgumentValue::may_be_null() const {
  const std::string_view value = trimmed_markup(held_);
  return kNull.starts_with(value) || kPythonNull.starts_with(value);
}

void ArgumentValue::add(std::string_view run, CallSink& sink) {
  if (streams_) return add_text(run, sink);
  held_.append(run);
  const bool is_text = type_ == ToolSchemas::Type::kOptionalText && !may_be_null();
  if (is_text || held_.size() > kMaxHeldValue) start_text(sink);
}

void ArgumentValue::start_text(CallSink& sink) {
  streams_ = true;
  add_text(std::exchange(held_, {}), sink);
}

void ArgumentValue::end(CallSink& sink) {
  if (!streams_) {
    const std::string_view json = json_of_value(trimmed_markup(held_), type_);
    if (!json.empty()) return sink.arguments(json);
    start_text(sink);
  }
  quote(sink);
  if (line_end_ && !lines_) write("\n", sink);
  sink.arguments("\"");
}

void ArgumentValue::cut(CallSink& sink) {
  if (!streams_) return sink.arguments(trimmed_markup(held_));
  quote(sink);
}

// Where values are on lines of their own, their first and last line ends do not belong to them.
void ArgumentValue::add_text(std::string_view run, CallSink& sink) {
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

void ArgumentValue::quote(CallSink& sink) {
  if (!quoted_) sink.arguments("\"");
  quoted_ = true;
}

void ArgumentValue::write(std::string_view text, CallSink& sink) {
  escaped_.clear();
  append_json_escaped(text, escaped_);
  sink.arguments(escaped_);
}

}  // namespace weft
