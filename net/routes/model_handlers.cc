#include "weft/net/routes/model_handlers.h"

#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/text_api.h"
#include "weft/net/service/service.h"

namespace weft::handlers {
namespace {

/// Returns the name in a body {"model": name}.
ApiResult<std::string> name_in(std::string_view text) {
  const ParsedBody body(text);
  if (!body.object()) return body.object().error();
  BodyFields fields(*body.object());
  const auto name = fields.text("model");
  if (!name) fields.fail("model", "is missing", api_code::kMissing);
  if (auto error = fields.finish()) return *std::move(error);
  return std::string(*name);
}

/// Returns the error with its reason. Only the server's operator may see the reason.
ApiError error_of(Error error) {
  if (error.code.category() != engine_category()) {
    error = {EngineErrc::kModelFailed, to_string(error)};
  }
  ApiError shown = api_error_of(error);
  shown.message = to_string(error);
  return shown;
}

HttpReply reply_of(const Service& service, const std::string& name) {
  return reply_or_500([&]() -> HttpReply {
    const auto list = service.models();
    return {.body = model_body(*list->find(name))};
  });
}

/// Starts an operation by `begin(Engine&, name, handler)`.
template <class Begin>
RouteResult change(Service& service, const HttpCall& call, Begin begin) {
  if (auto refused = service.refuse_admin(call)) return error_reply(*refused);
  if (service.draining() || service.engine() == nullptr) return error_reply(*service.not_ready());
  auto name = name_in(call.body);
  if (!name) return error_reply(name.error());
  // An engine that was made over one pipeline has no named models, and nothing to load.
  if (service.engine()->models() == nullptr) {
    return error_reply(error_of({EngineErrc::kNoSuchModel, "model: " + *name}));
  }
  return LaterReply([&service, name = *std::move(name), begin](auto done) {
    begin(*service.engine(), name,
          [&service, name, done = std::move(done)](boost::system::error_code error,
                                                   std::string detail) {
            if (error) return done(error_reply(error_of({error, std::move(detail)})));
            done(reply_of(service, name));
          });
  });
}

}  // namespace

RouteResult load_model(Service& service, const HttpCall& call) {
  return change(service, call, [](Engine& engine, const std::string& name, auto handler) {
    engine.async_load(name, std::move(handler));
  });
}

RouteResult unload_model(Service& service, const HttpCall& call) {
  return change(service, call, [](Engine& engine, const std::string& name, auto handler) {
    engine.async_unload(name, std::move(handler));
  });
}

}  // namespace weft::handlers
