#pragma once

#include <cstdint>

namespace weft {

/// What became of the look-ups and of the pages that are kept, since the beginning.
struct PrefixStats {
  std::uint64_t lookups = 0;       ///< groups that looked for their input's beginning
  std::uint64_t hits = 0;          ///< of those, how many found some of it
  std::uint64_t looked_up = 0;     ///< tokens that they looked for
  std::uint64_t found = 0;         ///< of those, how many need not be computed
  std::uint64_t hollow_hits = 0;   ///< of `hits`, those whose path has lost pages before the window
  std::uint64_t given_up = 0;      ///< pages that were forgotten for want of room
  std::int32_t pages = 0;          ///< that can be found now
  std::int32_t idle = 0;           ///< of those, how many no sequence has
  std::int64_t bytes = 0;          ///< of `pages`; 0 where SchedulerOptions::page_bytes is
  std::int32_t hollow = 0;         ///< pages that are gone and lead to some that can be found
  std::int32_t on_host = 0;        ///< pages that can be found in host memory
  std::uint64_t went_out = 0;      ///< pages that were copied there
  std::uint64_t came_in = 0;       ///< and back
  std::int32_t snapshots = 0;      ///< of rows' states, that are kept or being made
  std::uint64_t restored = 0;      ///< sequences that began with a snapshot
  std::int32_t encoder_pages = 0;  ///< of an encoder's outputs, that can be found now

  /// Adds what became of an encoder's outputs.
  void add_outputs(const PrefixStats& outputs) noexcept {
    lookups += outputs.lookups;
    hits += outputs.hits;
    looked_up += outputs.looked_up;
    found += outputs.found;
    given_up += outputs.given_up;
    encoder_pages += outputs.encoder_pages;
  }
};

}  // namespace weft
