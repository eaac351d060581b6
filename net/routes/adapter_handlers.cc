#include "weft/net/routes/adapter_handlers.h"

#include <string>
#include <utility>

#include "weft/actors/adapters/adapter_info.h"
#include "weft/actors/engine_error.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/llama_api.h"
#include "weft/net/service/service.h"

namespace weft::handlers {
namespace {

/// Reads the body of one of vLLM's two calls.
ApiResult<AdapterChange> read_change(std::string_view text, bool unloads) {
  const ParsedBody body(text);
  if (!body.object()) return body.object().error();
  const BodyFields fields(*body.object());
  AdapterChange change(std::string(fields.needed_text("lora_name")));
  change.unloads = unloads;
  change.model = fields.text("model").value_or(std::string_view());
  if (unloads) {
    fields.ignore({"lora_int_id"});  // vLLM's own number of the adapter
  } else {
    change.path = fields.text("lora_path").value_or(std::string_view());
    change.replaces = fields.flag("load_inplace").value_or(false);
  }
  if (auto error = fields.finish()) return *std::move(error);
  return change;
}

/// Returns the field of the body that an error is about; empty: none.
std::string_view field_of(const Error& error, const AdapterChange& change) {
  if (error.code == EngineErrc::kNoSuchAdapter || error.code == EngineErrc::kAdapterLoaded) {
    return "lora_name";
  }
  if (error.code == EngineErrc::kNoSuchModel) return "model";
  // Without a path the name is the adapter's place.
  if (error.code == EngineErrc::kAdapterFailed) {
    return change.path.empty() ? "lora_name" : "lora_path";
  }
  if (error.code != EngineErrc::kBadRequest) return {};
  return error.detail.starts_with("name: ") ? "lora_name" : "lora_path";
}

/// Returns the error with its reason, which only the server's operator may see.
HttpReply refusal(const Error& error, const AdapterChange& change) {
  ApiError shown = api_error_of(error);
  if (error.code == EngineErrc::kAdapterFailed) {
    shown.status = 400;
    shown.type = ApiError().type;
  }
  shown.message = to_string(error);
  if (shown.status < 500) shown.param = field_of(error, change);
  return error_reply(shown);
}

/// Replies in vLLM's words.
HttpReply done_reply(const AdapterChange& change) {
  return {.content_type = "text/plain; charset=utf-8",
          .body = "Success: LoRA adapter '" + change.name + "' " +
                  (change.unloads ? "removed" : "added") + " successfully."};
}

RouteResult change_adapter(Service& service, const HttpCall& call, bool unloads) {
  if (auto refused = service.refuse_admin(call)) return error_reply(*refused);
  if (auto reason = service.not_ready()) return error_reply(*reason);
  auto change = read_change(call.body, unloads);
  if (!change) return error_reply(change.error());
  return LaterReply([&service, change = *std::move(change)](auto done) {
    auto reply = [change, done = std::move(done)](boost::system::error_code error,
                                                  std::string detail) {
      done(reply_or_500([&] {
        return error ? refusal({error, std::move(detail)}, change) : done_reply(change);
      }));
    };
    Engine& engine = *service.engine();
    if (change.unloads) {
      engine.async_unload_adapter(change.name, change.model, std::move(reply));
    } else {
      engine.async_load_adapter(change, std::move(reply));
    }
  });
}

}  // namespace

RouteResult load_adapter(Service& service, const HttpCall& call) {
  return change_adapter(service, call, /*unloads=*/false);
}

RouteResult unload_adapter(Service& service, const HttpCall& call) {
  return change_adapter(service, call, /*unloads=*/true);
}

RouteResult llama_adapter_list(Service& service, const HttpCall& call) {
  const auto card = service.loaded_card_in(call.query);
  if (!card) return error_reply(card.error());
  return HttpReply{.body = llama_adapters(*card)};
}

RouteResult set_llama_adapters(Service& service, const HttpCall& call) {
  if (auto refused = service.refuse_admin(call)) return error_reply(*refused);
  const auto card = service.loaded_card_in(call.query);
  if (!card) return error_reply(card.error());
  const auto set = choose_llama_adapter(call.body, *card);
  if (!set) return error_reply(set.error());
  return HttpReply{.body = R"({"success":true})"};
}

}  // namespace weft::handlers
