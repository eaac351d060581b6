#include "weft/actors/receiver_actor.h"

#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/failure.h"
#include "weft/actors/request/request_text.h"

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

// Returns about how many bytes a value has. Its depth was bounded where the JSON was parsed.
std::int64_t bytes_of(const boost::json::value& value) {
  if (const auto* text = value.if_string()) return static_cast<std::int64_t>(text->size());
  if (const auto* object = value.if_object()) return bytes_of(*object);
  const auto* array = value.if_array();
  if (array == nullptr) return 1;  // a number or a word has at least one
  std::int64_t bytes = 0;
  for (const auto& one : *array) bytes += bytes_of(one);
  return bytes;
}

std::int64_t bytes_of(const Request& request) {
  std::int64_t bytes =
      static_cast<std::int64_t>(request.prompt.size()) + bytes_of(request.chat_template_kwargs);
  if (!request.tools.is_null()) bytes += bytes_of(request.tools);
  for (const auto& message : request.messages) bytes += bytes_of(message);
  return bytes;
}

// Estimates a text's tokens: each has at least one byte, in most languages about four.
std::int64_t estimated_tokens(const Request& request, std::int64_t bytes) {
  constexpr std::int64_t kBytesPerToken = 4;
  return static_cast<std::int64_t>(request.prompt_tokens.size()) + bytes / kBytesPerToken + 1;
}

Error too_many(const char* what) {
  return {EngineErrc::kOverloaded, std::string("too many ") + what + " wait"};
}

}  // namespace

ReceiverActor::ReceiverActor(ActorContext& context, const ReceiverLimits& limits,
                             std::shared_ptr<PipelineStats> stats, Next next)
    : context_(context), limits_(limits), stats_(std::move(stats)), next_(std::move(next)) {}

void ReceiverActor::on(SubmitMsg&& message) {
  const Request& request = message.ticket->request();
  const std::int64_t bytes = bytes_of(request);
  if (bytes > limits_.prompt_bytes) {
    std::move(message.ticket)
        .fail({EngineErrc::kBadRequest, "prompt: " + std::to_string(bytes) + " bytes, at most " +
                                            std::to_string(limits_.prompt_bytes)});
    return;
  }
  if (stats_->full()) return std::move(message.ticket).fail(too_many("requests"));
  const std::int64_t tokens = estimated_tokens(request, bytes);
  // A single request is never too much, since the context bounds it.
  if (stats_->requests() > 0 && stats_->prompt_tokens() + tokens > limits_.prompt_tokens) {
    return std::move(message.ticket).fail(too_many("prompt tokens"));
  }
  message.ticket->on_finished(
      [stats = stats_, tokens, cls = request.request_class](const Finish& finish) {
        stats->observe(cls, finish);
        stats->finish(tokens);
      });
  stats_->begin(tokens);  // last, since what comes before may throw
  PrepareMsg prepare{std::move(message.ticket)};
  const PushResult result = next_(std::move(prepare));
  if (!taken(result)) {
    std::move(prepare.ticket).fail(refusal_of(result, context_.system_ready()));
  }
}

void ReceiverActor::undelivered(SubmitMsg&& message, const Error& why) {
  std::move(message.ticket).fail(why);
}

}  // namespace weft
