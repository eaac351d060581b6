#include "weft/net/service/background_answers.h"

#include <string>
#include <utility>

#include "weft/net/http/header_values.h"

namespace weft {

std::optional<ApiError> BackgroundAnswers::start(ApiCall call, Service::Asked asked,
                                                 std::string client, IoThread& thread) {
  Run run{.request_id = asked.request_id,
          .path = asked.path,
          .client = std::move(client),
          .owner = std::string(owner_of(asked.key)),
          .began = asked.began};
  const std::shared_ptr<StoredResponse> draft = std::move(call.draft);
  auto begun = service_.begin(std::move(call), std::move(asked), thread, *this);
  if (!begun) return std::move(begun).error();
  run.begun = *std::move(begun);
  const Answer* const answer = run.begun.answer.get();
  // on_news() runs on this thread, and so only after this call.
  if (draft) service_.stored_responses().put(std::move(*draft));
  const std::scoped_lock lock(mutex_);
  runs_.emplace(answer, std::move(run));
  return std::nullopt;
}

void BackgroundAnswers::on_news(Answer& answer) {
  bool lost = false;
  try {
    EventBatch nowhere(answer.framing());
    answer.fetch(nowhere);
  } catch (const std::exception&) {  // there was no memory to store it
    lost = true;
    answer.abandon(EndCause::kFailure);
  }
  if (!lost && !answer.ended()) return;
  const Run run = take(answer);
  if (lost) service_.stored_responses().erase(answer.object_id(), run.owner);
  log(run);
}

BackgroundAnswers::Run BackgroundAnswers::take(const Answer& answer) {
  const std::scoped_lock lock(mutex_);
  auto node = runs_.extract(&answer);
  return node.empty() ? Run() : std::move(node.mapped());
}

void BackgroundAnswers::log(const Run& run) const {
  if (run.begun.answer == nullptr) return;
  const Usage usage = run.begun.answer->usage();
  const auto& error = run.begun.answer->error();
  const std::string warning = warning_value(run.begun.answer->not_enforced());
  service_.log().request({.request_id = run.request_id,
                          .client = run.client,
                          .key = run.owner,
                          .method = "BACKGROUND",
                          .path = run.path,
                          .status = error ? static_cast<unsigned>(error->status) : 200U,
                          .error = error ? std::string_view(error->code) : std::string_view(),
                          .warning = warning,
                          .prompt_tokens = usage.prompt_tokens,
                          .output_tokens = usage.output_tokens,
                          .took = std::chrono::steady_clock::now() - run.began,
                          .body = {}});
}

void BackgroundAnswers::stop() noexcept {
  std::unordered_map<const Answer*, Run> left;
  {
    const std::scoped_lock lock(mutex_);
    left.swap(runs_);
  }
  for (auto& [answer, run] : left) run.begun.answer->abandon(EndCause::kCancel);
}

}  // namespace weft
