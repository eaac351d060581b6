#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/completions/completion_options.h"
#include "weft/net/api/event_batch.h"

/// The parts that the answers of the chat and the text completion API share.
namespace weft {

/// Returns the beginning of an answer or a chunk: {"id":...,"object":...,...,"choices":[
[[nodiscard]] std::string completion_head(const CompletionOptions& options,
                                          std::string_view object);

/// Returns the usage of one part, and of all parts together, as the answer reports it.
[[nodiscard]] Usage told_usage(const CompletionOptions& options, const Finish& part);
[[nodiscard]] Usage total_usage(const CompletionOptions& options, std::span<const Finish> parts);
/// Appends {"prompt_tokens":...,"completion_tokens":...,"total_tokens":...,
/// "prompt_tokens_details":{"cached_tokens":...}}, and "completion_tokens_details" where there were
/// thoughts or guesses.
void append_completion_usage(const Usage& usage, std::string& out);

/// Appends "finish_reason":...,"stop_reason":... of one output. Where a stop string cut a call the
/// finish reason is "stop", because the calls are not all complete. The stop reason is the stop
/// string or stop token that ended the output, as in vLLM; it is null for a token that ends the
/// model's texts anyway. `calls` is the finish reason of an output with calls.
void append_finish(const Finish& part, std::size_t choice, const ServedModel& model,
                   std::string& out, std::string_view calls = "tool_calls");

/// Appends "name":[5,6] with a comma in front.
void append_ids(std::string_view name, std::span<const TokenId> ids, std::string& out);
/// Appends a part's "prompt_token_ids", with a comma in front, where the answer includes them.
void append_prompt_ids(const CompletionOptions& options, std::size_t part, std::string& out);

/// Adds the end of a stream: the usage where the request wanted it, after the `head` of its chunks,
/// and [DONE].
void add_stream_end(const CompletionOptions& options, std::string_view head,
                    std::span<const Finish> parts, EventBatch& out);

}  // namespace weft
