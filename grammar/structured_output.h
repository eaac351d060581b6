#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft {

class Grammar;

/// The required form of an output. Plain data; mistakes are reported when the request is prepared,
/// before its first token, by a GrammarErrc.
struct StructuredOutput {
  enum class Kind : std::uint8_t {
    kNone,
    kJsonObject,  ///< any JSON object
    kJsonSchema,  ///< `text` is a JSON schema (grammar/schema/json_schema.h lists the supported
                  ///< parts)
    kRegex,       ///< the whole output matches the regular expression `text`
    kChoice,      ///< the output is one of `choices`
    kText,        ///< `text` is a context-free grammar, GBNF or Lark's form
    /// `grammar`, which the application has built (grammar_builder.h). Its compiled form is cached
    /// under `text`, which must then identify all its parts; with an empty `text` it is not cached.
    kGrammar,
  };

  Kind kind = Kind::kNone;
  std::string text{};
  std::vector<std::string> choices{};
  /// Used for a JSON schema. true: a part that a grammar cannot enforce is refused. false: such a
  /// part is ignored and reported (CompiledOutput::not_enforced); the rest is enforced.
  bool strict = true;
  /// The name in errors: the field of the request.
  std::string name = "structured_output";
  std::shared_ptr<const Grammar> grammar{};

  [[nodiscard]] explicit operator bool() const noexcept { return kind != Kind::kNone; }
};

}  // namespace weft
