#include "weft/net/api/fields/api_error.h"

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/core/text/utf8.h"
#include "weft/net/api/fields/field_name.h"
#include "weft/sampling/sampling_error.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

constexpr std::string_view kInvalidRequest = "invalid_request_error";
constexpr std::string_view kServerError = "server_error";
constexpr std::string_view kServerText = "The server failed while it worked on this request.";

/// The bytes that are shown of a client's text. No field has a longer name.
constexpr std::size_t kShownBytes = 64;
/// The bytes that are shown of a message, into which a chat template may have put any text.
constexpr std::size_t kMessageBytes = 1024;

/// The Retry-After where no better estimate is known. An earlier retry would find neither a free
/// row nor a restarted server.
constexpr std::chrono::milliseconds kTryAgain{1000};

struct Answer {
  EngineErrc error;
  int status;
  std::string_view type;
  std::string_view code;
};

/// The status, type and code of each engine error whose cause the client may know.
constexpr std::array kAnswers = {
    Answer{EngineErrc::kOverloaded, 429, "rate_limit_error", "overloaded"},
    Answer{EngineErrc::kBadRequest, 400, kInvalidRequest, api_code::kInvalidValue},
    Answer{EngineErrc::kContextLengthExceeded, 400, kInvalidRequest, api_code::kContextLength},
    Answer{EngineErrc::kNeverFits, 400, kInvalidRequest, "never_fits"},
    Answer{EngineErrc::kNoTokenLeft, 400, kInvalidRequest, "no_token_left"},
    Answer{EngineErrc::kGrammarTooLarge, 400, kInvalidRequest, "grammar_too_large"},
    Answer{EngineErrc::kGrammarsFull, 503, kServerError, "grammars_full"},
    Answer{EngineErrc::kCancelled, 499, kInvalidRequest, "cancelled"},
    Answer{EngineErrc::kDeadlineExceeded, 408, "timeout_error", "deadline_exceeded"},
    Answer{EngineErrc::kSlowReader, 408, "timeout_error", "client_too_slow"},
    Answer{EngineErrc::kDeviceFailed, 500, kServerError, "device_failed"},
    Answer{EngineErrc::kStopping, 503, kServerError, "stopping"},
    Answer{EngineErrc::kNotReady, 503, kServerError, "not_ready"},
    Answer{EngineErrc::kNoSuchModel, 404, kInvalidRequest, api_code::kModelNotFound},
    Answer{EngineErrc::kModelNotLoaded, 503, kServerError, "model_not_loaded"},
    Answer{EngineErrc::kModelLoading, 503, kServerError, "model_loading"},
    Answer{EngineErrc::kModelUnloading, 503, kServerError, "model_unloading"},
    Answer{EngineErrc::kModelFailed, 503, kServerError, "model_failed"},
    Answer{EngineErrc::kNoSuchAdapter, 404, kInvalidRequest, api_code::kModelNotFound},
    Answer{EngineErrc::kAdapterFailed, 500, kServerError, "adapter_failed"},
    Answer{EngineErrc::kAdapterLoaded, 400, kInvalidRequest, "adapter_loaded"},
    Answer{EngineErrc::kNotNumbers, 500, kServerError, "model_failed"},
};

/// Maps other layers' codes to the engine's codes. Failures whose cause the client may not know
/// become kInternal.
EngineErrc engine_error_of(const boost::system::error_code& code) {
  if (code.category() == engine_category()) return static_cast<EngineErrc>(code.value());
  if (code.category() == sampling_category() || code.category() == text_category()) {
    return EngineErrc::kBadRequest;
  }
  if (code == boost::system::errc::operation_canceled) return EngineErrc::kCancelled;
  if (code == CoreErrc::kMailboxFull) return EngineErrc::kOverloaded;
  if (code == CoreErrc::kStopped) return EngineErrc::kStopping;
  if (code == CoreErrc::kNotReady) return EngineErrc::kNotReady;
  return EngineErrc::kInternal;
}

