#include "weft/net/api/responses/response_items.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/tools/call_history.h"
#include "weft/net/api/tools/call_id.h"
#include "weft/net/api/tools/typed_answer.h"

namespace weft {
namespace {

ResponseItem::Kind kind_of(PieceKind piece) noexcept {
  switch (piece) {
    case PieceKind::kText:
      return ResponseItem::Kind::kMessage;
    case PieceKind::kReasoning:
      return ResponseItem::Kind::kReasoning;
    case PieceKind::kCallName:
    case PieceKind::kArguments:
    case PieceKind::kCallEnd:
    case PieceKind::kCallId:
      break;
  }
  return ResponseItem::Kind::kCall;
}

void append_head(std::string_view type, std::string_view id, std::string& out) {
  out.append("{\"type\":\"").append(type).append("\",\"id\":");
  append_json_string(out, id);
}

void append_name(const ToolOrigin& tool, std::string& out) {
  append_json_string(out.append(",\"name\":"), tool.name);
  if (tool.name_space.empty()) return;
  append_json_string(out.append(",\"namespace\":"), tool.name_space);
}

/// Appends a call with these arguments, up to its status.
void append_call(const ResponseItem& item, std::string_view arguments, std::string& out) {
  const ToolOrigin& tool = item.tool;
  append_head(tool.kind == ToolKind::kFunction ? "function_call"
              : tool.kind == ToolKind::kCustom ? "custom_tool_call"
                                               : "tool_search_call",
              item.id, out);
  append_json_string(out.append(",\"call_id\":"), item.call_id);
  switch (tool.kind) {
    case ToolKind::kFunction:
      append_name(tool, out);
      return append_json_string(out.append(",\"arguments\":"), arguments);
    case ToolKind::kCustom:
      append_name(tool, out);
      return append_json_string(out.append(",\"input\":"), custom_input(arguments));
    case ToolKind::kSearch:
      out.append(R"(,"execution":"client","arguments":)").append(arguments_object(arguments));
  }
}

/// Returns the prefix of an item's id.
std::string_view prefix_of(const ResponseItem& item) noexcept {
  if (item.kind == ResponseItem::Kind::kMessage) return "msg_";
  if (item.kind == ResponseItem::Kind::kReasoning) return "rs_";
  if (item.tool.kind == ToolKind::kCustom) return "ctc_";
  return item.tool.kind == ToolKind::kSearch ? "tsc_" : "fc_";
}

}  // namespace

std::string ResponseItem::json(std::string_view status_now, bool content) const {
  std::string out;
  switch (kind) {
    case ResponseItem::Kind::kMessage:
      append_head("message", id, out);
      out.append(",\"role\":\"assistant\",\"status\":");
      append_json_string(out, status_now);
      out.append(",\"content\":[").append(content ? part(true) : "").append("]}");
      break;
    case ResponseItem::Kind::kReasoning:
      append_head("reasoning", id, out);
      out.append(",\"summary\":[],\"status\":");
      append_json_string(out, status_now);
      out.append(",\"content\":[").append(content ? part(true) : "").append("]}");
      break;
    case ResponseItem::Kind::kCall:
      append_call(*this, content ? text : std::string_view{}, out);
      append_json_string(out.append(",\"status\":"), status_now);
      out.push_back('}');
      break;
  }
  return out;
}

std::string ResponseItem::part(bool content) const {
  std::string out = "{\"type\":\"";
  out.append(kind == ResponseItem::Kind::kReasoning ? "reasoning_text" : "output_text")
      .append("\",\"text\":");
  append_json_string(out, content ? text : std::string_view{});
  if (kind == ResponseItem::Kind::kMessage) {
    out.append(",\"annotations\":[],\"logprobs\":[");
    if (content) out.append(logprobs);
    out.push_back(']');
  }
  out.push_back('}');
  return out;
}

ResponseItems::ResponseItems(const ResponseOptions& options)
    : tools_(options.tools), response_id_(options.id), message_id_(options.message_id) {}

ResponseItem* ResponseItems::open() noexcept {
  return items_.empty() || !items_.back().status.empty() ? nullptr : &items_.back();
}

bool ResponseItems::ends_open_item(PieceKind kind) noexcept {
  const ResponseItem* const last = open();
  if (last == nullptr) return false;
  return last->kind != kind_of(kind) || kind == PieceKind::kCallName || kind == PieceKind::kCallId;
}

ResponseItem& ResponseItems::place_of(const OutputPiece& piece) {
  if (ResponseItem* const last = open()) return *last;
  ResponseItem item;
  item.kind = kind_of(piece.kind);
  item.index = items_.size();
  if (item.kind == ResponseItem::Kind::kCall) {
    item.name = piece.text;
    item.tool = tools_ ? tools_->of(item.name) : ToolOrigin{.name = item.name};
    item.call_id = call_id(std::exchange(next_call_id_, {}), response_id_, 0, calls_++);
  }
  item.id = id_of(item);
  items_.push_back(std::move(item));
  return items_.back();
}

std::string ResponseItems::id_of(const ResponseItem& item) const {
  const std::string_view prefix = prefix_of(item);
  const bool first = std::ranges::none_of(
      items_, [prefix](const ResponseItem& other) { return prefix_of(other) == prefix; });
  std::string id = message_id_;  // "msg_" and the random part
  constexpr std::string_view kMessagePrefix = "msg_";
  if (id.starts_with(kMessagePrefix)) id.replace(0, kMessagePrefix.size(), prefix);
  return first ? id : id + "_" + std::to_string(items_.size());
}

std::string ResponseItems::json(std::string_view status) const {
  std::string out;
  for (const ResponseItem& item : items_) {
    if (item.index > 0) out.push_back(',');
    out.append(item.json(item.status.empty() ? status : item.status, true));
  }
  return out;
}

boost::json::object ResponseItems::message(const ServedModel& model) const {
  std::string text;
  std::string reasoning;
  boost::json::array calls;
  for (const ResponseItem& item : items_) {
    if (item.kind == ResponseItem::Kind::kMessage) text.append(item.text);
    if (item.kind == ResponseItem::Kind::kReasoning) reasoning.append(item.text);
    if (item.kind == ResponseItem::Kind::kCall)
      calls.push_back(call_of(item.call_id, item.name, item.text));
  }
  boost::json::object message{{"role", "assistant"}, {"content", text}};
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  set_reasoning(model, reasoning, message);
  return message;
}

}  // namespace weft
