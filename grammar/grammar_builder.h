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

/// How values are written.
enum class ValueForm : std::uint8_t {
  kJson,
  kPython,  ///< True, False and None; strings have their shortest escapes
  kTagged,  ///< JSON between tags: "<" stands in a string as its escape
};
inline constexpr std::size_t kValueForms = 3;

/// What stands between the tokens of JSON texts.
struct JsonSpacing {
  std::string item_separator = ",";
  std::string key_separator = ":";
  bool has_white_space = true;  ///< more may stand where JsonParts says

  bool operator==(const JsonSpacing&) const = default;
};
}  // namespace grammar

/// Says what a reader does with a part of a JSON schema that no grammar can enforce.
enum class Strictness : std::uint8_t {
  kStrict,   ///< the schema is refused with kUnsupportedSchema, by the place
  kLenient,  ///< the part is ignored, and Grammar::not_enforced() names it; the rest is enforced
};

/// Puts a grammar together from parts: an application's own, or a family's way of writing calls
/// around JSON schemas. Owner only. Parts of one builder may be used any number of times; those of
/// another mean nothing.
///
///   GrammarBuilder builder;
///   const auto schema = builder.json_schema(R"({"type":"object"})", "tools[0].parameters");
///   if (!schema) return schema.error();
///   const auto call = builder.sequence({{builder.special("<tool_call>"), *schema,
///                                        builder.special("</tool_call>")}});
///   const auto grammar = std::move(builder).finish(builder.repeat(call, 1, 4));
///
/// Only finish() and what reads a text can fail. A builder that has become too large makes parts
/// that mean nothing, and finish() says so.
class GrammarBuilder {
 public:
  struct Part {
    std::uint32_t node = 0;
  };

  GrammarBuilder();
  GrammarBuilder(GrammarBuilder&&) noexcept;
  GrammarBuilder& operator=(GrammarBuilder&&) noexcept;
  ~GrammarBuilder();

  /// These bytes, which are to be UTF-8.
  [[nodiscard]] Part literal(std::string_view text);
  /// The special token whose text this is; where the vocabulary has none, its bytes.
  [[nodiscard]] Part special(std::string_view text);
  /// One after the other; none is the empty text.
  [[nodiscard]] Part sequence(std::span<const Part> parts);
  [[nodiscard]] Part sequence(std::initializer_list<Part> parts) {
    return sequence(std::span(parts.begin(), parts.size()));
  }
  /// One of the parts; with no parts there is no text.
  [[nodiscard]] Part any_of(std::span<const Part> parts);
  [[nodiscard]] Part any_of(std::initializer_list<Part> parts) {
    return any_of(std::span(parts.begin(), parts.size()));
  }
  /// `least` to `most` times; kNoBound: any number.
  [[nodiscard]] Part repeat(Part part, std::uint32_t least, std::uint32_t most);
  [[nodiscard]] Part optional(Part part) { return repeat(part, 0, 1); }
  static constexpr std::uint32_t kNoBound = grammar::kNoBound;

  /// One of these texts; however many there are, they become one automaton.
  [[nodiscard]] Part choice(std::span<const std::string> texts);
  /// Any valid UTF-8, or none, in which none of these texts occurs: the text before a call.
  [[nodiscard]] Part text_without(std::span<const std::string> texts);

  /// A JSON text that a schema allows (schema/json_schema.h). Errors: kBadSchema,
  /// kUnsupportedSchema, kTooComplex; `name` goes before the place in the schema.
  [[nodiscard]] Result<Part> json_schema(std::string_view schema, std::string_view name,
                                         Strictness strictness = Strictness::kStrict);
  /// The same for a schema that has been parsed.
  [[nodiscard]] Result<Part> parsed_json_schema(const boost::json::value& schema,
                                                std::string_view name,
                                                Strictness strictness = Strictness::kStrict);
  /// Any JSON value, and any JSON object.
  [[nodiscard]] Part json_value();
  [[nodiscard]] Part json_object();
  /// Texts that a regular expression matches as a whole (forms/regex.h). kBadRegex, kTooComplex.
  [[nodiscard]] Result<Part> regex(std::string_view pattern);
  /// A grammar in GBNF or Lark's form (forms/). kBadGrammar, kTooComplex.
  [[nodiscard]] Result<Part> grammar_text(std::string_view text);
  /// A grammar that another builder has finished.
  [[nodiscard]] Part grammar(const Grammar& other);

  /// A rule that is defined later and may refer to itself; define() is called once for each rule.
  [[nodiscard]] Part reserve_rule();
  void define(Part rule, Part body);

  /// Ends the building. kTooComplex; kBadGrammar when no text is possible at all, when a rule was
  /// not defined, or when one begins with itself ("left recursion"). The builder is used up.
  [[nodiscard]] Result<std::shared_ptr<const Grammar>> finish(Part start) &&;

  /// For the readers of texts.
  [[nodiscard]] Part dfa(grammar::ByteDfa automaton);
  [[nodiscard]] bool too_large() const noexcept { return too_large_; }
  [[nodiscard]] const grammar::JsonParts& json();
  /// Sets the form in which json_schema() and json_value() write from now on.
  void write_values_as(grammar::ValueForm form) noexcept { form_ = form; }
  [[nodiscard]] grammar::ValueForm value_form() const noexcept { return form_; }
  /// Sets what json_schema() writes between tokens from now on; returns what it wrote before.
  grammar::JsonSpacing write_spacing(grammar::JsonSpacing spacing);
  [[nodiscard]] const grammar::JsonSpacing& spacing() const noexcept { return spacing_; }
  /// Counts the cost of reading schemas; returns false once the sum exceeds the bound for all.
  [[nodiscard]] bool spend(std::size_t work) noexcept;
  /// Returns whether this much work and an automaton of this many states leave half of the budget
  /// for the rest of a grammar.
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
  /// Of this spacing, by form; each entry is made when it is needed.
  std::array<std::unique_ptr<grammar::JsonParts>, grammar::kValueForms> json_;
};

}  // namespace weft
