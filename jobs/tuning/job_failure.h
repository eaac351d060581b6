#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/jobs/tuning/job_record.h"

namespace weft {

/// Returns what a job's owner is told of an error that has ended the job. It names no path of the
/// server: places in `data`, the job's training file, become "line 3", and errors that are not the
/// owner's have no detail. Its texts are UTF-8 of at most 1,000 bytes before replacements.
[[nodiscard]] JobFailure failure_of(const Error& error, const std::filesystem::path& data);

/// Whether an error says that the engine does not train now, and may do so later.
[[nodiscard]] bool is_engine_away(const Error& error) noexcept;

}  // namespace weft
