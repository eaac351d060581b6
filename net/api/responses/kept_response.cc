#include "weft/net/api/responses/kept_response.h"

#include <simdjson.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/net/api/event_batch.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/fields/json_value.h"

namespace weft {
namespace {

namespace json = boost::json;

/// Writes the events that a response object stands for.
class Replay {
 public:
  explicit Replay(json::object response) : response_(std::move(response)) {}

  std::string events() && {
    const json::object begun = beginning();
    add("response.created", {{"response", begun}});
    add("response.in_progress", {{"response", begun}});
    for (const json::value& item : response_.at("output").as_array()) add_item(item.as_object());
    const json::string& status = response_.at("status").as_string();
    const std::string last = "response." + std::string(status.data(), status.size());
    add(last, {{"response", std::move(response_)}});
    out_.add("[DONE]");
    return std::string(out_.bytes());
  }

 private:
  /// The response as it was before anything came.
  [[nodiscard]] json::object beginning() const {
    json::object begun = response_;
    begun["status"] = "in_progress";
    begun["output"] = json::array();
    for (const char* name : {"usage", "error", "incomplete_details", "completed_at"}) {
      begun[name] = nullptr;
    }
    return begun;
  }

  void add(std::string_view type, json::object fields) {
    out_.begin(type);
    json::object event{{"type", type}, {"sequence_number", sequence_++}};
    for (auto& field : fields) event.emplace(field.key(), std::move(field.value()));
    append_json(out_.text(), event);
    out_.end();
  }

  /// A message, which has one part.
  void add_item(const json::object& item) {
    json::object empty = item;
    empty["status"] = "in_progress";
    empty["content"] = json::array();
    add("response.output_item.added", {{"output_index", 0}, {"item", std::move(empty)}});
    for (const json::value& part : item.at("content").as_array()) {
      add_part(item.at("id"), part.as_object());
    }
    add("response.output_item.done", {{"output_index", 0}, {"item", item}});
  }

  void add_part(const json::value& item_id, const json::object& part) {
    const auto about = [&item_id](const char* name, json::value value) {
      return json::object{
          {"item_id", item_id}, {"output_index", 0}, {"content_index", 0}, {name, value}};
    };
    const json::value& logprobs = part.at("logprobs");
    json::object empty = part;
    empty["text"] = "";
    empty["logprobs"] = json::array();
    add("response.content_part.added", about("part", std::move(empty)));
    for (const auto& [event, name] : {std::pair("delta", "delta"), {"done", "text"}}) {
      json::object fields = about(name, part.at("text"));
      fields["logprobs"] = logprobs;
      add("response.output_text." + std::string(event), std::move(fields));
    }
    add("response.content_part.done", about("part", part));
  }

  json::object response_;
  EventBatch out_{Framing::kSse};
  std::int64_t sequence_ = 0;
};

/// Items have no ids of their own: "msg_" and the random part of the response's, with their place.
std::string input_item_id(const StoredResponse& response, std::size_t index) {
  std::string_view name = response.id;
  if (name.starts_with("resp_")) name.remove_prefix(5);
  return "msg_" + std::string(name) + "_" + std::to_string(index);
}

json::object item_of(const StoredResponse& response, std::size_t index) {
  const json::object& message = response.conversation[index].as_object();
  const bool said = message.at("role") == "assistant";
  json::object part{{"type", said ? "output_text" : "input_text"}, {"text", message.at("content")}};
  if (said) part["annotations"] = json::array();
  return {{"type", "message"},
          {"id", input_item_id(response, index)},
          {"status", "completed"},
          {"role", message.at("role")},
          {"content", json::array{std::move(part)}}};
}

json::value id_or_null(const json::array& items, bool last) {
  if (items.empty()) return nullptr;
  return (last ? items.back() : items.front()).at("id");
}

}  // namespace

std::string replay_events(const StoredResponse& response) {
  simdjson::dom::parser parser;  // which reads numbers as they were written
  return Replay(to_json(parser.parse(response.object).value()).as_object()).events();
}

ApiResult<std::string> input_items(const StoredResponse& response, const InputItemsPage& page) {
  const std::size_t count = response.conversation.size() - (response.answered ? 1 : 0);
  const auto nth = [&](std::size_t place) { return page.ascending ? place : count - 1 - place; };
  std::size_t begin = 0;
  if (!page.after.empty()) {
    while (begin < count && input_item_id(response, nth(begin)) != page.after) ++begin;
    if (begin++ == count) return bad_field("after", shown(page.after) + " is none of the items");
  }
  const std::size_t end = std::min(count, begin + page.limit);
  json::array items;
  for (std::size_t i = begin; i < end; ++i) items.push_back(item_of(response, nth(i)));
  json::object list{{"object", "list"}};
  list["first_id"] = id_or_null(items, false);
  list["last_id"] = id_or_null(items, true);
  list["has_more"] = end < count;
  list["data"] = std::move(items);
  return json_text(list);
}

}  // namespace weft
