#include "weft/cli/chat/response_messages.h"

#include <boost/json/parse.hpp>
#include <utility>

#include "weft/cli/server_refusal.h"
#include "weft/net/api/fields/json_text.h"

namespace weft::cli {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->as_string());
}

const json::object* object_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

std::int64_t number_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  json::error_code error;
  return value == nullptr ? 0 : value->to_number<std::int64_t>(error);
}

AnswerEnd refusal(const json::object& event) {
  AnswerEnd end{.kind = AnswerEnd::Kind::kRefused, .why = "the request was refused"};
  const std::int64_t status = number_of(event, "status");
  end.again = status == 429 || status == 503;
  if (const json::object* error = object_of(event, "error")) {
    if (auto message = text_of(*error, "message"); !message.empty()) end.why = std::move(message);
    const std::string code = text_of(*error, "code");
    // A request that is cancelled before it begins ends with an error event; one that has begun
    // ends like any other.
    if (code == "cancelled") end.kind = AnswerEnd::Kind::kCancelled;
    if (code == kEngineFailed) end.again = false;
    end.fewer_streams = code == "too_many_streams";
    end.context_full = code == "context_length_exceeded";
    end.param = text_of(*error, "param");
  }
  return end;
}

AnswerEnd end_of(std::string_view status, const json::object& event) {
  AnswerEnd end;
  const json::object* response = object_of(event, "response");
  const json::object nothing;
  if (response == nullptr) response = &nothing;
  if (const auto* usage = object_of(*response, "usage")) {
    end.output_tokens = number_of(*usage, "output_tokens");
  }
  if (status == "incomplete") {
    const auto* details = object_of(*response, "incomplete_details");
    const bool cancelled = details != nullptr && text_of(*details, "reason") == "cancelled";
    end.kind = cancelled ? AnswerEnd::Kind::kCancelled : AnswerEnd::Kind::kLength;
  } else if (status == "failed") {
    end.kind = AnswerEnd::Kind::kFailed;
    const auto* error = object_of(*response, "error");
    end.why = error == nullptr ? "the answer failed" : text_of(*error, "message");
  }
  return end;
}

}  // namespace

std::string create_message(const std::string& id, json::object request) {
  request["type"] = "response.create";
  request["stream_id"] = id;
  request["store"] = false;
  return json_text(request);
}

std::string cancel_message(const std::string& id) {
  return json_text(json::object{{"type", "response.cancel"}, {"stream_id", id}});
}

std::optional<ResponseEvent> parse_event(std::string_view message) {
  json::error_code error;
  const json::value value = json::parse(message, error);
  const json::object* event = error ? nullptr : value.if_object();
  if (event == nullptr) return std::nullopt;
  const std::string type = text_of(*event, "type");
  const std::string id = text_of(*event, "stream_id");
  if (type == "response.output_text.delta") return ResponseEvent{id, text_of(*event, "delta")};
  if (type == "response.reasoning_text.delta") {
    return ResponseEvent{id, AnswerThought{text_of(*event, "delta")}};
  }
  if (type == "response.output_item.done") {
    const json::object* item = object_of(*event, "item");
    if (item == nullptr || text_of(*item, "type") != "function_call") return std::nullopt;
    return ResponseEvent{id, AnswerCall{.id = text_of(*item, "call_id"),
                                        .name = text_of(*item, "name"),
                                        .arguments = text_of(*item, "arguments")}};
  }
  if (type == "error") return ResponseEvent{id, refusal(*event)};
  for (const std::string_view status : {"completed", "incomplete", "failed"}) {
    if (type == "response." + std::string(status)) return ResponseEvent{id, end_of(status, *event)};
  }
  return std::nullopt;
}

}  // namespace weft::cli
