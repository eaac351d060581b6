#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/grammar/byte_dfa.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {

/// A regular part of a grammar as one automaton; nothing where it needs more states than that.
[[nodiscard]] std::optional<ByteDfa> determinized(const GrammarData& data, std::uint32_t node,
                                                  std::size_t most_states);

}  // namespace weft::grammar
