#pragma once

#include <simdjson.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/net/api/api_call.h"
#include "weft/net/api/responses/response_store.h"
#include "weft/net/api/tools/tool_origin.h"

namespace weft {

/// Decodes the body of POST /v1/responses, or of response.create over WebSocket. In the latter case
/// `type`, `stream_id` and `generate` have been taken out of the body, and answers always stream.
/// `previous_response_id` is looked up in context.local, then in context.stored; an unknown id is
/// 400 "previous_response_not_found" for that field. With `background` the call has a reply_now and
/// a draft, which the caller stores once the response has begun.
///
/// Source: Open Responses, https://openresponses.org/specification (2026-04-24); OpenAI's API
/// reference, "Create a response".
[[nodiscard]] ApiResult<ApiCall> decode_response(simdjson::dom::object body,
                                                 const ApiContext& context, bool generate = true);

/// Answers POST /v1/responses/input_tokens: returns a body with the number of tokens in a
/// response's prompt. The time grows with the prompt, so do not call it on a thread that others
/// wait for.
[[nodiscard]] ApiResult<std::string> count_input_tokens(simdjson::dom::object body,
                                                        const ApiContext& context);

/// The settings of an answer of the Responses API, besides its output.
struct ResponseOptions {
  std::string id{};            ///< the whole id: "resp_..."
  std::string message_id{};    ///< id of its one output item, "msg_..."
  std::string stream_id{};     ///< stream_id of a WebSocket, in every event; empty = none
  std::int64_t created = 0;    ///< seconds since 1970
  boost::json::object echo{};  ///< the request's fields that the response object repeats: model,
                               ///< instructions, metadata, every sampling field, ...
  boost::json::array conversation{};  ///< messages for the chat template, without the instructions;
                                      ///< the answer is appended to them
  std::size_t conversation_bytes = 0;  ///< conversation_bytes() of it
  std::shared_ptr<const ToolOrigins>
      tools{};  ///< the client's names of functions; null: the model's names
  bool logprobs = false;
  bool structured = false;  ///< the text must have a certain structure
  bool generate = true;     ///< false: completes with no output once the prompt is computed
  bool background = false;  ///< no client waits: the response is stored, however it ends
  std::string owner{};      ///< the client: only it may fetch and continue the response
  std::shared_ptr<ResponseStore> store{};  ///< where the response is stored; null = nowhere
  std::string previous_id{};               ///< evicted from `local` when this one fails
  std::shared_ptr<ResponseStore> local{};
};

/// Makes a writer of the response object, or of the events response.created, response.in_progress,
/// response.output_item.added, response.content_part.added, response.output_text.delta ...,
/// response.output_text.done, response.content_part.done, response.output_item.done and exactly one
/// of response.completed, response.failed and response.incomplete, then [DONE] in SSE.
/// sequence_number counts from 0.
[[nodiscard]] std::unique_ptr<ReplyWriter> make_response_writer(
    ResponseOptions options, std::shared_ptr<const ServedModel> model, Framing framing);

}  // namespace weft
