#include "weft/cli/batch/batch_lines.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/service/random_id.h"

namespace weft::cli {
namespace {

namespace json = boost::json;

/// The paths whose answers are whole bodies of a model.
constexpr auto kPaths = std::to_array<std::string_view>({
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/embeddings",
    "/v1/rerank",
    "/v2/rerank",
    "/v1/score",
    "/v1/classify",
    "/v1/fill-mask",
});

// The beginning of the ids of OpenAI's results, and so of all lines that are written here.
constexpr std::string_view kIdStart = "batch_req_";
constexpr std::string_view kResultStart = R"({"id":"batch_req_)";

/// Returns a field that is a string; else null.
const json::string* text_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_string();
}

std::string path_list() {
  std::string list;
  for (const std::string_view path : kPaths) list.append(list.empty() ? "" : ", ").append(path);
  return list;
}

std::string invalid_line(const json::object& line) {
  const json::string* method = text_in(line, "method");
  if (method == nullptr || *method != "POST") return "method must be \"POST\"";
  const json::string* url = text_in(line, "url");
  if (url == nullptr || std::ranges::find(kPaths, std::string_view(*url)) == kPaths.end()) {
    return "url must be one of " + path_list();
  }
  const json::value* body = line.if_contains("body");
  if (body == nullptr || !body->is_object()) return "body must be an object";
  const json::object& fields = body->as_object();
  const json::value* background = fields.if_contains("background");
  if (background != nullptr && *background != false && !background->is_null()) {
    return "body.background: a batch waits for its answers";
  }
  const json::value* stream = fields.if_contains("stream");
  if (stream != nullptr && *stream != false && !stream->is_null()) {
    return "body.stream: a batch's answers do not stream";
  }
  return {};
}

std::string result_of(std::string_view custom_id, json::value response, json::value error) {
  // Fields are moved in, where an initializer list would copy: bodies may be large.
  json::object line;
  line["id"] = std::string(kIdStart) + random_id();
  line["custom_id"] = custom_id;
  line["response"] = std::move(response);
  line["error"] = std::move(error);
  return json_text(line) + '\n';
}

boost::system::result<json::object, LineError> object_in(std::string_view line) {
  json::error_code error;
  json::value parsed = json::parse(line, error);
  if (error) return LineError{"invalid_json", "is no JSON: " + error.message()};
  if (!parsed.is_object()) return LineError{"invalid_json", "is no JSON object"};
  return {boost::system::in_place_value, std::move(parsed.as_object())};
}

boost::system::result<std::string, LineError> custom_id_in(const json::object& fields) {
  const json::string* id = text_in(fields, "custom_id");
  if (id == nullptr || id->empty()) {
    return LineError{"invalid_request", "has no \"custom_id\" that is a text"};
  }
  // Constructed in place, since an error could be made of a string, too.
  return {boost::system::in_place_value, std::string(*id)};
}

bool has_object(const json::object& fields, std::string_view name) {
  const json::value* value = fields.if_contains(name);
  return value != nullptr && value->is_object();
}

}  // namespace

boost::system::result<std::string, LineError> custom_id_of(std::string_view line) {
  const auto fields = object_in(line);
  if (!fields) return fields.error();
  return custom_id_in(*fields);
}

boost::system::result<std::string, LineError> result_id_of(std::string_view line) {
  const auto fields = object_in(line);
  if (!fields) return fields.error();
  if (!has_object(*fields, "response") && !has_object(*fields, "error")) {
    return LineError{"no_result", "is no result: it has neither a \"response\" nor an \"error\""};
  }
  return custom_id_in(*fields);
}

bool may_be_cut_result(std::string_view text) {
  return text.starts_with(kResultStart) || kResultStart.starts_with(text);
}

BatchLine parse_batch_line(std::string_view line) {
  json::value parsed = json::parse(line);
  json::object& fields = parsed.as_object();
  BatchLine result;
  result.custom_id = fields.at("custom_id").as_string();
  if (std::string wrong = invalid_line(fields); !wrong.empty()) {
    result.error = LineError{"invalid_request", std::move(wrong)};
    return result;
  }
  result.path = fields.at("url").as_string();
  result.body = std::move(fields.at("body").as_object());
  return result;
}

std::string result_line(std::string_view custom_id, unsigned status, std::string_view request_id,
                        std::string_view body) {
  json::error_code error;
  json::value parsed = json::parse(body, error);
  if (error) parsed = body;
  json::object response;
  response["status_code"] = status;
  response["request_id"] = request_id;
  response["body"] = std::move(parsed);
  return result_of(custom_id, std::move(response), nullptr);
}

std::string error_line(std::string_view custom_id, const LineError& error) {
  return result_of(custom_id, nullptr,
                   json::object{{"code", error.code}, {"message", error.message}});
}

}  // namespace weft::cli
