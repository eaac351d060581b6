#include "weft/jobs/tuning/job_failure.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "weft/actors/engine_error.h"
#include "weft/core/text/utf8.h"
#include "weft/jobs/jobs_error.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

constexpr std::array kAway = {EngineErrc::kStopping,       EngineErrc::kNotReady,
                              EngineErrc::kModelNotLoaded, EngineErrc::kModelLoading,
                              EngineErrc::kModelUnloading, EngineErrc::kModelFailed,
                              EngineErrc::kOverloaded,     EngineErrc::kCancelled};

/// Details may quote the data, and what a record has must stay readable and small.
constexpr std::size_t kMostMessageBytes = 1'000;

JobFailure told(JobFailure failure) {
  failure.message = lossy_utf8(cut_utf8(failure.message, kMostMessageBytes));
  failure.param = lossy_utf8(cut_utf8(failure.param, kMostMessageBytes));
  return failure;
}

/// The text without the path of the training file.
std::string without_path(const std::string& detail, const std::filesystem::path& data) {
  const std::string path = data.string();
  if (!detail.starts_with(path)) return detail;
  const std::string_view rest = std::string_view(detail).substr(path.size());
  const bool has_line = rest.size() > 1 && rest[0] == ':' && rest[1] >= '0' && rest[1] <= '9';
  if (has_line) return "line " + std::string(rest.substr(1));
  return "the training file" + std::string(rest);
}

JobFailure whole_failure_of(const Error& error, const std::filesystem::path& data) {
  if (error.code == TrainErrc::kBadData)
    return {"invalid_training_file", without_path(error.detail, data), "training_file"};
  if (error.code == TrainErrc::kCannotTrain) return {"cannot_train", to_string(error), "model"};
  if (error.code == TrainErrc::kNotFinite)
    return {"training_not_finite", to_string(error), "hyperparameters"};
  if (error.code == TrainErrc::kBadSetting) return {"invalid_value", error.detail, {}};
  if (error.code == JobsErrc::kBadJob)
    return {"invalid_value", error.detail, error.detail.substr(0, error.detail.find(':'))};
  if (error.code == EngineErrc::kBadRequest) return {"not_trained", error.detail, "model"};
  return {"server_error", "the server could not do it; its log says why", {}};
}

}  // namespace

JobFailure failure_of(const Error& error, const std::filesystem::path& data) {
  return told(whole_failure_of(error, data));
}

bool is_engine_away(const Error& error) noexcept {
  return std::ranges::any_of(kAway, [&](EngineErrc code) { return error.code == code; });
}

}  // namespace weft
