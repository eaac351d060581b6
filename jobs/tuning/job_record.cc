#include "weft/jobs/tuning/job_record.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "weft/core/time/unix_time.h"
#include "weft/jobs/folder_entries.h"
#include "weft/jobs/jobs_error.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, kJobStatuses> kStatusNames = {
    "queued", "validating_files", "running", "paused", "succeeded", "failed", "cancelled"};

std::optional<JobStatus> status_of(std::string_view name) {
  const auto* const found = std::ranges::find(kStatusNames, name);
  if (found == kStatusNames.end()) return std::nullopt;
  return static_cast<JobStatus>(found - kStatusNames.begin());
}

template <class Number>
json::value open_number(const std::optional<Number>& number) {
  return number ? json::value(*number) : json::value();
}

json::object settings_object(const JobSettings& settings) {
  return {{"epochs", open_number(settings.epochs)},
          {"batch", open_number(settings.batch)},
          {"rate_multiplier", open_number(settings.rate_multiplier)},
          {"rank", settings.rank},
          {"alpha", settings.alpha},
          {"dropout", settings.dropout},
          {"targets", json::array(settings.targets.begin(), settings.targets.end())},
          {"seed", static_cast<std::int64_t>(settings.seed)}};
}

json::object event_object(const JobEvent& event) {
  return {{"number", event.number}, {"created", event.created}, {"level", event.level},
          {"text", event.text},     {"step", event.step},       {"loss", event.loss},
          {"rate", event.rate}};
}

json::object failure_object(const JobFailure& failure) {
  return {{"code", failure.code}, {"message", failure.message}, {"param", failure.param}};
}

json::object checkpoint_object(const JobCheckpoint& checkpoint) {
  return {{"step", checkpoint.step}, {"loss", checkpoint.loss}, {"created", checkpoint.created}};
}

bool is_null(const json::object& object, std::string_view name) {
  const json::value* const found = object.if_contains(name);
  return found != nullptr && found->is_null();
}

std::vector<std::string> texts_in(const json::array& list) {
  std::vector<std::string> texts;
  for (const json::value& one : list) {
    if (one.is_string()) texts.emplace_back(one.get_string());
  }
  return texts;
}

/// Each reads an object, and returns false where it lacks a field.
bool read_settings(const json::object& object, JobSettings& settings) {
  const ObjectReader reader(object);
  if (!is_null(object, "epochs")) settings.epochs = reader.whole("epochs");
  if (!is_null(object, "batch")) settings.batch = reader.whole("batch");
  if (!is_null(object, "rate_multiplier"))
    settings.rate_multiplier = reader.number("rate_multiplier");
  settings.rank = reader.whole("rank");
  settings.alpha = reader.number("alpha");
  settings.dropout = reader.number("dropout");
  settings.targets = texts_in(reader.list("targets"));
  settings.seed = static_cast<std::uint64_t>(reader.whole("seed"));
  return reader.is_whole();
}

bool read_event(const json::value& value, JobEvent& event) {
  if (!value.is_object()) return false;
  const ObjectReader reader(value.get_object());
  event.number = reader.whole("number");
  event.created = reader.whole("created");
  event.level = reader.text("level");
  event.text = reader.text("text");
  event.step = reader.whole("step");
  event.loss = reader.number("loss");
  event.rate = reader.number("rate");
  return reader.is_whole();
}

bool read_failure(const json::object& object, JobFailure& failure) {
  const ObjectReader reader(object);
  failure.code = reader.text("code");
  failure.message = reader.text("message");
  failure.param = reader.text("param");
  return reader.is_whole();
}

bool read_checkpoint(const json::object& object, JobCheckpoint& checkpoint) {
  const ObjectReader reader(object);
  checkpoint.step = reader.whole("step");
  checkpoint.loss = reader.number("loss");
  checkpoint.created = reader.whole("created");
  return reader.is_whole();
}

