#include "weft/grammar/grammar_cache.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/grammar/calls/answer_grammar.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/engine/compiled_grammar.h"
#include "weft/grammar/engine/thinking_budget.h"
#include "weft/grammar/grammar_builder.h"
#include "weft/grammar/grammar_error.h"
#include "weft/grammar/structured_part.h"

namespace weft {
namespace {

Result<std::shared_ptr<const Grammar>> grammar_of(const StructuredOutput& output) {
  if (output.grammar) return output.grammar;
  GrammarBuilder builder;
  const auto start = grammar::structured_part(builder, output);
  if (!start) return start.error();
  return std::move(builder).finish(*start);
}

/// Whether an error itself names the tool's place: in the list of tools, or in a conversation.
bool names_a_tool(std::string_view detail) {
  return detail.starts_with("tools[") || detail.starts_with("input[") ||
         detail.starts_with("messages[");
}

}  // namespace

struct GrammarCache::Impl {
  explicit Impl(Tokenizer one) : tokenizer(std::move(one)) {}

  struct Kept {
    std::string key;
    CompiledOutput output;
  };

  std::shared_ptr<const grammar::TokenTrie> vocabulary() {
    std::call_once(made, [&] { trie = std::make_shared<const grammar::TokenTrie>(tokenizer); });
    return trie;
  }

  std::optional<CompiledOutput> find(const std::string& key) {
    const std::scoped_lock lock(mutex);
    const auto found = by_key.find(key);
    if (found == by_key.end()) return std::nullopt;
    kept.splice(kept.begin(), kept, found->second);
    return kept.front().output;
  }

  void keep(std::string key, const CompiledOutput& output) {
    if (key.empty() || key.size() > defaults::kMaxKeptGrammarText) return;
    const std::scoped_lock lock(mutex);
    if (by_key.contains(key)) return;
    bytes += key.size();
    kept.push_front({std::move(key), output});
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

template <class Make>
Result<CompiledOutput> GrammarCache::compiled(std::string key, const Make& make) const {
  if (auto known = key.empty() ? std::nullopt : impl_->find(key)) return *std::move(known);
  const auto grammar = make();
  if (!grammar) return grammar.error();
  const auto compiled = grammar::CompiledGrammar::make(**grammar, impl_->vocabulary());
  if (!compiled) return compiled.error();
  CompiledOutput output{*compiled, nullptr};
  const std::vector<std::string>& places = (*grammar)->not_enforced();
  if (!places.empty()) {
    output.not_enforced = std::make_shared<const std::vector<std::string>>(places);
  }
  impl_->keep(std::move(key), output);
  return output;
}

Result<CompiledOutput> GrammarCache::compile(const StructuredOutput& output) const {
  if (!output) return CompiledOutput();
  auto made = compiled(grammar::key_of(output), [&] { return grammar_of(output); });
  if (!made) return error_in(output.name, made.error());
  return made;
}

Result<CompiledOutput> GrammarCache::compile(const AnswerForm& form) const {
  auto made = compiled(grammar::key_of(form), [&] {
    std::vector<std::string> special;
    for (const TokenId token : form.format->tag_tokens) {
      if (const auto text = impl_->tokenizer.token(token)) special.emplace_back(*text);
    }
    return grammar::answer_grammar(form, special);
  });
  if (made || names_a_tool(made.error().detail)) return made;
  return error_in(form.answer ? form.answer.name : "tools", made.error());
}

Result<std::shared_ptr<const TokenConstraint>> GrammarCache::bound_thoughts(
    std::shared_ptr<const TokenConstraint> inner, const ModelFormat& format, bool in_thought,
    std::int32_t tokens) const {
  const OutputFormat& written = format.format;
  if (!written.harmony && !written.thoughts.any()) return inner;
  grammar::ThinkingBudget budget;
  budget.tokens = tokens;
  budget.anywhere = written.harmony;
  budget.in_thought = in_thought;
  budget.open = written.harmony ? "<|channel|>analysis<|message|>" : written.thoughts.open;
  budget.close = written.harmony ? "<|end|>" : written.thoughts.close;
  budget.renewals = written.silent;
  if (written.calls.body != CallBody::kNone) {
    // A call without a tag at its end has its bracket.
    const bool is_list = written.calls.in_list || written.calls.body == CallBody::kPython;
    const char* const bracket = is_list ? "]" : "}";
    budget.renewals.push_back(written.calls.close.empty() ? bracket : written.calls.close);
    budget.renewals.push_back(written.calls.body_close);
  }
  for (const TokenId token : format.tag_tokens) {
    if (const auto text = impl_->tokenizer.token(token)) budget.special.emplace_back(token, *text);
  }
  const auto encoded = impl_->tokenizer.encode(
      budget.close, {.add_special = false, .parse_special = true}, budget.ending);
  if (!encoded) return encoded.error();
  const std::shared_ptr<const grammar::TokenTrie> trie = impl_->vocabulary();
  std::string spelled;
  for (const TokenId token : budget.ending) {
    const auto known =
        std::ranges::find(budget.special, token, &std::pair<TokenId, std::string>::first);
    spelled += known != budget.special.end() ? std::string_view(known->second) : trie->bytes(token);
  }
  // Some tokenizers put a blank before every text.
  const std::size_t blanks = spelled.find_first_not_of(' ');
  if (blanks == std::string::npos || spelled.substr(blanks) != budget.close) {
    return Error{GrammarErrc::kBadGrammar, "the tokenizer cannot write " + budget.close};
  }
  return grammar::with_budget(std::move(inner), trie, std::move(budget));
}

}  // namespace weft
