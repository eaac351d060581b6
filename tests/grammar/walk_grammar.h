#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/grammar/engine/compiled_grammar.h"
#include "weft/grammar/grammar_builder.h"
#include "weft/tests/fixture/fuzz_input.h"

namespace weft::test {

/// All single bytes, and a few longer tokens.
inline std::shared_ptr<const grammar::TokenTrie> fuzz_vocabulary() {
  static const auto trie = [] {
    std::vector<std::string> bytes;
    for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
    for (const char* word : {"ab", "a\"", "\":", "{\"", "true", "\",\"", "  ", "12", "\xc3\xa9"}) {
      bytes.emplace_back(word);
    }
    return std::make_shared<const grammar::TokenTrie>(std::move(bytes),
                                                      std::unordered_map<std::string, TokenId>{});
  }();
  return trie;
}

/// The token number `wanted` of a mask, counted round.
inline TokenId token_of(const grammar::TokenMask& mask, std::uint32_t wanted) {
  std::uint32_t left = wanted % mask.count;
  if (mask.bits.empty()) return mask.tokens[left];
  for (std::uint32_t id = 0;; ++id) {
    const bool is_set = (mask.bits[id / 32] >> (id % 32) & 1U) != 0;
    if (is_set && left-- == 0) return static_cast<TokenId>(id);
  }
}

/// Finishes a grammar and writes an output of it, by chance: whatever was begun can be gone on
/// with, until it is too much work.
inline void walk_grammar(GrammarBuilder builder, const Result<GrammarBuilder::Part>& part,
                         std::uint32_t seed) {
  if (!accepted(part)) return;
  const auto finished = std::move(builder).finish(*part);
  if (!accepted(finished)) return;
  const auto compiled = grammar::CompiledGrammar::make(**finished, fuzz_vocabulary());
  if (!accepted(compiled)) return;
  try {
    grammar::CompiledGrammar::Place place = (*compiled)->start();
    for (int step = 0; step < 24; ++step) {
      bool may_end = false;
      const grammar::TokenMask& mask = (*compiled)->mask(place, may_end);
      fuzz_require(mask.count > 0 || may_end);
      if (mask.count == 0) return;
      seed = seed * 1'664'525U + 1'013'904'223U;
      (*compiled)->advance(place, token_of(mask, seed >> 8U));
    }
  } catch (const grammar::TooMuchWork&) {
    return;  // a mask that costs too much ends its request
  }
}

}  // namespace weft::test