/// Reads the parts of a record that are objects and lists.
bool read_parts(const json::object& object, const ObjectReader& reader, JobRecord& job) {
  bool whole = read_settings(reader.object("settings"), job.settings);
  for (const auto& [name, value] : reader.object("metadata")) {
    whole = whole && value.is_string();
    if (whole) job.metadata.emplace_back(name, value.get_string());
  }
  if (!is_null(object, "failure"))
    whole = read_failure(reader.object("failure"), job.failure.emplace()) && whole;
  if (!is_null(object, "checkpoint"))
    whole = read_checkpoint(reader.object("checkpoint"), job.checkpoint.emplace()) && whole;
  job.result_files = texts_in(reader.list("result_files"));
  for (const json::value& event : reader.list("events"))
    whole = read_event(event, job.events.emplace_back()) && whole;
  return whole;
}

}  // namespace

std::string_view to_string(JobStatus status) noexcept {
  return kStatusNames[static_cast<std::size_t>(status)];
}

bool is_over(JobStatus status) noexcept { return status >= JobStatus::kSucceeded; }

void JobRecord::add_event(JobEvent event) {
  event.number = next_event++;
  event.created = unix_time();
  events.push_back(std::move(event));
  if (events.size() <= kMostEvents) return;
  const auto of_step =
      std::ranges::find_if(events, [](const JobEvent& one) { return one.step > 0; });
  events.erase(of_step == events.end() ? events.begin() : of_step);
}

std::string tuned_model_name(const JobSummary& job) {
  return "ft:" + job.model + ":" + job.suffix + ":" + job.id.substr(job.id.find('-') + 1);
}

std::string result_file_id(const JobSummary& job) {
  return "file-" + job.id.substr(job.id.find('-') + 1);
}

std::string record_text(const JobRecord& job) {
  json::object metadata;
  for (const auto& [name, value] : job.metadata) metadata[name] = value;
  json::array events;
  for (const JobEvent& event : job.events) events.push_back(event_object(event));
  return json::serialize(json::object{
      {"version", kRecordVersion},
      {"id", job.id},
      {"owner", job.owner},
      {"number", job.number},
      {"model", job.model},
      {"suffix", job.suffix},
      {"training_file", job.training_file},
      {"settings", settings_object(job.settings)},
      {"metadata", std::move(metadata)},
      {"created", job.created},
      {"finished", job.finished},
      {"status", to_string(job.status)},
      {"failure", job.failure ? json::value(failure_object(*job.failure)) : json::value()},
      {"steps", job.steps},
      {"steps_done", job.steps_done},
      {"trained_tokens", job.trained_tokens},
      {"checkpoint",
       job.checkpoint ? json::value(checkpoint_object(*job.checkpoint)) : json::value()},
      {"result_files", json::array(job.result_files.begin(), job.result_files.end())},
      {"fine_tuned_model", job.fine_tuned_model},
      {"model_is_deleted", job.model_is_deleted ? 1 : 0},
      {"next_event", job.next_event},
      {"events", std::move(events)}});
}

Result<JobRecord> read_record(const json::object& object) {
  const ObjectReader reader(object);
  JobRecord job;
  job.id = reader.text("id");
  job.owner = reader.text("owner");
  job.number = reader.whole("number");
  job.model = reader.text("model");
  job.suffix = reader.text("suffix");
  job.training_file = reader.text("training_file");
  job.created = reader.whole("created");
  job.finished = reader.whole("finished");
  job.steps = reader.whole("steps");
  job.steps_done = reader.whole("steps_done");
  job.trained_tokens = reader.whole("trained_tokens");
  job.fine_tuned_model = reader.text("fine_tuned_model");
  job.model_is_deleted = reader.whole("model_is_deleted") != 0;
  job.next_event = reader.whole("next_event");
  const auto status = status_of(reader.text("status"));
  const bool parts = read_parts(object, reader, job);
  if (!parts || !status || !reader.is_whole())
    return Error{JobsErrc::kBadFolder, "lacks a field, or has one of another type"};
  job.status = *status;
  return job;
}

}  // namespace weft
