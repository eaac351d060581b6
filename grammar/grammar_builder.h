#pragma once

#include <array>
#include <boost/json/fwd.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/grammar/grammar.h"

namespace weft {

namespace grammar {
struct JsonParts;

/// The form in which values are written.
enum class ValueForm : std::uint8_t {
  kJson,
  kPython,  ///< True, False and None; strings have their shortest escapes
  kTagged,  ///< JSON between tags; "<" in a string is written as its escape
};
inline constexpr std::size_t kValueForms = 3;

/// The text between the tokens of JSON texts.
struct JsonSpacing {
  std::string item_separator = ",";
  std::string key_separator = ":";
  bool has_white_space = true;  ///< additional white space may stand where JsonParts says

  bool operator==(const JsonSpacing&) const = default;
};
}  // namespace grammar

/// How a reader treats a part of a JSON schema that no grammar can enforce.
enum class Strictness : std::uint8_t {
  kStrict,   ///< the schema is refused with kUnsupportedSchema, which names the place
  kLenient,  ///< the part is ignored, and Grammar::not_enforced() names it; the rest is enforced
};

/// Builds a grammar from parts: an application's own parts, or a family's form of calls with JSON
/// schemas inside. Owner only. Parts may be used any number of times by the builder that made them;
/// in another builder they mean nothing.
///
///   GrammarBuilder builder;
///   const auto schema = builder.json_schema(R"({"type":"object"})", "tools[0].parameters");
///   if (!schema) return schema.error();
///   const auto call = builder.sequence({{builder.special("<tool_call>"), *schema,
///                                        builder.special("</tool_call>")}});
///   const auto grammar = std::move(builder).finish(builder.repeat(call, 1, 4));
///
/// Only finish() and the functions that read a text can fail. A builder that has become too large
/// makes meaningless parts, and finish() reports it.
class GrammarBuilder {
 public:
  struct Part {
    std::uint32_t node = 0;
  };

  GrammarBuilder();
  GrammarBuilder(GrammarBuilder&&) noexcept;
  GrammarBuilder& operator=(GrammarBuilder&&) noexcept;
  ~GrammarBuilder();

  /// Returns a part for these bytes, which should be UTF-8.
  [[nodiscard]] Part literal(std::string_view text);
  /// Returns a part for the special token with this text; where the vocabulary has none, for the
  /// text's bytes.
  [[nodiscard]] Part special(std::string_view text);
  /// Returns a part for the parts in order; with no parts, the empty text.
  [[nodiscard]] Part sequence(std::span<const Part> parts);
  [[nodiscard]] Part sequence(std::initializer_list<Part> parts) {
    return sequence(std::span(parts.begin(), parts.size()));
  }
  /// Returns a part for any one of the parts; with no parts it has no text.
  [[nodiscard]] Part any_of(std::span<const Part> parts);
  [[nodiscard]] Part any_of(std::initializer_list<Part> parts) {
    return any_of(std::span(parts.begin(), parts.size()));
  }
  /// Returns a part for `least` to `most` repetitions; kNoBound: any number.
  [[nodiscard]] Part repeat(Part part, std::uint32_t least, std::uint32_t most);
  [[nodiscard]] Part optional(Part part) { return repeat(part, 0, 1); }
  static constexpr std::uint32_t kNoBound = grammar::kNoBound;

  /// Returns a part for any one of these texts, which together become one automaton.
  [[nodiscard]] Part choice(std::span<const std::string> texts);
  /// Returns a part for any valid UTF-8, also empty, in which none of these texts occurs. It serves
  /// as the text before a call.
  [[nodiscard]] Part text_without(std::span<const std::string> texts);

  /// Returns a part for a JSON text that a schema allows (schema/json_schema.h). Errors:
  /// kBadSchema, kUnsupportedSchema, kTooComplex; `name` precedes the place in the schema.
  [[nodiscard]] Result<Part> json_schema(std::string_view schema, std::string_view name,
                                         Strictness strictness = Strictness::kStrict);
  /// Does the same as json_schema() for a parsed schema.
  [[nodiscard]] Result<Part> parsed_json_schema(const boost::json::value& schema,
                                                std::string_view name,
                                                Strictness strictness = Strictness::kStrict);
  /// Return parts for any JSON value, and for any JSON object.
  [[nodiscard]] Part json_value();
  [[nodiscard]] Part json_object();
  /// Returns a part for texts that a regular expression matches as a whole (forms/regex.h).
  /// kBadRegex, kTooComplex.
  [[nodiscard]] Result<Part> regex(std::string_view pattern);
  /// Returns a part for a grammar in GBNF or Lark's form (forms/). kBadGrammar, kTooComplex.
  [[nodiscard]] Result<Part> grammar_text(std::string_view text);
  /// Returns a part for a grammar that another builder has finished.
  [[nodiscard]] Part grammar(const Grammar& other);

  /// Returns a rule that is defined later and may refer to itself; define() is called once for each
  /// rule.
  [[nodiscard]] Part reserve_rule();
  void define(Part rule, Part body);

  /// Ends the building. kTooComplex; kBadGrammar when no text is possible, when a rule was not
  /// defined, or when a rule begins with itself ("left recursion"). The builder cannot be used
  /// afterwards.
  [[nodiscard]] Result<std::shared_ptr<const Grammar>> finish(Part start) &&;

  /// For the readers of texts.
  [[nodiscard]] Part dfa(grammar::ByteDfa automaton);
  [[nodiscard]] bool too_large() const noexcept { return too_large_; }
  [[nodiscard]] const grammar::JsonParts& json();
  /// Sets the form in which json_schema() and json_value() write from now on.
  void write_values_as(grammar::ValueForm form) noexcept { form_ = form; }
  [[nodiscard]] grammar::ValueForm value_form() const noexcept { return form_; }
  /// Sets the text that json_schema() writes between tokens from now on; returns the earlier
  /// setting.
  grammar::JsonSpacing write_spacing(grammar::JsonSpacing spacing);
  [[nodiscard]] const grammar::JsonSpacing& spacing() const noexcept { return spacing_; }
  /// Counts the cost of reading schemas; returns false once the sum exceeds the bound for all.
  [[nodiscard]] bool spend(std::size_t work) noexcept;
  /// Returns whether half of the budget would be left after this much work and an automaton of this
  /// many states.
  [[nodiscard]] bool affords(std::size_t work, std::size_t states) const noexcept;
  [[nodiscard]] const grammar::GrammarData& data() const noexcept { return data_; }
  /// Records a place in a schema that the grammar does not enforce.
  void let_pass(std::string_view place);

 private:
  [[nodiscard]] Result<Part> read_schema(const boost::json::value& root, std::string_view name,
                                         Strictness strictness);
  [[nodiscard]] Result<Part> read_spaced_schema(const boost::json::value& root,
                                                std::string_view name, Strictness strictness);
  [[nodiscard]] Part add(grammar::Node node);
  [[nodiscard]] Part add_list(grammar::NodeKind kind, std::span<const Part> parts);

  grammar::GrammarData data_;
  std::size_t dfa_states_ = 0;
  bool too_large_ = false;
  std::size_t spent_ = 0;
  std::vector<std::string> not_enforced_;
  grammar::ValueForm form_ = grammar::ValueForm::kJson;
  grammar::JsonSpacing spacing_;
  /// parts for the present spacing, by form; each entry is made when it is needed
  std::array<std::unique_ptr<grammar::JsonParts>, grammar::kValueForms> json_;
};

}  // namespace weft