/// Returns the field that `text` begins with, when ": " follows it.
std::string_view field_before_colon(std::string_view text) {
  const std::string_view field = leading_field(text);
  return text.substr(field.size()).starts_with(": ") ? field : std::string_view();
}

/// Returns the field that a detail names. The engine writes the request's part before that part's
/// own message: "stop: stop[1]: ...", "sampling: top_p: ...".
std::string_view field_in(std::string_view detail) {
  const std::string_view field = field_before_colon(detail);
  if (field.empty()) return {};
  const std::string_view inner = field_before_colon(detail.substr(field.size() + 2));
  const bool narrower = field == "sampling" || inner.starts_with(field);
  return inner.empty() || !narrower ? field : inner;
}

/// Returns the message for a client: the detail alone where it is a whole sentence, else the
/// error's words and the detail.
std::string text_for_client(const Error& error, EngineErrc why) {
  const bool whole = why == EngineErrc::kContextLengthExceeded && !error.detail.empty();
  return whole ? error.detail : to_string(error);
}

std::string cut(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return lossy_utf8(text);
  return lossy_utf8(cut_utf8(text, bytes)) + "...";
}

boost::json::value text_or_null(std::string_view text) {
  return text.empty() ? boost::json::value() : boost::json::value(lossy_utf8(text));
}

boost::json::object json_of(const ApiError& error) {
  return {{"message", lossy_utf8(error.message)},
          {"type", lossy_utf8(error.type)},
          {"param", text_or_null(error.param)},
          {"code", text_or_null(error.code)}};
}

}  // namespace

void throw_exception_from_error(const ApiError& error, const boost::source_location& /*where*/) {
  throw boost::system::system_error(make_error_code(EngineErrc::kBadRequest), error.message);
}

ApiError bad_field(std::string_view param, std::string_view what, std::string_view code) {
  ApiError error;
  error.code = code;
  error.param = lossy_utf8(param);
  if (!param.empty()) error.message.append(error.param).append(": ");
  error.message += lossy_utf8(what);
  return error;
}

std::string shown_path(std::string_view path) { return cut(path, kShownBytes); }

std::string shown(std::string_view text) { return "\"" + cut(text, kShownBytes) + "\""; }

ApiError api_error_of(const Error& error, std::chrono::milliseconds retry_after) {
  const EngineErrc why = engine_error_of(error.code);
  const auto* const answer = std::ranges::find(kAnswers, why, &Answer::error);
  ApiError result;
  if (answer == kAnswers.end()) {
    result.status = 500;
    result.type = kServerError;
    result.code = "internal_error";
    result.message = kServerText;
    return result;
  }
  result.status = answer->status;
  result.type = answer->type;
  result.code = answer->code;
  if (answer->status == 429 || answer->status == 503) {
    result.retry_after = retry_after.count() > 0 ? retry_after : kTryAgain;
  }
  // A detail about the server's state is for the operator, not for the client.
  const bool clients = answer->status < 500;
  result.message =
      clients ? cut(text_for_client(error, why), kMessageBytes) : make_error_code(why).message();
  if (answer->status == 400 || answer->status == 404) result.param = field_in(result.message);
  return result;
}

void append_error(const ApiError& error, std::string& out) {
  out += boost::json::serialize(json_of(error));
}

void append_error_event(const ApiError& error, std::string_view stream_id, std::string& out) {
  out.append(R"({"type":"error","status":)").append(std::to_string(error.status));
  if (!stream_id.empty()) {
    out.append(R"(,"stream_id":)").append(boost::json::serialize(boost::json::string(stream_id)));
  }
  out.append(R"(,"error":)");
  append_error(error, out);
  out.push_back('}');
}

std::string error_body(const ApiError& error) {
  std::string body = "{\"error\":";
  append_error(error, body);
  body += '}';
  return body;
}

}  // namespace weft
