#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/grammar/grammar_builder.h"
#include "weft/text/format/output_format.h"

namespace weft::grammar {

/// A function that may be called.
struct CallableTool {
  std::string name;
  const boost::json::value* parameters = nullptr;  ///< a JSON schema; null: the function has none
  bool by_schema = true;  ///< whether arguments must follow the schema; else any arguments in the
                          ///< family's form
  std::string path;       ///< the place of the schema, for errors
  Strictness strictness = Strictness::kStrict;
};

/// Writes grammars of calls from the description that the parser of calls uses, too (CallSyntax).
/// The family's form may be unable to enforce a part of a schema. A strict tool's schema is then
/// refused with kUnsupportedSchema, which names the place; a lenient tool's part is let pass. Owner
/// only.
class CallWriter {
 public:
  using Part = GrammarBuilder::Part;

  /// `special` holds the texts of special tokens that are part of the format's tags. Borrows all
  /// arguments.
  CallWriter(GrammarBuilder& builder, const OutputFormat& format,
             std::span<const std::string> special);

  /// Returns a text of the format, in which the texts of special tokens mean these tokens.
  [[nodiscard]] Part markup(std::string_view text);
  /// Returns optional white space, where markup may have it.
  [[nodiscard]] Part space() const noexcept { return space_; }
  /// Returns any text in which no call begins and that no parser takes for a call.
  [[nodiscard]] Part text_without_calls();

  /// Returns one call, or any number of calls. There is at least one tool.
  [[nodiscard]] Result<Part> calls(std::span<const CallableTool> tools, bool one);
  /// Returns harmony's one call: the header after <|start|>assistant, and the message.
  [[nodiscard]] Result<Part> harmony_call(std::span<const CallableTool> tools);

 private:
  using Value = boost::json::value;
  using Object = boost::json::object;

  /// A parameter of a function whose arguments are not one JSON object.
  struct Parameter {
    std::string name;
    Value schema;  ///< includes the definitions of the whole schema, if it refers to any
    bool is_required = false;
    std::string path;
  };

  // After the first mistake these functions return meaningless parts.
  Part call_list(std::span<const CallableTool> tools, bool one);
  Part call_bodies(std::span<const CallableTool> tools);
  Part json_call(std::span<const CallableTool> tools);
  Part named_call(std::span<const CallableTool> tools);
  Part tagged_call(std::span<const CallableTool> tools);
  Part python_call(std::span<const CallableTool> tools);
  Part keyed_call(std::span<const CallableTool> tools);
  Part pair_call(std::span<const CallableTool> tools);
  Part json_arguments(const CallableTool& tool);
  Part tagged_arguments(const CallableTool& tool);
  Part type_mark(const Parameter& one);
  Part tagged_value(const Parameter& one, bool by_schema);
  Part tagged_text(const Parameter& one);
  Part given_text(const Object& schema, const std::string& path);
  Part pair_arguments(const CallableTool& tool);
  Part pair_value(const Value& schema, const std::string& path, int depth);
  Part pair_list(const Value& items, const std::string& path, int depth);
  Part pair_object(const Object& schema, const std::string& path, int depth);
  Part pair_text(Part text);
  Part any_pairs();
  Part python_arguments(const CallableTool& tool);
  Part python_value(const Parameter& one, bool by_schema);
  std::optional<Part> single_quoted(const Value& schema);
  Part schema_part(const Value& schema, const std::string& path, ValueForm form);
  [[nodiscard]] bool may_be_written(const std::string& name) const;
  void add_required(const CallableTool& tool, const Object& schema, std::vector<Parameter>& all);
  /// Returns any one of the parts that `each` makes for the tools.
  template <class Each>
  Part each_of(std::span<const CallableTool> tools, const Each& each) {
    std::vector<Part> parts;
    for (const CallableTool& tool : tools) {
      strictness_ = tool.strictness;
      if (!error_) parts.push_back(each(tool));
    }
    return builder_.any_of(parts);
  }
  std::vector<Parameter> parameters_of(const CallableTool& tool);
  Part in_order(std::span<const Parameter> parameters, Part between,
                const std::vector<Part>& parts);
  Part fail(const std::string& path, std::string what);
  /// Calls SchemaReader::lets_pass() with the strictness of the current tool.
  bool lets_pass(const std::string& path, std::string what);

  GrammarBuilder& builder_;
  const OutputFormat& format_;
  const CallSyntax& syntax_;
  const std::span<const std::string> special_;
  Part space_;
  Strictness strictness_ = Strictness::kStrict;  ///< strictness of the current tool
  std::optional<Error> error_{};
};

}  // namespace weft::grammar
