#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/actors/request/request.h"
#include "weft/net/api/completions/completion_options.h"

namespace weft {

/// Writes the end of each chunk of a stream, after its choice. The end is nothing, or "usage":null,
/// or the usage so far of the choice's own output, as in vLLM's continuous_usage_stats. Owner only.
class ChunkUsage {
 public:
  explicit ChunkUsage(const CompletionOptions& options);

  /// Notes how many tokens the prompt of a part has.
  void admit(std::size_t part, std::int32_t prompt_tokens);
  /// Adds new tokens to the output of the choice `index`.
  void add(std::size_t index, std::size_t tokens);
  /// Sets the final usage of a part. Where the part has one output, that output counts all of the
  /// part's tokens, including tokens without a text.
  void settle(std::size_t part, const Usage& usage);

  /// Ends the chunk of the choice `index`.
  void end_chunk(std::size_t index, std::string& out) const;

 private:
  [[nodiscard]] Usage& at(std::size_t index);

  bool in_chunks_;
  std::size_t outputs_per_part_;
  const char* constant_end_;    // the chunk's end where chunks have no usage
  std::vector<Usage> outputs_;  // by the choice's index; empty where chunks have no usage
};

}  // namespace weft
