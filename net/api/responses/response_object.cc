#include "weft/net/api/responses/response_object.h"

#include <algorithm>
#include <chrono>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/guess_usage.h"

namespace weft {

void append_response_usage(const Usage& usage, std::string& out) {
  out.append("{\"input_tokens\":");
  append_number(out, usage.prompt_tokens);
  out.append(",\"input_tokens_details\":{\"cached_tokens\":");
  append_number(out, usage.cached_tokens);
  out.append(",\"cache_write_tokens\":0}");
  out.append(",\"output_tokens\":");
  append_number(out, usage.output_tokens);
  append_number(out.append(",\"output_tokens_details\":{\"reasoning_tokens\":"),
                usage.reasoning_tokens);
  append_guess_usage(usage, out);
  out.append("},\"total_tokens\":");
  append_number(out, std::int64_t{usage.prompt_tokens} + usage.output_tokens);
  out.push_back('}');
}

namespace {

void append_error_field(const ApiError* error, std::string& out) {
  out.append(",\"error\":");
  if (error == nullptr) {
    out.append("null");
    return;
  }
  out.append("{\"code\":");
  append_json_string(out, error->code.empty() ? error->type : error->code);
  out.append(",\"message\":");
  append_json_string(out, error->message);
  out.push_back('}');
}

}  // namespace

ResponseObject::ResponseObject(const ResponseOptions& options) : created_at_(options.created) {
  head_ = "{\"id\":";
  append_json_string(head_, options.id);
  head_.append(",\"object\":\"response\",\"status\":");
  constant_ = ",\"created_at\":";
  append_number(constant_, created_at_);
  for (const auto& field : options.echo) {
    constant_.push_back(',');
    append_json_string(constant_, field.key());
    constant_.push_back(':');
    append_json(constant_, field.value());
  }
}

std::string ResponseObject::make(const ResponseState& state, std::string_view items) const {
  std::string out = head_;
  append_json_string(out, state.status);
  out.append(constant_).append(",\"output\":[").append(items).append("],\"usage\":");
  if (state.usage != nullptr) {
    append_response_usage(*state.usage, out);
  } else {
    out.append("null");
  }
  append_error_field(state.error, out);
  out.append(",\"incomplete_details\":");
  if (state.incomplete_reason.empty()) {
    out.append("null");
  } else {
    out.append("{\"reason\":");
    append_json_string(out, state.incomplete_reason);
    out.push_back('}');
  }
  out.append(",\"completed_at\":");
  if (state.status == "completed") {
    append_number(out, state.completed_at);
  } else {
    out.append("null");
  }
  out.push_back('}');
  return out;
}

std::int64_t ResponseObject::completed_at(const RequestTimes& times) const {
  const auto took = std::chrono::round<std::chrono::seconds>(times.ended - times.arrived);
  return created_at_ + std::max<std::int64_t>(took.count(), 0);
}

}  // namespace weft
