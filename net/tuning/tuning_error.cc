#include "weft/net/tuning/tuning_error.h"

#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/core/io/file.h"
#include "weft/jobs/jobs_error.h"

namespace weft {
namespace {

ApiError error_with(int status, std::string code, std::string param, std::string message) {
  return {.status = status,
          .code = std::move(code),
          .param = std::move(param),
          .message = std::move(message)};
}

ApiError disk_full(const std::string& what) {
  ApiError error = error_with(507, "disk_full", {},
                              what +
                                  " Delete files (DELETE /v1/files/ID) or models (DELETE "
                                  "/v1/models/NAME) that you no longer need, or ask the server's "
                                  "operator to make room; then send the request again.");
  error.type = "server_error";
  return error;
}

}  // namespace

ApiError tuning_error(const Error& error) {
  if (error.code == JobsErrc::kNoSuchFile)
    return error_with(404, "not_found", "file",
                      "there is no file of the id " + shown(error.detail));
  if (error.code == JobsErrc::kNoSuchJob) {
    return error_with(404, "not_found", "fine_tuning_job_id",
                      "there is no fine-tuning job of the id " + shown(error.detail));
  }
  if (error.code == JobsErrc::kBadFile)
    return error_with(400, "invalid_training_file", "file", error.detail);
  if (error.code == JobsErrc::kFileTooLarge)
    return error_with(413, "file_too_large", "file", "the file has " + error.detail);
  if (error.code == JobsErrc::kFull)
    return error_with(400, "folder_full", {},
                      "the server's training folder is full: " + error.detail);
  if (error.code == JobsErrc::kWrongState) return error_with(400, "wrong_state", {}, error.detail);
  if (error.code == JobsErrc::kBadJob) {
    const std::string field = error.detail.substr(0, error.detail.find(':'));
    return error_with(400, std::string(api_code::kInvalidValue), field, error.detail);
  }
  if (error.code == JobsErrc::kNotWritten) {
    return disk_full(
        "The server has done this, but cannot write it to its training folder, whose disk may be "
        "full. It writes it as soon as there is room; a restart before that undoes it.");
  }
  if (error.code == FileErrc::kCannotWrite) {
    return disk_full(
        "The server cannot write to its training folder, whose disk may be full, so it has not "
        "done this.");
  }
  if (error.code == EngineErrc::kOverloaded) return api_error_of({EngineErrc::kOverloaded, {}});
  return api_error_of({EngineErrc::kInternal, {}});
}

ApiError no_fine_tuning() {
  return error_with(404, "no_fine_tuning", {},
                    "this server keeps no files and trains no models: its configuration has no "
                    "training.folder");
}

}  // namespace weft
