#pragma once

#include <string_view>

#include "weft/jobs/tuning/job_record.h"
#include "weft/net/api/fields/api_error.h"

namespace weft {

/// Reads the body of OpenAI's POST /v1/fine_tuning/jobs: model, suffix, training file, settings and
/// metadata of a new job. Without a seed it gets a random one. 400 naming the field, `unsupported`
/// where it asks for a validation file, an integration, or a method that is not supervised.
[[nodiscard]] ApiResult<JobRecord> read_job_request(std::string_view text);

}  // namespace weft
