#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/actors/request/request.h"
#include "weft/net/api/completions/completion_options.h"

namespace weft {

/// Writes the end of each chunk of a stream, behind its choice: nothing, "usage":null, or the usage
/// so far of the choice's own output, as vLLM's continuous_usage_stats. Owner only.
class ChunkUsage {
 public:
  explicit ChunkUsage(const CompletionOptions& options);

  /// Notes how many tokens the prompt of a part has.
  void admit(std::size_t part, std::int32_t prompt_tokens);
  /// Adds new tokens to the output of the choice `index`.
  void add(std::size_t index, std::size_t tokens);
  /// Sets the final usage of a part. Where the part has one output, that output gets all of the
  /// part's tokens, including tokens without a text.
  void settle(std::size_t part, const Usage& usage);

  /// Ends the chunk of the choice `index`.
  void end_chunk(std::size_t index, std::string& out) const;

 private:
  [[nodiscard]] Usage& at(std::size_t index);

  bool in_chunks_;
  std::size_t outputs_per_part_;
  const char* constant_end_;    // without usage in chunks
  std::vector<Usage> outputs_;  // by the choice's index; only with usage in chunks
};

}  // namespace weft
