#include "weft/actors/receiver_actor.h"

#include <chrono>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/failure.h"
#include "weft/actors/request_text.h"

namespace weft {
namespace {

std::int64_t bytes_of(const boost::json::value& value);

std::int64_t bytes_of(const boost::json::object& object) {
  std::int64_t bytes = 0;
  for (const auto& [key, value] : object) {
    bytes += static_cast<std::int64_t>(key.size()) + bytes_of(value);
  }
  return bytes;
}

// Depth is bounded where the JSON was parsed.
std::int64_t bytes_of(const boost::json::value& value) {
  if (const auto* text = value.if_string()) return static_cast<std::int64_t>(text->size());
  if (const auto* object = value.if_object()) return bytes_of(*object);
  std::int64_t bytes = 0;
  if (const auto* array = value.if_array()) {
    for (const auto& one : *array) bytes += bytes_of(one);
  }
  return bytes;
}

std::int64_t bytes_of(const Request& request) {
  std::int64_t bytes = static_cast<std::int64_t>(request.prompt.size()) + bytes_of(request.tools) +
                       bytes_of(request.chat_template_kwargs);
  for (const auto& message : request.messages) bytes += bytes_of(message);
  return bytes;
}

// A token of text has at least one byte, in most languages about four.
std::int64_t estimated_tokens(const Request& request, std::int64_t bytes) {
  constexpr std::int64_t kBytesPerToken = 4;
  return static_cast<std::int64_t>(request.prompt_tokens.size()) + bytes / kBytesPerToken + 1;
}

}  // namespace

ReceiverActor::ReceiverActor(ActorContext& /*context*/, const ReceiverLimits& limits,
                             std::shared_ptr<PipelineStats> stats, Next next)
    : limits_(limits), stats_(std::move(stats)), next_(std::move(next)) {}

void ReceiverActor::on(SubmitMsg&& message) {
  const Request& request = message.ticket->request();
  const std::int64_t bytes = bytes_of(request);
  if (bytes > limits_.prompt_bytes) {
    std::move(message.ticket)
        .fail({EngineErrc::kBadRequest, "prompt: " + std::to_string(bytes) + " bytes, at most " +
                                            std::to_string(limits_.prompt_bytes)});
    return;
  }
  if (stats_->requests() >= limits_.requests) {
    return overloaded(std::move(message.ticket), "requests");
  }
  const std::int64_t tokens = estimated_tokens(request, bytes);
  // One request alone is never too much: the context bounds it.
  if (stats_->requests() > 0 && stats_->prompt_tokens() + tokens > limits_.prompt_tokens) {
    return overloaded(std::move(message.ticket), "prompt tokens");
  }
  const std::size_t lane = message.ticket->lane();
  stats_->begin(lane, tokens);
  message.ticket->on_finished(
      [stats = stats_, lane, tokens, cls = request.request_class](const Finish& finish) {
        stats->observe(cls, finish);
        stats->finish(lane, tokens);
      });
  PrepareMsg prepare{std::move(message.ticket)};
  if (!next_(std::move(prepare))) overloaded(std::move(prepare.ticket), "requests");
}

void ReceiverActor::overloaded(RequestTicket ticket, const char* what) {
  Finish finish;
  finish.reason = FinishReason::kError;
  finish.error = {EngineErrc::kOverloaded, std::string("as many ") + what + " as may wait"};
  // What is under way takes this long at least; those who come later find the next free place.
  finish.retry_after = std::chrono::seconds(1);
  std::move(ticket).finish(std::move(finish));
}

void ReceiverActor::undelivered(SubmitMsg&& message, const Error& why) {
  std::move(message.ticket).fail(request_failure(why));
}

}  // namespace weft
