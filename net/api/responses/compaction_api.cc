#include "weft/net/api/responses/compaction_api.h"

#include <boost/json/array.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/fields/request_fields.h"
#include "weft/net/api/responses/response_conversation.h"
#include "weft/net/api/responses/response_object.h"
#include "weft/net/api/tools/thinking_fields.h"
#include "weft/net/api/tools/typed_answer.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::string_view kAsk =
    "Summarize this conversation so that it can go on from the summary alone: what was asked, "
    "found out and decided, with names and numbers, and what is still to be done. Answer with the "
    "summary and nothing else.";
constexpr std::string_view kSummary = "Summary of the conversation so far:\n";

/// Appends the request for a summary to the conversation. It must not add a second user message in
/// a row, because some templates want turns to alternate.
void ask_for_summary(json::array& messages) {
  if (!messages.empty()) {
    json::object& last = messages.back().as_object();
    if (last["role"] == "user" && last["content"].is_string()) {
      last["content"].as_string().append("\n\n").append(kAsk);
      return;
    }
  }
  messages.push_back(message_of("user", kAsk));
}

/// Returns the user's messages as items of an output.
json::array user_items(const json::array& conversation, const std::string& id) {
  json::array items;
  for (const json::value& entry : conversation) {
    const json::object& message = entry.as_object();
    if (message.at("role") != "user") continue;
    items.push_back(json::object{
        {"type", "message"},
        {"id", "msg_" + id + "_" + std::to_string(items.size())},
        {"status", "completed"},
        {"role", "user"},
        {"content",
         json::array{json::object{{"type", "input_text"}, {"text", message.at("content")}}}}});
  }
  return items;
}

/// Writes the response.compaction object at the end.
class CompactionWriter final : public ReplyWriter {
 public:
  CompactionWriter(std::string id, std::int64_t created, json::array kept)
      : id_(std::move(id)), created_(created), kept_(std::move(kept)) {}

  void begin(EventBatch& /*out*/) override {}
  void delta(std::size_t /*part*/, const Delta& delta, EventBatch& /*out*/) override {
    answer_.add(delta);
  }

  void end(std::span<const Finish> parts, EventBatch& out) override {
    kept_.push_back(json::object{
        {"type", "compaction"}, {"id", "cmp_" + id_}, {"encrypted_content", answer_.text}});
    out.begin();
    std::string& text = out.text();
    append_json_string(text.append("{\"id\":"), "resp_" + id_);
    append_number(text.append(",\"object\":\"response.compaction\",\"created_at\":"), created_);
    append_json(text.append(",\"output\":"), kept_);
    append_response_usage(parts.front().usage, text.append(",\"usage\":"));
    text.push_back('}');
    out.end();
  }

  [[nodiscard]] std::optional<ApiError> refuse() const override {
    if (answer_.text.find_first_not_of(" \t\r\n") != std::string::npos) return std::nullopt;
    return ApiError{.status = 500,
                    .type = "server_error",
                    .code = "internal_error",
                    .message = "the model wrote no summary"};
  }

  void fail(const ApiError& /*error*/, std::span<const Finish> /*parts*/,
            EventBatch& /*out*/) override {}

 private:
  const std::string id_;
  const std::int64_t created_;
  json::array kept_;
  TypedAnswer answer_;
};

}  // namespace

ApiResult<ApiCall> decode_compaction(simdjson::dom::object body, const ApiContext& context) {
  const auto previous = previous_response(body, context);
  BodyFields fields(body);
  if (!fields.has("model")) fields.fail("model", "is missing", api_code::kMissing);
  static_cast<void>(take_model(fields, context.card));
  Request request = take_request(fields, context);
  const auto instructions = fields.text("instructions");
  json::array conversation = take_conversation(fields, context, previous.get());
  static_cast<void>(take_service_tier(fields, context, request.request_class));
  take_harmless_fields(fields, FieldPlace::kRequest);
  if (request.sampling.n != 1) fields.fail("n", "must be 1", api_code::kUnsupported);
  check_request(fields, request, *context.card.model);
  if (auto error = fields.finish()) return *std::move(error);

  json::array kept = user_items(conversation, context.id);
  if (instructions) {
    conversation = with_instructions(json::value(*instructions), conversation);
  }
  ask_for_summary(conversation);
  request.messages = std::move(conversation);
  request.typed_output = true;  // thoughts are not part of the summary, and would use up its tokens
  set_thinking(request, false);
  request.thinking_budget = 0;
  request.max_tokens = defaults::kSummaryTokens;
  request.clip_max_tokens = true;
  ApiCall call;
  call.parts.push_back(std::move(request));
  call.object_id = "resp_" + context.id;
  call.writer = std::make_unique<CompactionWriter>(context.id, context.created, std::move(kept));
  return call;
}

json::object message_of_compaction(std::string_view summary) {
  return message_of("assistant", std::string(kSummary).append(summary));
}

}  // namespace weft
