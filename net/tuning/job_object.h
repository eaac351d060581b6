#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "weft/jobs/tuning/job_record.h"

namespace weft {

/// Returns OpenAI's object of a job, with fields of Weft's beside them: steps, steps_done, and
/// those of the adapter in the hyperparameters.
[[nodiscard]] boost::json::object job_object(const JobSummary& job);

/// Returns OpenAI's object of an event of a job.
[[nodiscard]] boost::json::object event_object(const JobEvent& event, const std::string& job_id);
[[nodiscard]] std::string event_id(const JobEvent& event, const std::string& job_id);

/// Returns OpenAI's object of the job's newest state. Its model is the job's, or null: a state
/// alone cannot be asked.
[[nodiscard]] boost::json::object checkpoint_object(const JobCheckpoint& checkpoint,
                                                    const JobSummary& job);
[[nodiscard]] std::string checkpoint_id(const JobCheckpoint& checkpoint, const std::string& job_id);

}  // namespace weft
