#include "weft/jobs/jobs_error.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kJobsErrors = {
    ErrorText{static_cast<int>(JobsErrc::kNoSuchFile), "no_such_file", "there is no such file"},
    ErrorText{static_cast<int>(JobsErrc::kNoSuchJob), "no_such_job",
              "there is no such fine-tuning job"},
    ErrorText{static_cast<int>(JobsErrc::kBadFile), "bad_file", "this is no training data"},
    ErrorText{static_cast<int>(JobsErrc::kFileTooLarge), "file_too_large",
              "the file has too many bytes"},
    ErrorText{static_cast<int>(JobsErrc::kFull), "folder_full", "the training folder is full"},
    ErrorText{static_cast<int>(JobsErrc::kWrongState), "wrong_state",
              "the job is not in a state for that"},
    ErrorText{static_cast<int>(JobsErrc::kNotWritten), "not_written",
              "the change is in force, but the disk does not take it"},
    ErrorText{static_cast<int>(JobsErrc::kBadJob), "bad_job", "the job cannot be done here"},
    ErrorText{static_cast<int>(JobsErrc::kBadFolder), "bad_training_folder",
              "the training folder cannot be used"},
};

constexpr TableCategory kJobsCategory(0x3b8e1f60c2d94a75, "weft.jobs", kJobsErrors);

}  // namespace

const TableCategory& jobs_category() noexcept { return kJobsCategory; }

boost::system::error_code make_error_code(JobsErrc code) noexcept {
  return {static_cast<int>(code), jobs_category()};
}

}  // namespace weft
