#include "weft/net/routes/status_handlers.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/core/prometheus.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/llama_api.h"
#include "weft/net/api/text_api.h"
#include "weft/net/http/header_values.h"
#include "weft/net/page/web_page.h"
#include "weft/net/service/service.h"

namespace weft::handlers {
namespace {

boost::json::array numbers_of(const std::vector<RequestId>& ids) {
  boost::json::array numbers;
  for (const RequestId id : ids) numbers.push_back(id.value());
  return numbers;
}

/// Lists the rows up to the last one in use.
boost::json::array rows_of(const Engine& engine) {
  boost::json::array list;
  const std::vector<RowHolder> rows = engine.rows();
  std::size_t used = rows.size();
  while (used > 0 && !rows[used - 1].request) --used;
  for (std::size_t i = 0; i < used; ++i) {
    if (!rows[i].request) {
      list.push_back(nullptr);
      continue;
    }
    list.push_back(boost::json::object{{"request", rows[i].request.value()},
                                       {"phase", rows[i].decodes ? "decode" : "prefill"}});
  }
  return list;
}

boost::json::object engine_object(const Engine& engine) {
  const EngineStats stats = engine.stats();
  return {{"requests", stats.requests},
          {"rows", stats.rows},
          {"running", stats.running},
          {"waiting", stats.waiting},
          {"pages", stats.pages},
          {"pages_free", stats.pages_free},
          {"pages_cached", stats.prefix_pages},
          {"pages_on_host", stats.host_pages},
          {"pages_in_files", stats.file_pages},
          {"ticks", stats.ticks},
          {"prompt_tokens", stats.prompt_tokens},
          {"output_tokens", stats.output_tokens},
          {"preemptions", stats.preemptions},
          {"finished", stats.finished},
          {"first_token_median_seconds", stats.first_token_median}};
}

boost::json::object entry_object(const RunningAnswers::Entry& entry, std::string_view owner) {
  const auto if_own = [own = entry.key == owner](const std::string& id) {
    return own ? boost::json::value(id) : boost::json::value();
  };
  const std::chrono::duration<double> age = std::chrono::steady_clock::now() - entry.began;
  return {{"id", if_own(entry.object_id)},
          {"request_id", if_own(entry.request_id)},
          {"engine_requests", numbers_of(entry.answer->engine_requests())},
          {"path", entry.path},
          {"client", entry.key},
          {"class", entry.request_class},
          {"seconds", age.count()},
          {"unread_bytes", entry.answer->unread_bytes()}};
}

}  // namespace

RouteResult models(Service& service, const HttpCall& /*call*/) {
  return HttpReply{.body = models_body(*service.models())};
}

RouteResult model(Service& service, const HttpCall& call) {
  const auto found = call.id.empty() ? std::nullopt : service.models()->named(call.id);
  if (found) return HttpReply{.body = model_body(*found)};
  return error_reply({.status = 404,
                      .code = "model_not_found",
                      .param = "model",
                      .message = "this server has no model of that name; /v1/models lists them"});
}

RouteResult tokenizer_info(Service& service, const HttpCall& /*call*/) {
  const ParsedBody nothing("{}");  // an empty body names no model, which means the first
  const auto card = service.loaded_card_for(*nothing.object());
  if (!card) return error_reply(card.error());
  return HttpReply{.body = tokenizer_info_body(*card)};
}

RouteResult llama_model(Service& service, const HttpCall& call) {
  const auto card = service.loaded_card_in(call.query);
  if (!card) return error_reply(card.error());
  return HttpReply{.body = llama_props(*card, service.engine()->rows().size())};
}

RouteResult llama_slot_list(Service& service, const HttpCall& call) {
  const auto card = service.loaded_card_in(call.query);
  if (!card) return error_reply(card.error());
  std::vector<bool> busy;
  for (const RowHolder& row : service.engine()->rows())
    busy.push_back(static_cast<bool>(row.request));
  const bool full = std::ranges::find(busy, false) == busy.end();
  if (full && query_value(call.query, "fail_on_no_slot") == "1") {
    return error_reply(api_error_of({EngineErrc::kOverloaded, "no slot is free"}));
  }
  return HttpReply{.body = llama_slots(*card, busy)};
}

RouteResult health(Service& service, const HttpCall& /*call*/) {
  if (const auto reason = service.not_ready()) return error_reply(*reason);
  return HttpReply{.body = R"({"status":"ok"})"};
}

RouteResult live(Service& /*service*/, const HttpCall& /*call*/) {
  return HttpReply{.body = R"({"status":"ok"})"};
}

RouteResult metrics(Service& service, const HttpCall& /*call*/) {
  return HttpReply{.content_type = std::string(kPrometheusContentType),
                   .body = service.metrics_text()};
}

RouteResult version(Service& /*service*/, const HttpCall& /*call*/) {
  return HttpReply{.body = json_text(boost::json::object{{"version", WEFT_VERSION}})};
}

RouteResult requests(Service& service, const HttpCall& call) {
  boost::json::array list;
  for (const RunningAnswers::Entry& entry : service.running().list()) {
    list.push_back(entry_object(entry, owner_of(call.key)));
  }
  boost::json::object body{{"requests", std::move(list)},
                           {"fine_tuning", service.fine_tuning() != nullptr}};
  if (const Engine* const engine = service.engine()) {
    body["engine"] = engine_object(*engine);
    body["rows"] = rows_of(*engine);
  }
  return HttpReply{.body = json_text(body)};
}

RouteResult page(Service& service, const HttpCall& /*call*/) {
  if (!service.config().web_page) {
    return error_reply({.status = 404, .code = "not_found", .message = "there is no page here"});
  }
  return HttpReply{.content_type = "text/html; charset=utf-8",
                   .body = std::string(web_page()),
                   .headers = {{"Content-Security-Policy", std::string(kWebPagePolicy)},
                               {"Cache-Control", "no-cache"},
                               {"X-Content-Type-Options", "nosniff"}}};
}

}  // namespace weft::handlers
