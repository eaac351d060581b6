#pragma once

#include <boost/system/result.hpp>
#include <chrono>
#include <string>
#include <string_view>

#include "weft/core/error.h"

namespace weft {

/// What is wrong with a client's request, or what befell it, in the words of OpenAI's API. Texts
/// are valid UTF-8 and name no path, pointer or other internal of the server.
struct ApiError {
  int status = 400;                            ///< of HTTP
  std::string type = "invalid_request_error";  ///< "rate_limit_error", "server_error", ...
  std::string code{};                          ///< for programs; empty = null
  std::string param{};    ///< the field, as a path: "messages[2].role"; empty = null
  std::string message{};  ///< for people
  std::chrono::milliseconds retry_after{0};  ///< when it is worth trying again; 0 = not said
};

/// Called by ApiResult::value() when there is none: throws boost::system::system_error.
[[noreturn]] void throw_exception_from_error(const ApiError& error,
                                             const boost::source_location& where);

template <class T>
using ApiResult = boost::system::result<T, ApiError>;

/// 400 about one field. `code` is one of those that api_error.cc lists.
[[nodiscard]] ApiError bad_field(std::string_view param, std::string_view what,
                                 std::string_view code = "invalid_value");

/// How a request of the engine's was refused or failed. Everything that is the client's doing keeps
/// the engine's words; what is the server's says only that.
[[nodiscard]] ApiError api_error_of(const Error& error, std::chrono::milliseconds retry_after = {});

/// {"message":...,"type":...,"param":...,"code":...}
void append_error(const ApiError& error, std::string& out);
/// {"error":{...}}
[[nodiscard]] std::string error_body(const ApiError& error);

}  // namespace weft
