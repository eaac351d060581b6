#pragma once

#include <boost/json/object.hpp>
#include <boost/system/result.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace weft::cli {

/// The lines of a batch file and of its results.
///
/// Source: OpenAI's API reference, "Batch", the request input and output objects.

/// Why a line cannot be asked, as its result says it.
struct LineError {
  std::string code;
  std::string message;
};

/// A line that names itself; whether it can be asked is to be seen.
struct BatchLine {
  std::string custom_id{};
  std::string path{};
  boost::json::object body{};
  std::optional<LineError> error{};  ///< instead of path and body
};

/// The line's name, or what is wrong with it: it is no JSON object, or has no custom_id.
[[nodiscard]] boost::system::result<std::string, LineError> custom_id_of(std::string_view line);
/// The same of a result: it has a response or an error, too.
[[nodiscard]] boost::system::result<std::string, LineError> result_id_of(std::string_view line);
/// Whether result_line() or error_line() could have begun with `text`.
[[nodiscard]] bool may_be_cut_result(std::string_view text);
/// A line that custom_id_of() has accepted.
[[nodiscard]] BatchLine parse_batch_line(std::string_view line);

/// {"id", "custom_id", "response": {"status_code", "request_id", "body"}, "error": null}, with the
/// line's end. A body that is no JSON is put in as a text.
[[nodiscard]] std::string result_line(std::string_view custom_id, unsigned status,
                                      std::string_view request_id, std::string_view body);
/// The same with "response": null and the error.
[[nodiscard]] std::string error_line(std::string_view custom_id, const LineError& error);

}  // namespace weft::cli
