#include "weft/grammar/grammar_cache.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/grammar/calls/answer_grammar.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/engine/compiled_grammar.h"
#include "weft/grammar/engine/grammar_store.h"
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

/// Whether an error names the tool's place itself: in the list of tools, or in a conversation.
bool names_a_tool(std::string_view detail) {
  return detail.starts_with("tools[") || detail.starts_with("input[") ||
         detail.starts_with("messages[");
}

}  // namespace

struct GrammarCache::Impl {
  Impl(Tokenizer one, std::size_t memory_bytes, std::shared_ptr<Gauge> held)
      : tokenizer(std::move(one)),
        store(std::make_shared<grammar::GrammarStore>(
            std::make_shared<grammar::GrammarMemory>(memory_bytes, std::move(held)))) {}

  std::shared_ptr<const grammar::TokenTrie> vocabulary() {
    std::call_once(made, [&] { trie = std::make_shared<const grammar::TokenTrie>(tokenizer); });
    return trie;
  }

  const Tokenizer tokenizer;
  const std::shared_ptr<grammar::GrammarStore> store;
  std::once_flag made;
  std::shared_ptr<const grammar::TokenTrie> trie;
};

GrammarCache::GrammarCache(Tokenizer tokenizer)
    : GrammarCache(std::move(tokenizer), defaults::kMaxStructuredMemory) {}

GrammarCache::GrammarCache(Tokenizer tokenizer, std::size_t memory_bytes,
                           std::shared_ptr<Gauge> held)
    : impl_(std::make_shared<Impl>(std::move(tokenizer), memory_bytes, std::move(held))) {}

std::size_t GrammarCache::held_bytes() const noexcept { return impl_->store->memory()->held(); }

template <class Make>
Result<CompiledOutput> GrammarCache::compiled(std::string key, const Make& make) const {
  grammar::GrammarStore& store = *impl_->store;
  if (!store.make_room()) return Error{GrammarErrc::kNoRoom, {}};
  const auto lent = [](grammar::GrammarStore::Lent one) {
    return CompiledOutput{std::move(one.constraint), std::move(one.not_enforced)};
  };
  if (auto known = key.empty() ? std::nullopt : store.find(key)) return lent(*std::move(known));
  const auto grammar = make();
  if (!grammar) return grammar.error();
  auto compiled = grammar::CompiledGrammar::make(**grammar, impl_->vocabulary(), store.memory());
  if (!compiled) return compiled.error();
  grammar::GrammarStore::Stored stored{*std::move(compiled), nullptr};
  const std::vector<std::string>& places = (*grammar)->not_enforced();
  if (!places.empty()) {
    stored.not_enforced = std::make_shared<const std::vector<std::string>>(places);
  }
  return lent(store.add(std::move(key), std::move(stored)));
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
    // A bracket ends a call that has no closing tag.
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
  // Some tokenizers put a space before every text.
  const std::size_t blanks = spelled.find_first_not_of(' ');
  if (blanks == std::string::npos || spelled.substr(blanks) != budget.close) {
    return Error{GrammarErrc::kBadGrammar, "the tokenizer cannot write " + budget.close};
  }
  return grammar::with_budget(std::move(inner), trie, std::move(budget));
}

}  // namespace weft
