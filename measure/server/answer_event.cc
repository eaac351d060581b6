#include "weft/measure/server/answer_event.h"

#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace weft::measure {

namespace ondemand = simdjson::ondemand;

namespace {

constexpr std::string_view kUnknown = "unknown";

/// Returns the text between the quotes of a JSON string, with its escapes unchanged; empty for any
/// other value.
std::string_view raw_text(ondemand::value value) {
  std::string_view token = value.raw_json_token();
  while (!token.empty() && token.back() != '"') token.remove_suffix(1);
  if (token.size() < 2 || token.front() != '"') return {};
  return token.substr(1, token.size() - 2);
}

/// Returns a server's code, which is a string or a number.
std::string_view code_of(ondemand::value value) {
  const std::string_view text = raw_text(value);
  if (!text.empty()) return text;
  const std::string_view token = value.raw_json_token();
  const std::size_t digits = std::min(token.find_first_not_of("0123456789"), token.size());
  return token.substr(0, digits);
}

bool is_null(ondemand::value value) {
  return std::string_view(value.raw_json_token()).starts_with("null");
}

/// Calls on_field(key, value) for each field; returns false when the value is no object, or is
/// malformed.
template <class Object, class OnField>
bool for_fields(Object&& place, OnField&& on_field) {
  ondemand::object fields;
  if (place.get_object().get(fields) != simdjson::SUCCESS) return false;
  for (auto field : fields) {
    ondemand::raw_json_string key;
    ondemand::value value;
    if (field.key().get(key) != simdjson::SUCCESS) return false;
    if (field.value().get(value) != simdjson::SUCCESS) return false;
    on_field(key, value);
  }
  return true;
}

void read_count(ondemand::value value, std::optional<std::int32_t>& count) {
  std::int64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS) return;
  if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) return;
  count = static_cast<std::int32_t>(number);
}

/// Reads {"prompt_tokens", "completion_tokens"} or {"input_tokens", "output_tokens"}.
void read_usage(ondemand::value usage, AnswerEvent& event) {
  for_fields(usage, [&event](ondemand::raw_json_string key, ondemand::value value) {
    if (key == "prompt_tokens" || key == "input_tokens") read_count(value, event.prompt);
    if (key == "completion_tokens" || key == "output_tokens") read_count(value, event.output);
  });
}

/// Reads {"message", "type", "code"} or a string.
void read_error(ondemand::value error, AnswerEvent& event) {
  std::string_view code;
  std::string_view type;
  const std::string_view text = raw_text(error);
  if (text.empty()) {
    for_fields(error, [&](ondemand::raw_json_string key, ondemand::value value) {
      if (key == "code") code = code_of(value);
      if (key == "type") type = raw_text(value);
      if (key == "message") event.message = raw_text(value);
    });
  } else {
    event.message = text;
  }
  event.error = !code.empty() ? code : !type.empty() ? type : kUnknown;
}

/// Whether a chat's delta has a part of the answer. Servers begin with a delta that has only the
/// role.
bool brings_something(ondemand::value delta) {
  bool empty_text = false;
  bool text = false;
  bool role = false;
  for_fields(delta, [&](ondemand::raw_json_string key, ondemand::value value) {
    if (key == "role") role = !is_null(value);
    if (key != "content" && key != "reasoning_content" && key != "reasoning") return;
    if (is_null(value)) return;
    (raw_text(value).empty() ? empty_text : text) = true;
  });
  return text || (empty_text && !role);
}

/// Reads each choice. A token without text of its own yet, such as the first bytes of a letter, is
/// still a piece; only a choice that has finished must have text to be one.
void read_choices(ondemand::value choices, AnswerEvent& event) {
  ondemand::array list;
  if (choices.get_array().get(list) != simdjson::SUCCESS) return;
  for (auto choice : list) {
    bool finished = false;
    bool has_text = false;
    bool brings = false;
    for_fields(choice, [&](ondemand::raw_json_string key, ondemand::value value) {
      if (key == "finish_reason") finished = !is_null(value);
      if (key == "text") {
        brings = !is_null(value);
        has_text = !raw_text(value).empty();
      }
      if (key == "delta") brings = has_text = brings_something(value);
    });
    event.finished |= finished;
    event.piece |= has_text || (brings && !finished);
  }
}

}  // namespace

struct AnswerEventReader::Json {
  ondemand::parser parser{};
  std::vector<char> padded = std::vector<char>(4096);  // holds the event that is being read

  /// Parses a copy of `text` that has the padding the parser wants behind its end.
  simdjson::simdjson_result<ondemand::document> read(std::string_view text) {
    const std::size_t needed = text.size() + simdjson::SIMDJSON_PADDING;
    if (padded.size() < needed) padded.resize(2 * needed);
    std::ranges::copy(text, padded.begin());
    return parser.iterate(padded.data(), text.size(), padded.size());
  }
};

AnswerEventReader::AnswerEventReader() : json_(std::make_unique<Json>()) {}
AnswerEventReader::~AnswerEventReader() = default;

std::optional<AnswerEvent> AnswerEventReader::completion(std::string_view data) {
  AnswerEvent event;
  if (data == "[DONE]") {
    event.finished = true;
    return event;
  }
  ondemand::document document;
  if (json_->read(data).get(document) != simdjson::SUCCESS) return std::nullopt;
  const bool whole =
      for_fields(document, [&event](ondemand::raw_json_string key, ondemand::value value) {
        if (key == "choices") return read_choices(value, event);
        if (key == "usage" && !is_null(value)) return read_usage(value, event);
        if (key == "error" && !is_null(value)) return read_error(value, event);
      });
  if (!whole) return std::nullopt;
  return event;
}

std::optional<AnswerEvent> AnswerEventReader::response(std::string_view message) {
  AnswerEvent event;
  ondemand::document document;
  if (json_->read(message).get(document) != simdjson::SUCCESS) return std::nullopt;
  std::string_view type;
  bool failed = false;
  const bool whole =
      for_fields(document, [&](ondemand::raw_json_string key, ondemand::value value) {
        if (key == "type") type = raw_text(value);
        if (key == "stream_id") event.stream_id = raw_text(value);
        if (key == "error" && !is_null(value)) read_error(value, event);
        // Only the last event's usage and errors apply to the whole answer.
        if (key != "response" || type.ends_with(".created") || type.ends_with(".in_progress"))
          return;
        for_fields(value, [&event](ondemand::raw_json_string name, ondemand::value field) {
          if (name == "usage" && !is_null(field)) read_usage(field, event);
          if (name == "error" && !is_null(field)) read_error(field, event);
        });
      });
  if (!whole || type.empty()) return std::nullopt;
  event.piece = type == "response.output_text.delta" || type == "response.reasoning_text.delta";
  event.finished = type == "response.completed" || type == "response.incomplete";
  failed = type == "response.failed" || type == "error";
  if (failed && event.error.empty()) event.error = kUnknown;
  return event;
}

AnswerEvent AnswerEventReader::failure(std::string_view body) {
  AnswerEvent event;
  ondemand::document document;
  if (json_->read(body).get(document) != simdjson::SUCCESS) return event;
  std::string_view code;
  for_fields(document, [&](ondemand::raw_json_string key, ondemand::value value) {
    if (key == "error" && !is_null(value)) read_error(value, event);
    // Some servers put the error's fields outside of "error".
    if (key == "message" && event.message.empty()) event.message = raw_text(value);
    if (key == "code") code = code_of(value);
  });
  if (event.error.empty() || event.error == kUnknown) event.error = code;
  return event;
}

}  // namespace weft::measure
