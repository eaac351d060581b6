#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/grammar/engine/compiled_grammar.h"
#include "weft/grammar/grammar_builder.h"

namespace weft::grammar {

/// A vocabulary of all single bytes, whose ids they are, of `words` behind them, and of one special
/// token, "<end>", as the last.
inline std::shared_ptr<const TokenTrie> byte_vocabulary(
    const std::vector<std::string>& words = {}) {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  bytes.insert(bytes.end(), words.begin(), words.end());
  bytes.emplace_back();
  const auto last = static_cast<TokenId>(bytes.size() - 1);
  return std::make_shared<const TokenTrie>(
      std::move(bytes), std::unordered_map<std::string, TokenId>{{"<end>", last}});
}

/// Whether a grammar allows a text as a whole.
inline bool accepts(const Grammar& grammar, std::string_view text) {
  const TokenTrie none(std::vector<std::string>{}, {});
  LazyAutomaton automaton(grammar.data(), none);
  Allowance allowance;
  LazyAutomaton::State state = automaton.start(allowance);
  for (const char byte : text) {
    allowance = {};
    state = automaton.step(state, static_cast<std::uint8_t>(byte), allowance);
  }
  return automaton.accepts(state);
}

/// Returns the grammar that `read` makes with a builder; null where it fails, with the error.
template <class Read>
std::shared_ptr<const Grammar> grammar_of(const Read& read, Error* error = nullptr) {
  GrammarBuilder builder;
  const Result<GrammarBuilder::Part> part = read(builder);
  if (!part) {
    if (error != nullptr) *error = part.error();
    return nullptr;
  }
  auto grammar = std::move(builder).finish(*part);
  if (!grammar) {
    if (error != nullptr) *error = grammar.error();
    return nullptr;
  }
  return *grammar;
}

inline std::shared_ptr<const Grammar> schema_grammar(std::string_view schema,
                                                     Error* error = nullptr,
                                                     Strictness strictness = Strictness::kStrict) {
  return grammar_of(
      [&](GrammarBuilder& builder) { return builder.json_schema(schema, "schema", strictness); },
      error);
}

inline std::shared_ptr<const Grammar> lenient_grammar(std::string_view schema,
                                                      Error* error = nullptr) {
  return schema_grammar(schema, error, Strictness::kLenient);
}

inline std::shared_ptr<const Grammar> regex_grammar(std::string_view pattern,
                                                    Error* error = nullptr) {
  return grammar_of([&](GrammarBuilder& builder) { return builder.regex(pattern); }, error);
}

}  // namespace weft::grammar
