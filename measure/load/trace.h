#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/measure/load/load.h"

namespace weft::measure {

/// The part of a trace that becomes a load, and its changes.
struct TraceOptions {
  double time_scale = 1;         ///< factor on times: 0.5 makes everything come twice as fast
  double seconds = 0;            ///< seconds of the trace's own time, from its beginning; 0 = all
  std::size_t requests = 0;      ///< the number of requests, from the first; 0 = all
  std::int32_t most_prompt = 0;  ///< tokens; longer prompts are cut to it; 0 = no limit
  std::int32_t most_output = 0;  ///< tokens; longer outputs are cut to it; 0 = no limit
  RequestClass cls = RequestClass::kChat;
};

/// Returns the requests of a trace by time, the first at 0. The format is found by the content:
/// - Azure's LLM inference CSV: a head line TIMESTAMP,ContextTokens,GeneratedTokens and lines such
///   as 2023-11-16 18:17:03.9799600,4808,10, in UTC.
/// - Mooncake's JSON lines: objects with timestamp (milliseconds), input_length and output_length;
///   other fields are ignored.
/// A request that had no tokens in or out counts as one of one token. `name` is what errors call
/// the text. kBadTrace with name and line; kBadLoad where the options are not valid.
[[nodiscard]] Result<std::vector<Arrival>> parse_trace(std::string_view text, std::string_view name,
                                                       const TraceOptions& options = {});

/// Reads a trace from a file, as parse_trace() does; FileErrc where it cannot be read or is larger
/// than any trace.
[[nodiscard]] Result<std::vector<Arrival>> read_trace(const std::filesystem::path& path,
                                                      const TraceOptions& options = {});

}  // namespace weft::measure
