#include "weft/net/api/completions/chunk_usage.h"

#include "weft/net/api/completions/completion_parts.h"

namespace weft {

ChunkUsage::ChunkUsage(const CompletionOptions& options)
    : in_chunks_(options.usage_in_chunks),
      outputs_per_part_(static_cast<std::size_t>(options.outputs_per_part)),
      constant_end_(options.include_usage ? "}],\"usage\":null}" : "}]}") {}

void ChunkUsage::admit(std::size_t part, std::int32_t prompt_tokens) {
  if (!in_chunks_) return;
  for (std::size_t i = 0; i < outputs_per_part_; ++i) {
    at(part * outputs_per_part_ + i).prompt_tokens = prompt_tokens;
  }
}

void ChunkUsage::add(std::size_t index, std::size_t tokens) {
  if (in_chunks_) at(index).output_tokens += static_cast<std::int32_t>(tokens);
}

void ChunkUsage::settle(std::size_t part, const Usage& usage) {
  admit(part, usage.prompt_tokens);
  if (in_chunks_ && outputs_per_part_ == 1) at(part) = usage;
}

void ChunkUsage::end_chunk(std::size_t index, std::string& out) const {
  if (!in_chunks_) {
    out.append(constant_end_);
    return;
  }
  out.append("}],\"usage\":");
  append_completion_usage(index < outputs_.size() ? outputs_[index] : Usage{}, out);
  out.push_back('}');
}

Usage& ChunkUsage::at(std::size_t index) {
  if (index >= outputs_.size()) outputs_.resize(index + 1);
  return outputs_[index];
}

}  // namespace weft
