#include "weft/actors/stepper/stepper_core.h"

#include <algorithm>
#include <exception>
#include <new>
#include <random>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/request/prompt/prompt.h"
#include "weft/actors/request/request_text.h"
#include "weft/core/actor/supervision.h"
#include "weft/core/error/caught_error.h"
#include "weft/core/time/steady_clock.h"
#include "weft/text/chat/chat_encoder.h"

namespace weft {
namespace {

/// Returns the first seed for requests without a seed.
std::uint64_t random_seed() {
  std::random_device entropy;
  return std::uint64_t{entropy()} << 32U | entropy();
}

/// The limits of a device of several stages too, none of which has a plan of its own here: the
/// results of a step are known before the next is planned.
DeviceLimits one_at_a_time(DeviceLimits limits) {
  limits.stages = 1;
  return limits;
}

SchedulerOptions stepper_options(const Config& config, const StepDevice& device) {
  return scheduler_options(config, one_at_a_time(device.limits()));
}

std::shared_ptr<const ServedModel> configured(ServedModel model, const Config& config) {
  apply_config(model, config);
  return std::make_shared<const ServedModel>(std::move(model));
}

}  // namespace

StepperCore::StepperCore(const Config& config, ServedModel model,
                         std::shared_ptr<StepDevice> device, std::shared_ptr<const Clock> clock)
    : bounds_(queue_bounds(config, &model)),
      model_(configured(std::move(model), config)),
      device_(std::move(device)),
      clock_(clock ? std::move(clock) : std::make_shared<const SteadyClock>()),
      next_seed_(random_seed()),
      requests_(scheduler_, stepper_options(config, *device_), ending_,
                [this] { return clock_->now(); }),
      scheduler_(stepper_options(config, *device_), requests_) {
  tick_.reserve(device_->limits());
}

Result<RequestId> StepperCore::add(Request&& request) {
  if (!ready_) return Error{EngineErrc::kNotReady, {}};
  try {
    if (const auto checked = check_outputs(request); !checked) return checked.error();
    const PromptSize size = counted_size(request, bounds_);
    const QueueUse use{static_cast<std::int64_t>(live_.size()), live_prompt_tokens_};
    if (const auto room = check_room(size, bounds_, use); !room) return room.error();
    return begin(std::move(request), size.tokens);
  } catch (const std::exception& failure) {
    return caught_error(failure, EngineErrc::kInternal);
  }
}

/// Until the scheduler has the request, a failure here ends it silently, by its ticket.
Result<RequestId> StepperCore::begin(Request&& request, std::int64_t prompt_tokens) {
  const RequestId id = ids_.next();
  const TimePoint now = clock_->now();
  const auto sink = std::make_shared<StepSink>(id, outputs_);
  const auto active = std::make_shared<ActiveRequest>(id, std::move(request), sink, now);
  sink->set_request(active);
  RequestTicket ticket(active);
  auto adapter = adapter_of(active->request());
  if (!adapter) return adapter.error();
  auto group = prepare_request(ticket, *model_, wall_clock(), next_seed_++, *adapter);
  if (!group) return group.error();
  if (std::string why = scheduler_.never_fits((*group)->spec); !why.empty()) {
    return Error{EngineErrc::kNeverFits, std::move(why)};
  }
  active->set_ending(ending_);
  live_.emplace(id, Live{active, prompt_tokens});
  try {
    requests_.take(*std::move(group), now);
  } catch (const std::exception& failure) {
    live_.erase(id);
    // The scheduler has begun to take it, and its state is unknown.
    if (*group == nullptr) give_up(caught_error(failure, EngineErrc::kInternal));
    throw;
  }
  live_prompt_tokens_ += prompt_tokens;
  return id;
}

Result<AdapterRegistry::Prepared> StepperCore::adapter_of(const Request& request) const {
  if (request.adapter.empty()) return AdapterRegistry::Prepared();
  auto found = find_adapter(*model_, request.adapter);
  if (!found || *found) return found;
  return model_->adapters->prepare(request.adapter);
}

bool StepperCore::end(RequestId id, EndCause cause) noexcept {
  const auto found = live_.find(id);
  return found != live_.end() && found->second.request->ask_to_end(cause);
}

std::vector<StepOutput> StepperCore::infer(std::optional<TimePoint> deadline) {
  outputs_.begin(live_.size());
  if (ready_) {
    try {
      step(deadline);
    } catch (const std::exception& failure) {
      give_up(caught_error(failure, EngineErrc::kInternal));
    }
  }
  give_ends();
  std::vector<StepOutput> outputs = outputs_.take();
  for (const StepOutput& output : outputs) {
    if (!output.end) continue;
    const auto found = live_.find(output.id);
    live_prompt_tokens_ -= found->second.prompt_tokens;
    live_.erase(found);
    ++finished_;
  }
  return outputs;
}

void StepperCore::step(std::optional<TimePoint> deadline) {
  do {
    const TimePoint now = clock_->now();
    requests_.end_due(now);
    std::optional<Duration> budget;
    if (deadline) budget = std::max(*deadline - now, Duration::zero());
    if (!scheduler_.plan(now, tick_, budget) || !run_device()) return;
    requests_.complete(tick_);
    tick_.stop_hits.clear();
    make_texts(tick_, clock_->now());
    requests_.end_sequences(tick_.stop_hits);
    // Only adapters were put into their places, for groups that can begin now.
  } while (tick_.plan.entries.empty());
}

/// Runs the step; returns false if it was lost.
bool StepperCore::run_device() {
  const TimePoint began = clock_->now();
  try {
    device_->run(tick_.plan, tick_.result);
  } catch (...) {
    const ExitReason why = exit_reason(std::current_exception());
    lose_step({EngineErrc::kDeviceFailed, why.what}, why.kind == ExitKind::kDeviceLost);
    return false;
  }
  if (tick_.result.took == Duration{}) tick_.result.took = clock_->now() - began;
  return true;
}

void StepperCore::lose_step(const Error& why, bool device_lost) {
  scheduler_.fail(tick_, why);
  if (device_lost) give_up(why);
}

/// Ends all remaining requests; the stepper serves no more.
void StepperCore::give_up(const Error& why) {
  ready_ = false;
  requests_.fail_all(why);
}

void StepperCore::give_ends() noexcept {
  for (EndMsg& end : requests_.ends()) {
    try {
      finish_request(std::move(end), clock_->now());
    } catch (const std::bad_alloc&) {
      std::move(end.ticket).fail({EngineErrc::kInternal, {}});
    }
  }
  requests_.ends().clear();
}

EngineStats StepperCore::stats() const {
  const SchedulerStats now = scheduler_.stats();
  const DeviceLimits& limits = device_->limits();
  return {.requests = live_.size(),
          .waiting = now.waiting,
          .running = now.running,
          .queued_prompt_tokens = live_prompt_tokens_,
          .rows = limits.rows,
          .pages = limits.pages,
          .pages_free = now.pages_free,
          .max_context = limits.context,
          .ticks = now.ticks,
          .prompt_tokens = now.prompt_tokens,
          .output_tokens = now.output_tokens,
          .preemptions = now.preemptions,
          .accepted_guesses = static_cast<std::uint64_t>(now.guesses.total().accepted),
          .rejected_guesses = static_cast<std::uint64_t>(now.guesses.total().rejected),
          .prefix_lookups = now.prefixes.lookups,
          .prefix_hits = now.prefixes.hits,
          .prefix_tokens = now.prefixes.found,
          .prefix_evictions = now.prefixes.given_up,
          .prefix_pages = static_cast<std::int32_t>(now.prefixes.pages),
          .host_pages = static_cast<std::int32_t>(now.prefixes.on_host),
          .file_pages = static_cast<std::int64_t>(now.files.pages),
          .finished = finished_};
}

}  // namespace weft
