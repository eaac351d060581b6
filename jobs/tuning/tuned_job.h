#pragma once

#include <filesystem>
#include <stop_token>

#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/jobs/tuning/job_record.h"
#include "weft/jobs/tuning/job_work.h"

namespace weft {

/// The standard learning rate, which a job's multiplier multiplies.
inline constexpr double kStandardRate = 2e-4;
/// The values that "auto" stands for.
inline constexpr std::int64_t kAutoEpochs = 3;
inline constexpr std::int64_t kAutoBatch = 8;  ///< or all examples, where there are fewer

/// Checks whether the configured model can be trained so, by the model's headers alone: no weights
/// and no data are read. kBadJob naming the field of the request: a block without a gradient, a
/// GGUF file, targets that the model has not; errors of the files.
[[nodiscard]] Result<void> check_tuning(const Config& config, const JobSettings& settings);

/// Makes a TuningJob of a job and its data, with the configured model as its base; blocks. A chat
/// template gets the time at which the job was made, so a job that goes on later has the same
/// tokens. TrainErrc; errors of the files. A requested stop is an exception, as throw_if_stopped()
/// throws it.
[[nodiscard]] Result<PreparedJob> prepare_tuning(const Config& config, const JobRecord& job,
                                                 const std::filesystem::path& data,
                                                 const std::stop_token& stop);

}  // namespace weft
