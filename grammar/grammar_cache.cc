#include "weft/grammar/grammar_cache.h"

#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/engine/compiled_grammar.h"
#include "weft/grammar/grammar_builder.h"
#include "weft/grammar/grammar_error.h"

namespace weft {
namespace {

using Compiled = std::shared_ptr<const grammar::CompiledGrammar>;
using Kind = StructuredOutput::Kind;

/// All that decides what is compiled; empty for what is not kept.
std::string key_of(const StructuredOutput& output) {
  if (output.kind == Kind::kGrammar && output.text.empty()) return {};
  std::string key(1, static_cast<char>('0' + static_cast<int>(output.kind)));
  key += output.text;
  for (const std::string& choice : output.choices) {
    key += '\0' + std::to_string(choice.size()) + ':' + choice;
  }
  return key;
}

Result<GrammarBuilder::Part> choice_part(GrammarBuilder& builder, const StructuredOutput& output) {
  if (output.choices.empty()) {
    return Error{GrammarErrc::kBadGrammar, output.name + ": there is no choice"};
  }
  if (output.choices.size() > defaults::kMaxChoices) {
    return Error{GrammarErrc::kTooComplex,
                 output.name + ": more than " + std::to_string(defaults::kMaxChoices) + " choices"};
  }
  for (std::size_t i = 0; i < output.choices.size(); ++i) {
    if (is_utf8(output.choices[i])) continue;
    return Error{GrammarErrc::kBadGrammar,
                 output.name + "[" + std::to_string(i) + "]: is not UTF-8"};
  }
  return builder.choice(output.choices);
}

Result<GrammarBuilder::Part> start_part(GrammarBuilder& builder, const StructuredOutput& output) {
  switch (output.kind) {
    case Kind::kJsonObject:
      return builder.json_object();
    case Kind::kJsonSchema:
      return builder.json_schema(output.text, output.name);
    case Kind::kRegex:
      return builder.regex(output.text);
    case Kind::kChoice:
      return choice_part(builder, output);
    case Kind::kText:
      return builder.grammar_text(output.text);
    case Kind::kGrammar:
    case Kind::kNone:
      break;
  }
  return Error{GrammarErrc::kBadGrammar, "there is no grammar"};
}

Result<std::shared_ptr<const Grammar>> grammar_of(const StructuredOutput& output) {
  if (output.kind == Kind::kGrammar && output.grammar) return output.grammar;
  GrammarBuilder builder;
  const auto start = start_part(builder, output);
  if (!start) return start.error();
  return std::move(builder).finish(*start);
}

}  // namespace

struct GrammarCache::Impl {
  explicit Impl(Tokenizer one) : tokenizer(std::move(one)) {}

  struct Kept {
    std::string key;
    Compiled grammar;
  };

  std::shared_ptr<const grammar::TokenTrie> vocabulary() {
    std::call_once(made, [&] { trie = std::make_shared<const grammar::TokenTrie>(tokenizer); });
    return trie;
  }

  Compiled find(const std::string& key) {
    const std::scoped_lock lock(mutex);
    const auto found = by_key.find(key);
    if (found == by_key.end()) return nullptr;
    kept.splice(kept.begin(), kept, found->second);
    return kept.front().grammar;
  }

  void keep(std::string key, const Compiled& grammar) {
    if (key.empty() || key.size() > defaults::kMaxKeptGrammarText) return;
    const std::scoped_lock lock(mutex);
    if (by_key.contains(key)) return;
    bytes += key.size();
    kept.push_front({std::move(key), grammar});
    by_key.emplace(kept.front().key, kept.begin());
    while (kept.size() > defaults::kMaxKeptGrammars || bytes > defaults::kMaxKeptGrammarText) {
      bytes -= kept.back().key.size();
      by_key.erase(kept.back().key);
      kept.pop_back();
    }
  }

  const Tokenizer tokenizer;
  std::once_flag made;
  std::shared_ptr<const grammar::TokenTrie> trie;
  std::mutex mutex;
  std::list<Kept> kept;  ///< guarded, as all below; the one that was used last is first
  std::unordered_map<std::string_view, std::list<Kept>::iterator> by_key;
  std::size_t bytes = 0;
};

GrammarCache::GrammarCache(Tokenizer tokenizer)
    : impl_(std::make_shared<Impl>(std::move(tokenizer))) {}

Result<std::shared_ptr<const TokenConstraint>> GrammarCache::compile(
    const StructuredOutput& output) const {
  using Constraint = std::shared_ptr<const TokenConstraint>;
  if (!output) return Constraint();
  std::string key = key_of(output);
  if (const Compiled known = key.empty() ? nullptr : impl_->find(key)) return Constraint(known);
  const auto grammar = grammar_of(output);
  if (!grammar) return error_in(output.name, grammar.error());
  const auto compiled = grammar::CompiledGrammar::make(**grammar, impl_->vocabulary());
  if (!compiled) return error_in(output.name, compiled.error());
  impl_->keep(std::move(key), *compiled);
  return Constraint(*compiled);
}

}  // namespace weft
