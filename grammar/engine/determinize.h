#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/grammar/byte_dfa.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {

/// Returns one automaton for a regular part of a grammar; nothing where it would need more than
/// `most_states` states.
[[nodiscard]] std::optional<ByteDfa> determinized(const GrammarData& data, std::uint32_t node,
                                                  std::size_t most_states);

}  // namespace weft::grammar
