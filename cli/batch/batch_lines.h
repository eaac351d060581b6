#pragma once

#include <boost/json/object.hpp>
#include <boost/system/result.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace weft::cli {

/// Reading and writing the lines of a batch file and of its results.
///
/// Source: OpenAI's API reference, "Batch", the request input and output objects.

/// The reason why a line cannot be asked, in the words of its result.
struct LineError {
  std::string code;
  std::string message;
};

/// A line that has a custom_id; `error` says why it cannot be asked, if so.
struct BatchLine {
  std::string custom_id{};
  std::string path{};
  boost::json::object body{};
  std::optional<LineError> error{};  ///< set instead of path and body
};

/// Returns the line's custom_id, or what is wrong with it: it is no JSON object, or has no
/// custom_id.
[[nodiscard]] boost::system::result<std::string, LineError> custom_id_of(std::string_view line);
/// Returns the custom_id of a result, which must have a response or an error, too.
[[nodiscard]] boost::system::result<std::string, LineError> result_id_of(std::string_view line);
/// Whether `text` may be the beginning of a line of result_line() or error_line().
[[nodiscard]] bool may_be_cut_result(std::string_view text);
/// Parses a line that custom_id_of() has accepted.
[[nodiscard]] BatchLine parse_batch_line(std::string_view line);

/// Writes {"id", "custom_id", "response": {"status_code", "request_id", "body"}, "error": null}
/// with the line's end. A body that is no JSON is put in as a string.
[[nodiscard]] std::string result_line(std::string_view custom_id, unsigned status,
                                      std::string_view request_id, std::string_view body);
/// Writes the same line with "response": null and the error.
[[nodiscard]] std::string error_line(std::string_view custom_id, const LineError& error);

}  // namespace weft::cli
