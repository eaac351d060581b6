#pragma once

#include "weft/net/routes/route.h"

/// The handlers of uploaded files. A client sees no file that belongs to another key. The body
/// workers check and read files, and no I/O thread does.
namespace weft::handlers {

/// OpenAI's POST /v1/files: a form with `purpose` and `file`.
[[nodiscard]] RouteResult upload_file(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult list_files(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult get_file(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult file_content(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult delete_file(Service& service, const HttpCall& call);

}  // namespace weft::handlers
