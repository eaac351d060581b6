#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/actors/request/request.h"
#include "weft/net/api/fields/api_error.h"
#include "weft/net/api/responses/response_api.h"

namespace weft {

/// Appends {"input_tokens":...,"output_tokens":...,"total_tokens":...} with their details.
void append_response_usage(const Usage& usage, std::string& out);

/// The state of a response, in the words of the Responses API.
struct ResponseState {
  std::string_view status = "in_progress";  ///< or "completed", "incomplete", "failed"; of a
                                            ///< background response also "queued", "cancelled"
  std::string_view incomplete_reason{};     ///< set with "incomplete"
  const ApiError* error = nullptr;          ///< set with "failed"
  const Usage* usage = nullptr;             ///< null: not known yet
  std::int64_t completed_at = 0;            ///< seconds since 1970; set with "completed"
};

/// Makes the response object. Everything but its output is computed once. Thread-safe.
class ResponseObject {
 public:
  explicit ResponseObject(const ResponseOptions& options);

  /// Returns the object. `items` are its output, as JSON with commas between them.
  [[nodiscard]] std::string make(const ResponseState& state, std::string_view items) const;

  /// Returns when the response was completed, measured by the engine's clock.
  [[nodiscard]] std::int64_t completed_at(const RequestTimes& times) const;

 private:
  std::string head_;      // the object's beginning: {"id":...,"object":"response","status":
  std::string constant_;  // the fields that do not change, each with a comma before it
  std::int64_t created_at_ = 0;
};

}  // namespace weft
