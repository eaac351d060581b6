#include "weft/net/api/responses/response_events.h"

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/tools/tool_origin.h"

namespace weft {
namespace {

/// Returns the name of an event of an item's text: "response.NAME.delta" or "response.NAME.done".
std::string_view text_event(ResponseItem::Kind kind, bool done) noexcept {
  switch (kind) {
    case ResponseItem::Kind::kMessage:
      return done ? "response.output_text.done" : "response.output_text.delta";
    case ResponseItem::Kind::kReasoning:
      return done ? "response.reasoning_text.done" : "response.reasoning_text.delta";
    case ResponseItem::Kind::kCall:
      break;
  }
  return done ? "response.function_call_arguments.done" : "response.function_call_arguments.delta";
}

}  // namespace

ResponseEvents::ResponseEvents(std::string_view stream_id) {
  if (stream_id.empty()) return;
  stream_field_ = ",\"stream_id\":";
  append_json_string(stream_field_, stream_id);
}

void ResponseEvents::response(std::string_view type, std::string_view object, EventBatch& out) {
  begin_event(type, out);
  end_event("response", object, out);
}

void ResponseEvents::begin_item(const ResponseItem& begun, EventBatch& out) {
  item("response.output_item.added", begun, begun.json("in_progress", false), out);
  if (begun.kind == ResponseItem::Kind::kCall) return;
  part("response.content_part.added", begun, begun.part(false), out);
}

void ResponseEvents::delta(const ResponseItem& item, std::string_view new_text,
                           std::string_view logprobs, EventBatch& out) {
  if (!item.comes_in_pieces()) return;
  std::string& text = begin_event(text_event(item.kind, false), out);
  append_place(item, text);
  append_number_field(text);
  append_json_string(text.append(",\"delta\":"), new_text);
  if (item.kind == ResponseItem::Kind::kMessage) {
    text.append(",\"logprobs\":[").append(logprobs).append("]");
  }
  text.push_back('}');
  out.end();
}

void ResponseEvents::end_item(const ResponseItem& ended, std::string_view status, EventBatch& out) {
  if (!ended.comes_in_pieces()) {
    if (ended.tool.kind == ToolKind::kCustom) input(ended, out);
    return item("response.output_item.done", ended, ended.json(status, true), out);
  }
  const bool call = ended.kind == ResponseItem::Kind::kCall;
  std::string& text = begin_event(text_event(ended.kind, true), out);
  append_place(ended, text);
  if (ended.kind == ResponseItem::Kind::kMessage) {
    text.append(",\"logprobs\":[").append(ended.logprobs).append("]");
  }
  if (call) append_json_string(text.append(",\"name\":"), ended.tool.name);
  std::string whole;
  append_json_string(whole, ended.text);
  end_event(call ? "arguments" : "text", whole, out);
  if (!call) part("response.content_part.done", ended, ended.part(true), out);
  item("response.output_item.done", ended, ended.json(status, true), out);
}

/// Writes the input of a custom tool, which is complete once the call has ended.
void ResponseEvents::input(const ResponseItem& ended, EventBatch& out) {
  std::string whole;
  append_json_string(whole, custom_input(ended.text));
  append_place(ended, begin_event("response.custom_tool_call_input.delta", out));
  end_event("delta", whole, out);
  append_place(ended, begin_event("response.custom_tool_call_input.done", out));
  end_event("input", whole, out);
}

void ResponseEvents::error(const ApiError& error, EventBatch& out) {
  std::string& text = begin_event("error", out);
  text.append(",\"code\":");
  append_json_string_or_null(text, error.code);
  text.append(",\"param\":");
  append_json_string_or_null(text, error.param);
  std::string message;
  append_json_string(message, error.message);
  end_event("message", message, out);
}

/// Begins an event with {"type":...,"stream_id":...
std::string& ResponseEvents::begin_event(std::string_view type, EventBatch& out) {
  out.begin(type);
  out.text().append("{\"type\":\"").append(type).append("\"").append(stream_field_);
  return out.text();
}

/// Ends an event with ,"sequence_number":...,NAME:VALUE}
void ResponseEvents::end_event(std::string_view name, std::string_view value, EventBatch& out) {
  std::string& text = out.text();
  append_number_field(text);
  text.append(",\"").append(name).append("\":").append(value).append("}");
  out.end();
}

void ResponseEvents::append_number_field(std::string& text) {
  append_number(text.append(",\"sequence_number\":"), sequence_++);
}

void ResponseEvents::append_place(const ResponseItem& item, std::string& text) {
  append_json_string(text.append(",\"item_id\":"), item.id);
  append_number(text.append(",\"output_index\":"), static_cast<std::int64_t>(item.index));
  if (item.kind != ResponseItem::Kind::kCall) text.append(",\"content_index\":0");
}

void ResponseEvents::item(std::string_view type, const ResponseItem& item, std::string_view json,
                          EventBatch& out) {
  std::string& text = begin_event(type, out);
  append_number(text.append(",\"output_index\":"), static_cast<std::int64_t>(item.index));
  end_event("item", json, out);
}

void ResponseEvents::part(std::string_view type, const ResponseItem& item, std::string_view json,
                          EventBatch& out) {
  append_place(item, begin_event(type, out));
  end_event("part", json, out);
}

}  // namespace weft
