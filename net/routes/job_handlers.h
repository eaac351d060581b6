#pragma once

#include "weft/net/routes/route.h"

/// The handlers of fine-tuning jobs, as of OpenAI's API. A client sees no job that belongs to
/// another key. What waits for the disk is done by the body workers.
namespace weft::handlers {

[[nodiscard]] RouteResult create_job(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult list_jobs(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult get_job(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult cancel_job(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult pause_job(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult resume_job(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult list_job_events(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult list_job_checkpoints(Service& service, const HttpCall& call);
/// DELETE /v1/models/{name} of a model that one of the client's jobs has made.
[[nodiscard]] RouteResult delete_model(Service& service, const HttpCall& call);

}  // namespace weft::handlers
