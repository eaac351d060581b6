#include "weft/jobs/engine_trainer.h"

#include <algorithm>
#include <boost/asio/bind_executor.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <future>
#include <memory>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/models/model_list.h"
#include "weft/jobs/jobs_error.h"
#include "weft/jobs/tuning/tuned_job.h"

namespace weft {
namespace {

Error bad_model(std::string_view why) { return {JobsErrc::kBadJob, "model: " + std::string(why)}; }

Result<void> result_of(boost::system::error_code code, std::string detail) {
  if (code) return Error{code, std::move(detail)};
  return {};
}

}  // namespace

Result<void> EngineTrainer::check(JobRecord& job) {
  if (const auto can = engine_.can_train(); !can) {
    const Error& why = can.error();
    if (why.code != EngineErrc::kBadRequest) return bad_model("is not loaded");
    return bad_model(why.detail);
  }
  const auto list = engine_.models();
  if (list == nullptr) return bad_model("the engine does not name its model");
  const auto found = list->named(job.model);
  if (!found) return bad_model("this server has no model of that name; /v1/models lists them");
  if (!found->adapter.empty()) return bad_model("is an adapter; a job begins with a base model");
  if (found->model == nullptr) return bad_model("is not loaded");
  if (found->model->adapters == nullptr)
    return bad_model("takes no adapters, so it gets no new one");
  job.model = found->name;
  if (const std::int64_t most = most_rank(); job.settings.rank > most) {
    return Error{JobsErrc::kBadJob,
                 "lora_rank: is more than " + std::to_string(most) +
                     ", the greatest rank of an adapter here (adapters.max_rank)"};
  }
  return check_tuning(config_, job.settings);
}

/// The greatest rank for which the model's places have room.
std::int64_t EngineTrainer::most_rank() const {
  if (config_.adapter_max_rank > 0) return config_.adapter_max_rank;
  std::int64_t most = Config::kLeastAdapterRank;
  for (const AdapterInfo& adapter : engine_.adapters()) {
    const bool is_configured = std::ranges::find(config_.adapters, adapter.name,
                                                 &NamedAdapter::name) != config_.adapters.end();
    if (is_configured) most = std::max(most, adapter.rank);
  }
  return most;
}

Result<PreparedJob> EngineTrainer::prepare(const JobRecord& job, const std::filesystem::path& data,
                                           const std::stop_token& stop) {
  // Otherwise the base is read from the disk for an engine that has unloaded it.
  if (const auto can = engine_.can_train(); !can) return can.error();
  return prepare_tuning(config_, job, data, stop);
}

void EngineTrainer::train(const TrainingTask& task, Done done) {
  engine_.async_train(
      task, boost::asio::bind_executor(
                completions_,
                [done = std::move(done)](boost::system::error_code code, std::string detail) {
                  done(result_of(code, std::move(detail)));
                }));
}

Result<void> EngineTrainer::serve(const std::string& model, const std::string& name,
                                  const std::filesystem::path& adapter) {
  AdapterChange change(name, adapter.string());
  change.model = model;
  change.replaces = true;
  change.is_own = true;
  auto promise = std::make_shared<std::promise<Result<void>>>();
  auto loaded = promise->get_future();
  engine_.async_load_adapter(
      std::move(change),
      boost::asio::bind_executor(completions_,
                                 [promise](boost::system::error_code code, std::string detail) {
                                   promise->set_value(result_of(code, std::move(detail)));
                                 }));
  return loaded.get();
}

bool EngineTrainer::serves(const std::string& name) const {
  const auto list = engine_.models();
  return list != nullptr && list->named(name).has_value();
}

Result<void> EngineTrainer::stop_serving(const std::string& model, const std::string& name) {
  auto promise = std::make_shared<std::promise<Result<void>>>();
  auto unloaded = promise->get_future();
  engine_.async_unload_adapter(
      name, model,
      boost::asio::bind_executor(completions_,
                                 [promise](boost::system::error_code code, std::string detail) {
                                   promise->set_value(result_of(code, std::move(detail)));
                                 }));
  return unloaded.get();
}

}  // namespace weft
