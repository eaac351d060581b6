#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/actors/request/request.h"
#include "weft/net/api/completions/completion_options.h"

namespace weft {

/// What stands behind the choice of each chunk of a stream: nothing, "usage":null, or the usage so
/// far of the choice's own output, as vLLM's continuous_usage_stats has it. Owner only.
class ChunkUsage {
 public:
  explicit ChunkUsage(const CompletionOptions& options);

  /// A part's prompt has so many tokens.
  void admit(std::size_t part, std::int32_t prompt_tokens);
  /// So many more tokens of an output have come, by the choice's index.
  void add(std::size_t index, std::size_t tokens);
  /// Sets what is known of a part at its end. Where it has one output all of its tokens are that
  /// one's, those without a text included.
  void settle(std::size_t part, const Usage& usage);

  /// Ends a chunk that is about one choice.
  void end_chunk(std::size_t index, std::string& out) const;

 private:
  [[nodiscard]] Usage& at(std::size_t index);

  bool in_chunks_;
  std::size_t outputs_per_part_;
  const char* constant_end_;    // without usage in chunks
  std::vector<Usage> outputs_;  // by the choice's index; only with usage in chunks
};

}  // namespace weft
