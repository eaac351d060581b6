#include "weft/net/routes/adapter_handlers.h"

#include <boost/beast/http/field.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/actors/adapters/adapter_info.h"
#include "weft/actors/engine_error.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/llama_api.h"
#include "weft/net/http/multipart.h"
#include "weft/net/service/service.h"

namespace weft::handlers {
namespace {

/// The body of an upload, as long as the adapter's files are needed.
struct KeptBody {
  std::string text;
  BodyMemory::Share memory;
};

ApiResult<void> take_flag(std::string_view text, bool& flag) {
  if (text != "true" && text != "false")
    return bad_field("load_inplace", "must be true or false", api_code::kInvalidType);
  flag = text == "true";
  return {};
}

ApiResult<void> take_part(const FormPart& part, AdapterChange& change, UploadedFiles& files) {
  if (part.name == "file") {
    if (part.filename.empty()) return bad_field("file", "must be a file, with a filename");
    files.files.push_back({part.filename, part.content});
    return {};
  }
  if (part.name == "load_inplace") return take_flag(part.content, change.replaces);
  std::string* const text = part.name == "lora_name" ? &change.name
                            : part.name == "model"   ? &change.model
                                                     : nullptr;
  if (text == nullptr) return BodyWords::unknown(part.name);
  if (!text->empty()) return bad_field(part.name, "is there twice", api_code::kDuplicate);
  *text = part.content;
  return {};
}

/// Reads a form that brings the adapter's files.
ApiResult<AdapterChange> read_upload(const HttpCall& call) {
  auto body = std::make_shared<KeptBody>(std::string(call.body), std::move(call.memory));
  const auto parts = form_parts(call.header[boost::beast::http::field::content_type], body->text);
  if (!parts) return parts.error();
  AdapterChange change;
  UploadedFiles files;
  for (const FormPart& part : *parts) {
    if (auto taken = take_part(part, change, files); !taken) return taken.error();
  }
  if (change.name.empty()) return bad_field("lora_name", "is missing", api_code::kMissing);
  if (files.files.empty()) return bad_field("file", "is missing", api_code::kMissing);
  files.owner = std::move(body);
  change.files = std::make_shared<const UploadedFiles>(std::move(files));
  return change;
}

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
    change.erases_files = fields.flag("delete_files").value_or(false);
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
    if (change.files != nullptr) return "file";
    return change.path.empty() ? "lora_name" : "lora_path";
  }
  if (error.code != EngineErrc::kBadRequest) return {};
  if (error.detail.starts_with("files: ")) return change.unloads ? "delete_files" : "file";
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
  const bool uploads = !unloads && is_form(call.header[boost::beast::http::field::content_type]);
  auto change = uploads ? read_upload(call) : read_change(call.body, unloads);
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
      engine.async_unload_adapter(change, std::move(reply));
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
