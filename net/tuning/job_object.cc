#include "weft/net/tuning/job_object.h"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::string_view kAuto = "auto";

template <class Number>
json::value number_or_auto(const std::optional<Number>& number) {
  return number ? json::value(*number) : json::value(kAuto);
}

json::value if_known(std::int64_t time) { return time > 0 ? json::value(time) : json::value(); }

json::value if_any(const std::string& text) {
  return text.empty() ? json::value() : json::value(text);
}

json::object hyperparameters_of(const JobSettings& settings) {
  return {{"batch_size", number_or_auto(settings.batch)},
          {"learning_rate_multiplier", number_or_auto(settings.rate_multiplier)},
          {"n_epochs", number_or_auto(settings.epochs)}};
}

/// The hyperparameters with the adapter's, which OpenAI's objects have not.
json::object method_of(const JobSettings& settings) {
  json::object all = hyperparameters_of(settings);
  all["lora_rank"] = settings.rank;
  all["lora_alpha"] =
      settings.alpha > 0 ? settings.alpha : 2.0 * static_cast<double>(settings.rank);
  all["lora_dropout"] = settings.dropout;
  all["lora_target_modules"] =
      settings.targets.empty()
          ? json::value(kAuto)
          : json::value(json::array(settings.targets.begin(), settings.targets.end()));
  return {{"type", "supervised"}, {"supervised", {{"hyperparameters", std::move(all)}}}};
}

json::value error_of(const JobSummary& job) {
  if (!job.failure) return {};
  return {{"code", job.failure->code},
          {"message", job.failure->message},
          {"param", if_any(job.failure->param)}};
}

/// The part of an id behind "ftjob-".
std::string_view name_of(const std::string& job_id) {
  return std::string_view(job_id).substr(job_id.find('-') + 1);
}

}  // namespace

json::object job_object(const JobSummary& job) {
  json::object metadata;
  for (const auto& [name, value] : job.metadata) metadata[name] = value;
  const bool runs = job.status == JobStatus::kRunning;
  return {{"id", job.id},
          {"object", "fine_tuning.job"},
          {"created_at", job.created},
          {"error", error_of(job)},
          {"fine_tuned_model", if_any(job.fine_tuned_model)},
          {"finished_at", if_known(job.finished)},
          {"estimated_finish", if_known(runs ? job.estimated_finish : 0)},
          {"hyperparameters", hyperparameters_of(job.settings)},
          {"integrations", json::array()},
          {"metadata", std::move(metadata)},
          {"method", method_of(job.settings)},
          {"model", job.model},
          {"organization_id", ""},
          {"result_files", json::array(job.result_files.begin(), job.result_files.end())},
          {"seed", static_cast<std::int64_t>(job.settings.seed)},
          {"status", to_string(job.status)},
          {"steps", if_known(job.steps)},
          {"steps_done", job.steps_done},
          {"trained_tokens", job.trained_tokens},
          {"training_file", job.training_file},
          {"user_provided_suffix", if_any(job.suffix)},
          {"validation_file", nullptr}};
}

std::string event_id(const JobEvent& event, const std::string& job_id) {
  return "ftevent-" + std::string(name_of(job_id)) + "-" + std::to_string(event.number);
}

json::object event_object(const JobEvent& event, const std::string& job_id) {
  json::object data;
  if (event.step > 0) {
    data = {{"step", event.step}, {"train_loss", event.loss}, {"learning_rate", event.rate}};
  }
  return {{"id", event_id(event, job_id)}, {"object", "fine_tuning.job.event"},
          {"created_at", event.created},   {"level", event.level},
          {"message", event.text},         {"type", event.step > 0 ? "metrics" : "message"},
          {"data", std::move(data)}};
}

std::string checkpoint_id(const JobCheckpoint& checkpoint, const std::string& job_id) {
  return "ftckpt-" + std::string(name_of(job_id)) + "-" + std::to_string(checkpoint.step);
}

json::object checkpoint_object(const JobCheckpoint& checkpoint, const JobSummary& job) {
  return {{"id", checkpoint_id(checkpoint, job.id)},
          {"object", "fine_tuning.job.checkpoint"},
          {"created_at", checkpoint.created},
          {"fine_tuned_model_checkpoint", if_any(job.fine_tuned_model)},
          {"fine_tuning_job_id", job.id},
          {"metrics", {{"step", checkpoint.step}, {"train_loss", checkpoint.loss}}},
          {"step_number", checkpoint.step}};
}

}  // namespace weft
