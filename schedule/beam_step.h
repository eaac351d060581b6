#pragma once

#include <cstdint>
#include <span>

#include "weft/sampling/beam_search.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/kv_memory.h"

namespace weft {

/// Keeps a beam's candidates from a step. True once all beams of the group have candidates.
[[nodiscard]] bool add_candidates(Group& group, std::int32_t sequence,
                                  std::span<const TokenLogprob> top);

/// Advances the group's search by the candidates of all beams and returns the beams that continue,
/// valid until the next call; none when the search is over. Only now are the tokens of the next
/// step known, so a group of beams does not run ahead. Allocates.
[[nodiscard]] std::span<const Beam> advance_beams(Group& group);

/// Assigns the beams to the group's sequences. Each sequence shares the pages of the beam that it
/// continues, and copies the last page when it writes to it. Allocates.
void follow_beams(Group& group, std::span<const Beam> beams, KvMemory& memory);

}  // namespace weft
