#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/jobs/tuning/job_record.h"

namespace weft {

/// Returns the failure that a job's owner sees for an error that has ended the job. It contains no
/// path of the server: a position in `data`, the job's training file, becomes "line 3", and errors
/// that the owner did not cause have no detail. Its texts are UTF-8 of at most 1,000 bytes before
/// replacements.
[[nodiscard]] JobFailure failure_of(const Error& error, const std::filesystem::path& data);

/// Whether an error says that the engine does not train now, and may do so later.
[[nodiscard]] bool is_engine_away(const Error& error) noexcept;

}  // namespace weft
