#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/stepper/stepper.h"
#include "weft/c_api/c_call.h"
#include "weft/c_api/c_events.h"
#include "weft/c_api/c_request.h"
#include "weft/c_api/weft_c.h"
#include "weft/config/config.h"

// NOLINTNEXTLINE(readability-identifier-naming): C's name
struct weft_stepper {
  weft::Stepper stepper;
  weft::ModelCard card;
  std::vector<weft::StepOutput> outputs{};  ///< outputs of the last step, which events point to
  bool untold = false;                      ///< events could not be given, because memory was
                                            ///< missing
  weft::c_api::EventList events{};
};

namespace weft::c_api {
namespace {

Outcome create_stepper(const char* config_text, weft_stepper** made) {
  const auto config = Config::parse(config_text, "config");
  if (!config) return outcome_of(config.error());
  auto stepper = Stepper::create(*config);
  if (!stepper) return outcome_of(stepper.error());
  ModelCard card = card_of(stepper->model());
  *made = std::make_unique<weft_stepper>(*std::move(stepper), std::move(card)).release();
  return {};
}

Outcome add_request(weft_stepper& to, const char* text, std::uint64_t& id) {
  auto request = read_request(text, [&to](std::string_view name) -> ApiResult<ModelCard> {
    return card_named(to.card, name);
  });
  if (!request) return {WEFT_INVALID, request.error().message};
  const auto added = to.stepper.add(*std::move(request));
  if (!added) return outcome_of(added.error());
  id = added->value();
  return {};
}

void gather(const StepOutput& output, EventList& events) {
  const std::uint64_t id = output.id.value();
  for (const Delta& delta : output.deltas) events.add(id, delta);
  if (!output.end) return;
  std::int32_t place = 0;
  for (const ChoiceEnd& end : output.end->choices) events.add(id, place++, end);
  const Error& error = output.end->error;
  events.add_end(id, output.end->reason, output.end->usage,
                 error.code ? to_string(error) : std::string());
}

/// A negative budget means none.
Outcome infer(weft_stepper& stepper, std::int64_t budget_us) {
  stepper.events.clear();
  if (!stepper.untold) {
    // Longer budgets are cut to a day, so that no clock overflows.
    constexpr std::int64_t kMost = 24LL * 60 * 60 * 1'000'000;
    const std::chrono::microseconds budget(std::min(budget_us, kMost));
    stepper.outputs = budget_us < 0
                          ? stepper.stepper.infer()
                          : stepper.stepper.infer(std::chrono::steady_clock::now() + budget);
  }
  stepper.untold = true;
  for (const StepOutput& output : stepper.outputs) gather(output, stepper.events);
  stepper.untold = false;
  return {};
}

}  // namespace
}  // namespace weft::c_api

namespace c_api = weft::c_api;

weft_status weft_stepper_create(const char* config, weft_stepper** stepper, char** error) {
  if (stepper != nullptr) *stepper = nullptr;
  return c_api::call(config != nullptr && stepper != nullptr, error,
                     [&] { return c_api::create_stepper(config, stepper); });
}

void weft_stepper_free(weft_stepper* stepper) { delete stepper; }

weft_status weft_stepper_add(weft_stepper* stepper, const char* request, uint64_t* id,
                             char** error) {
  return c_api::call(stepper != nullptr && request != nullptr && id != nullptr, error,
                     [&] { return c_api::add_request(*stepper, request, *id); });
}

weft_status weft_stepper_load_adapter(weft_stepper* stepper, const char* name, const char* path,
                                      int replaces, char** error) {
  return c_api::call(stepper != nullptr && name != nullptr && path != nullptr, error, [&] {
    weft::AdapterChange change(name, path);
    change.replaces = replaces != 0;
    const auto changed = stepper->stepper.change_adapter(change);
    return changed ? c_api::Outcome() : c_api::outcome_of(changed.error());
  });
}

weft_status weft_stepper_unload_adapter(weft_stepper* stepper, const char* name, char** error) {
  return c_api::call(stepper != nullptr && name != nullptr, error, [&] {
    weft::AdapterChange change{std::string(name)};
    change.unloads = true;
    const auto changed = stepper->stepper.change_adapter(change);
    return changed ? c_api::Outcome() : c_api::outcome_of(changed.error());
  });
}

weft_status weft_stepper_cancel(weft_stepper* stepper, uint64_t id) {
  if (stepper == nullptr) return WEFT_INVALID;
  return stepper->stepper.cancel(weft::RequestId(id)) ? WEFT_OK : WEFT_INVALID;
}

weft_status weft_stepper_infer(weft_stepper* stepper, const weft_event** events, size_t* count,
                               char** error) {
  return weft_stepper_infer_within(stepper, -1, events, count, error);
}

weft_status weft_stepper_infer_within(weft_stepper* stepper, int64_t budget_us,
                                      const weft_event** events, size_t* count, char** error) {
  if (events != nullptr) *events = nullptr;
  if (count != nullptr) *count = 0;
  return c_api::call(stepper != nullptr && events != nullptr && count != nullptr, error, [&] {
    c_api::Outcome outcome = c_api::infer(*stepper, budget_us);
    stepper->events.give(events, count);
    return outcome;
  });
}

int32_t weft_stepper_idle(const weft_stepper* stepper) {
  return stepper == nullptr || (stepper->stepper.idle() && !stepper->untold) ? 1 : 0;
}
