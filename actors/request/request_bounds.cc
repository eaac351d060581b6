#include "weft/actors/request/request_bounds.h"

#include <algorithm>
#include <string>

#include "weft/actors/defaults.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/request/stream_defaults.h"

namespace weft {
namespace {

// A list of empty lists or of empty strings takes time as well, so brackets and quotation marks
// count.
constexpr std::int64_t kBrackets = 2;
constexpr std::int64_t kQuotationMarks = 2;

std::int64_t object_bytes(const boost::json::object& object) {
  std::int64_t bytes = kBrackets;
  for (const auto& [key, value] : object) {
    bytes += static_cast<std::int64_t>(key.size()) + json_bytes(value);
  }
  return bytes;
}

Error too_many_wait(const char* what) {
  return {EngineErrc::kOverloaded, std::string("too many ") + what + " wait"};
}

}  // namespace

std::int64_t json_bytes(const boost::json::value& value) {
  if (const auto* text = value.if_string()) {
    return kQuotationMarks + static_cast<std::int64_t>(text->size());
  }
  if (const auto* object = value.if_object()) return object_bytes(*object);
  const auto* array = value.if_array();
  if (array == nullptr) return 1;  // a number or a word has at least one
  std::int64_t bytes = kBrackets;
  for (const auto& one : *array) bytes += json_bytes(one);
  return bytes;
}

std::int64_t tokens_of_bytes(std::int64_t bytes) noexcept {
  // A text's tokens have at least one byte each, in most languages about four.
  constexpr std::int64_t kBytesPerToken = 4;
  return bytes / kBytesPerToken + 1;
}

PromptSize prompt_size(const Request& request) {
  PromptSize size;
  size.bytes = static_cast<std::int64_t>(request.prompt.size());
  if (!request.chat_template_kwargs.empty()) {
    size.bytes += object_bytes(request.chat_template_kwargs);
  }
  if (!request.tools.is_null()) size.bytes += json_bytes(request.tools);
  for (const auto& message : request.messages) size.bytes += json_bytes(message);
  size.bytes += static_cast<std::int64_t>(request.speculation.prediction.size());
  if (request.vector) size.bytes += static_cast<std::int64_t>(request.vector->second_text.size());
  size.tokens =
      static_cast<std::int64_t>(request.prompt_tokens.size()) + tokens_of_bytes(size.bytes);
  return size;
}

QueueBounds queue_bounds(const Config& config, const ServedModel* model) noexcept {
  return {.requests = config.max_queued_requests,
          .prompt_tokens = config.max_queued_prompt_tokens,
          .prompt_bytes = config.max_prompt_bytes,
          .context = model != nullptr ? model->context : defaults::kUnknownContext};
}

PromptSize counted_size(const Request& request, const QueueBounds& bounds) {
  PromptSize size = prompt_size(request);
  size.tokens = std::min(size.tokens, bounds.context);
  return size;
}

Result<void> check_room(const PromptSize& size, const QueueBounds& bounds, const QueueUse& use) {
  if (size.bytes > bounds.prompt_bytes) {
    return Error{EngineErrc::kBadRequest, "prompt: " + std::to_string(size.bytes) +
                                              " bytes, at most " +
                                              std::to_string(bounds.prompt_bytes)};
  }
  if (use.requests >= bounds.requests) return too_many_wait("requests");
  // A single request is never too much, since the context bounds it.
  if (use.requests > 0 && use.prompt_tokens + size.tokens > bounds.prompt_tokens) {
    return too_many_wait("prompt tokens");
  }
  return {};
}

Result<void> check_outputs(const Request& request) {
  const std::int32_t n = request.sampling.n;
  if (n < 1 || n > kMaxChoices) {
    return Error{EngineErrc::kBadRequest,
                 "n = " + std::to_string(n) + " is not in 1 .. " + std::to_string(kMaxChoices)};
  }
  if (request.max_tokens > kMaxStreamTokens) {
    return Error{EngineErrc::kBadRequest, "max_tokens = " + std::to_string(request.max_tokens) +
                                              " is more than " + std::to_string(kMaxStreamTokens)};
  }
  if (std::ranges::find(kRequestClasses, request.request_class) == kRequestClasses.end()) {
    return Error{EngineErrc::kBadRequest,
                 "request_class: " + std::to_string(static_cast<int>(request.request_class)) +
                     " is no class"};
  }
  return {};
}

}  // namespace weft
