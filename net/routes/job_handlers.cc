#include "weft/net/routes/job_handlers.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <string>
#include <utility>
#include <vector>

#include "weft/jobs/jobs_error.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/tuning/job_object.h"
#include "weft/net/tuning/job_request.h"
#include "weft/net/tuning/list_page.h"
#include "weft/net/tuning/tuning_reply.h"

namespace weft::handlers {
namespace {

/// OpenAI's bounds of lists; jobs and events are some hundred at most.
constexpr ListLimits kJobLimits{.standard = 20, .most = 100};
constexpr ListLimits kEventLimits{.standard = 20, .most = 1'000};

template <class Job>
HttpReply job_reply(const Result<Job>& job) {
  if (!job) return error_reply(tuning_error(job.error()));
  return {.body = json_text(job_object(*job))};
}

using Change = Result<JobRecord> (FineTuning::*)(const std::string& id, std::string_view owner);

RouteResult change_job(Service& service, const HttpCall& call, Change change) {
  return tuning_reply(service, [named = OwnedName(call), change](FineTuning& tuning) {
    return job_reply((tuning.*change)(named.id, named.owner));
  });
}

/// Returns the body of a list of what a job has.
template <class Make>
RouteResult list_of_job(Service& service, const HttpCall& call, Make make) {
  auto page = list_page_of(call.query, kEventLimits);
  if (!page) return error_reply(page.error());
  return tuning_reply(
      service,
      [named = OwnedName(call), page = *std::move(page), make](FineTuning& tuning) -> HttpReply {
        const auto job = tuning.job(named.id, named.owner);
        if (!job) return error_reply(tuning_error(job.error()));
        return reply_with(make(*job, page));
      });
}

}  // namespace

RouteResult create_job(Service& service, const HttpCall& call) {
  if (service.fine_tuning() == nullptr) return error_reply(no_fine_tuning());
  auto job = read_job_request(call.body);
  if (!job) return error_reply(job.error());
  job->owner = owner_of(call.key);
  return tuning_reply(service, [job = *std::move(job)](FineTuning& tuning) mutable {
    return job_reply(tuning.create(std::move(job)));
  });
}

RouteResult list_jobs(Service& service, const HttpCall& call) {
  auto page = list_page_of(call.query, kJobLimits);
  if (!page) return error_reply(page.error());
  return tuning_reply(service, [page = *std::move(page),
                                owner = std::string(owner_of(call.key))](FineTuning& tuning) {
    return reply_with(list_body(tuning.jobs(owner), page, job_object,
                                [](const JobSummary& job) { return job.id; }));
  });
}

RouteResult get_job(Service& service, const HttpCall& call) {
  return tuning_reply(service, [named = OwnedName(call)](FineTuning& tuning) {
    return job_reply(tuning.summary(named.id, named.owner));
  });
}

RouteResult cancel_job(Service& service, const HttpCall& call) {
  return change_job(service, call, &FineTuning::cancel);
}

RouteResult pause_job(Service& service, const HttpCall& call) {
  return change_job(service, call, &FineTuning::pause);
}

RouteResult resume_job(Service& service, const HttpCall& call) {
  return change_job(service, call, &FineTuning::resume);
}

RouteResult list_job_events(Service& service, const HttpCall& call) {
  return list_of_job(service, call, [](const JobRecord& job, const ListPage& page) {
    const std::vector<JobEvent> newest_first(job.events.rbegin(), job.events.rend());
    return list_body(
        newest_first, page, [&](const JobEvent& event) { return event_object(event, job.id); },
        [&](const JobEvent& event) { return event_id(event, job.id); });
  });
}

RouteResult list_job_checkpoints(Service& service, const HttpCall& call) {
  return list_of_job(service, call, [](const JobRecord& job, const ListPage& page) {
    std::vector<JobCheckpoint> all;
    if (job.checkpoint) all.push_back(*job.checkpoint);
    return list_body(
        std::move(all), page, [&](const JobCheckpoint& one) { return checkpoint_object(one, job); },
        [&](const JobCheckpoint& one) { return checkpoint_id(one, job.id); });
  });
}

RouteResult delete_model(Service& service, const HttpCall& call) {
  return tuning_reply(service, [named = OwnedName(call)](FineTuning& tuning) -> HttpReply {
    if (const auto deleted = tuning.delete_model(named.id, named.owner); !deleted) {
      if (deleted.error().code != JobsErrc::kNoSuchJob)
        return error_reply(tuning_error(deleted.error()));
      return error_reply({.status = 404,
                          .code = std::string(api_code::kModelNotFound),
                          .param = "model",
                          .message = "none of your fine-tuning jobs has a model of that name"});
    }
    return {.body = json_text(
                boost::json::object{{"id", named.id}, {"object", "model"}, {"deleted", true}})};
  });
}

}  // namespace weft::handlers
