#include "weft/net/routes/file_handlers.h"

#include <boost/beast/http/field.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/http/header_values.h"
#include "weft/net/http/multipart.h"
#include "weft/net/tuning/file_object.h"
#include "weft/net/tuning/list_page.h"
#include "weft/net/tuning/tuning_reply.h"

namespace weft::handlers {
namespace {

/// OpenAI's bounds of a list of files.
constexpr ListLimits kFileLimits{.standard = 10'000, .most = 10'000};
/// A name is shown to its owner alone; nobody's file has a longer one.
constexpr std::size_t kLongestName = 255;

/// What an upload's form says. `content` borrows the body.
struct Upload {
  TrainingFile file{};
  std::string_view content{};
};

ApiResult<void> take_file(const FormPart& part, Upload& upload) {
  if (part.filename.empty()) return bad_field("file", "must be a file, with a filename");
  if (part.filename.size() > kLongestName || !is_utf8(part.filename))
    return bad_field("file", "its filename must be UTF-8 of at most 255 bytes");
  upload.file.name = part.filename;
  upload.content = part.content;
  return {};
}

ApiResult<void> take_purpose(const FormPart& part, Upload& upload) {
  if (part.content != kFineTunePurpose) {
    return bad_field("purpose", shown(part.content) + " is not supported: it must be fine-tune",
                     api_code::kUnsupported);
  }
  upload.file.purpose = part.content;
  return {};
}

ApiResult<Upload> read_upload(std::string_view content_type, std::string_view body) {
  const auto parts = form_parts(content_type, body);
  if (!parts) return parts.error();
  Upload upload;
  for (const FormPart& part : *parts) {
    ApiResult<void> taken;
    const bool is_second = (part.name == "file" && !upload.file.name.empty()) ||
                           (part.name == "purpose" && !upload.file.purpose.empty());
    if (is_second) return bad_field(part.name, "is there twice", api_code::kDuplicate);
    if (part.name == "file") {
      taken = take_file(part, upload);
    } else if (part.name == "purpose") {
      taken = take_purpose(part, upload);
    } else {
      taken = BodyWords::unknown(part.name);
    }
    if (!taken) return taken.error();
  }
  if (upload.file.purpose.empty()) return bad_field("purpose", "is missing", api_code::kMissing);
  if (upload.file.name.empty()) return bad_field("file", "is missing", api_code::kMissing);
  return upload;
}

HttpReply file_reply(const Result<TrainingFile>& file) {
  if (!file) return error_reply(tuning_error(file.error()));
  return {.body = json_text(file_object(*file))};
}

}  // namespace

RouteResult upload_file(Service& service, const HttpCall& call) {
  if (service.fine_tuning() == nullptr) return error_reply(no_fine_tuning());
  return tuning_reply(
      service, [type = std::string(call.header[boost::beast::http::field::content_type]),
                body = std::string(call.body), memory = std::move(call.memory),
                owner = std::string(owner_of(call.key))](FineTuning& tuning) mutable {
        auto upload = read_upload(type, body);
        if (!upload) return error_reply(upload.error());
        upload->file.owner = owner;
        return file_reply(tuning.files().add(std::move(upload->file), upload->content));
      });
}

RouteResult list_files(Service& service, const HttpCall& call) {
  auto page = list_page_of(call.query, kFileLimits);
  if (!page) return error_reply(page.error());
  return tuning_reply(service, [page = *std::move(page), owner = std::string(owner_of(call.key)),
                                purpose = query_value(call.query, "purpose")](FineTuning& tuning) {
    std::vector<TrainingFile> files = tuning.files().list(owner);
    if (!purpose.empty()) {
      std::erase_if(files, [&](const TrainingFile& file) { return file.purpose != purpose; });
    }
    return reply_with(list_body(std::move(files), page, file_object,
                                [](const TrainingFile& file) { return file.id; }));
  });
}

RouteResult get_file(Service& service, const HttpCall& call) {
  return tuning_reply(service, [named = OwnedName(call)](FineTuning& tuning) {
    return file_reply(tuning.files().find(named.id, named.owner));
  });
}

RouteResult file_content(Service& service, const HttpCall& call) {
  return tuning_reply(service, [named = OwnedName(call)](FineTuning& tuning) -> HttpReply {
    auto content = tuning.files().content(named.id, named.owner);
    if (!content) return error_reply(tuning_error(content.error()));
    return {.content_type = "application/octet-stream", .body = *std::move(content)};
  });
}

RouteResult delete_file(Service& service, const HttpCall& call) {
  return tuning_reply(service, [named = OwnedName(call)](FineTuning& tuning) -> HttpReply {
    if (auto erased = tuning.files().erase(named.id, named.owner); !erased)
      return error_reply(tuning_error(erased.error()));
    return {.body = json_text(
                boost::json::object{{"id", named.id}, {"object", "file"}, {"deleted", true}})};
  });
}

}  // namespace weft::handlers
