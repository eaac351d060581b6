#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft {

class Grammar;

/// What an output must look like. Plain data; what is wrong with it is said when the request is
/// prepared, before its first token, by a GrammarErrc.
struct StructuredOutput {
  enum class Kind : std::uint8_t {
    kNone,
    kJsonObject,  ///< any JSON object
    kJsonSchema,  ///< `text` is a JSON schema (grammar/schema/json_schema.h says what of it)
    kRegex,       ///< the whole output matches the regular expression `text`
    kChoice,      ///< the output is one of `choices`
    kText,        ///< `text` is a context-free grammar, GBNF or Lark's form
    /// `grammar`, which the application has put together (grammar_builder.h). What the engine finds
    /// out of it is kept under `text`, which is then to say all that it was made of; empty: not.
    kGrammar,
  };

  Kind kind = Kind::kNone;
  std::string text{};
  std::vector<std::string> choices{};
  /// For a JSON schema. true: a part that a grammar cannot enforce is refused. false: such a part
  /// is ignored and named (CompiledOutput::not_enforced); the rest is enforced.
  bool strict = true;
  /// What errors call it: the field that it came in.
  std::string name = "structured_output";
  std::shared_ptr<const Grammar> grammar{};

  [[nodiscard]] explicit operator bool() const noexcept { return kind != Kind::kNone; }
};

}  // namespace weft
