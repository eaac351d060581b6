#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/net/api/completions/completion_options.h"
#include "weft/net/api/reply_writer.h"

/// The two writers of chat answers.
namespace weft {

/// Writes chat.completion.chunk events.
[[nodiscard]] std::unique_ptr<ReplyWriter> make_chat_stream_writer(
    CompletionOptions options, std::shared_ptr<const ServedModel> model);
/// Writes one chat.completion.
[[nodiscard]] std::unique_ptr<ReplyWriter> make_chat_body_writer(
    CompletionOptions options, std::shared_ptr<const ServedModel> model);

/// Appends {"content":[...],"refusal":null}.
void append_chat_logprobs(std::string_view content, std::string& out);

/// Returns the finish_reason of an output that makes calls.
[[nodiscard]] inline std::string_view calls_reason(const CompletionOptions& options) noexcept {
  return options.older_calls ? "function_call" : "tool_calls";
}

}  // namespace weft
