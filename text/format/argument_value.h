#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/text/format/call_reader.h"
#include "weft/text/format/tool_schemas.h"

namespace weft {

/// Returns a text without the white space at its ends.
[[nodiscard]] std::string_view trimmed_markup(std::string_view text);

/// Returns the JSON that a value without quotes means; empty: the value is a text.
[[nodiscard]] std::string_view json_of_value(std::string_view value, ToolSchemas::Type type);

/// Writes an argument whose value has no quotes as JSON while the value arrives. Text is passed on
/// at once; possible JSON is held back until it is complete, or too long to be JSON. Owner only.
class ArgumentValue {
 public:
  /// `lines`: a line end before and after the value does not belong to it.
  void begin(ToolSchemas::Type type, bool lines);
  void add(std::string_view run, CallSink& sink);
  void end(CallSink& sink);
  /// Called when the output ends inside the value: writes the held-back bytes, but no end.
  void cut(CallSink& sink);

 private:
  [[nodiscard]] bool may_be_null() const;
  void start_text(CallSink& sink);
  void add_text(std::string_view run, CallSink& sink);
  void quote(CallSink& sink);
  void write(std::string_view text, CallSink& sink);

  ToolSchemas::Type type_ = ToolSchemas::Type::kUnknown;
  bool lines_ = false;
  bool first_ = false;     // no byte of the value has come yet
  bool line_end_ = false;  // a line end has come, which may be the last one
  bool streams_ = false;
  bool quoted_ = false;
  std::string held_;
  std::string escaped_;
};

}  // namespace weft
