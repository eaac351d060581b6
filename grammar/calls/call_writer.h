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
  const boost::json::value* parameters = nullptr;  ///< a JSON schema; null: none is known
  bool by_schema = true;  ///< arguments follow the schema; else any of the family's form
  std::string path;       ///< of the schema, in errors
  Strictness strictness = Strictness::kStrict;
};

/// Writes grammars of calls from the same description that the parser of calls uses (CallSyntax).
/// A strict tool's schema is refused with kUnsupportedSchema, and the place named, where the
/// family's form cannot enforce a part of it; a lenient tool's part is let pass. Owner only.
class CallWriter {
 public:
  using Part = GrammarBuilder::Part;

  /// `special` holds the texts of the special tokens that the format's tags are made of. Borrows
  /// all arguments.
  CallWriter(GrammarBuilder& builder, const OutputFormat& format,
             std::span<const std::string> special);

  /// A text of the format, special tokens in it as such.
  [[nodiscard]] Part markup(std::string_view text);
  /// White space, or none, where markup may have it.
  [[nodiscard]] Part space() const noexcept { return space_; }
  /// Any text in which no call begins and which no parser takes for a call.
  [[nodiscard]] Part text_without_calls();

  /// One call, or as many as the model likes. There is a tool at least.
  [[nodiscard]] Result<Part> calls(std::span<const CallableTool> tools, bool one);
  /// Harmony's one call: the header behind <|start|>assistant, and the message.
  [[nodiscard]] Result<Part> harmony_call(std::span<const CallableTool> tools);

 private:
  using Value = boost::json::value;
  using Object = boost::json::object;

  /// A parameter of a function whose arguments are not one JSON object.
  struct Parameter {
    std::string name;
    Value schema;  ///< with the definitions of the whole, if it refers to any
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
  /// Tools whose calls are written alike from here on.
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
  /// SchemaReader::lets_pass(), by the strictness of the tool that is being written.
  bool lets_pass(const std::string& path, std::string what);

  GrammarBuilder& builder_;
  const OutputFormat& format_;
  const CallSyntax& syntax_;
  const std::span<const std::string> special_;
  Part space_;
  Strictness strictness_ = Strictness::kStrict;  ///< the tool's that is being written
  std::optional<Error> error_{};
};

}  // namespace weft::grammar
