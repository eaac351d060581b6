#pragma once

#include <cstdint>
#include <span>

#include "weft/sampling/beam_search.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/kv_memory.h"

namespace weft {

/// Keeps the candidates that a step gave one beam of the group. True when all beams have theirs.
[[nodiscard]] bool add_candidates(Group& group, std::int32_t sequence,
                                  std::span<const TokenLogprob> top);

/// Advances the group's search by the candidates of all beams and returns the beams that go on,
/// valid until the next call; none when the search is over. Only now is it known which tokens feed
/// the next step, so a group of beams does not run ahead. Allocates.
[[nodiscard]] std::span<const Beam> advance_beams(Group& group);

/// Makes the group's sequences those of the beams. Each shares the pages of the beam that it goes
/// on from, and copies the last one when it writes to it. Allocates.
void follow_beams(Group& group, std::span<const Beam> beams, KvMemory& memory);

}  // namespace weft
