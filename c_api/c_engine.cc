#include "weft/c_api/c_engine.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/actors/engine/token_stream.h"
#include "weft/actors/engine_error.h"
#include "weft/c_api/c_call.h"
#include "weft/c_api/c_events.h"
#include "weft/c_api/c_request.h"
#include "weft/c_api/weft_c.h"
#include "weft/config/models_config.h"

// NOLINTBEGIN(readability-identifier-naming): C's names
struct weft_stream {
  std::shared_ptr<weft::c_api::OwnContext> context;
  weft::TokenStream stream;
  std::future<weft::c_api::Completed<std::optional<weft::Delta>>>
      next{};                          ///< valid while an operation is under way
  std::optional<weft::Delta> delta{};  ///< the delta that the last events point to
  bool untold = false;                 ///< an event could not be given, because memory was missing
  weft::c_api::EventList events{};
  bool ended = false;
};
// NOLINTEND(readability-identifier-naming)

namespace weft::c_api {
namespace {

constexpr int kUnavailable = 503;

/// Returns an error with the reason, since the caller of the library is the operator, too.
ApiError not_there(EngineErrc code, const std::string& why) {
  ApiError error;
  error.status = kUnavailable;
  error.message = make_error_code(code).message();
  if (!why.empty()) error.message += ": " + why;
  return error;
}

}  // namespace

ApiResult<ModelCard> card_for(weft_engine& engine, std::string_view name) {
  if (engine.card.model) return card_named(engine.card, name);
  const auto find = [&]() -> ApiResult<ModelCard> {
    const auto list = engine.engine.models();
    auto found = list->named(name);
    if (!found) return api_error_of({EngineErrc::kNoSuchModel, "model: " + shown(name)});
    return *std::move(found);
  };
  auto card = find();
  if (!card || card->model) return card;
  const bool comes = card->state == ModelState::kLoading || engine.engine.models()->loads_on_demand;
  if (!comes)
    return not_there(EngineErrc::kModelNotLoaded,
                     card->failure.code ? to_string(card->failure) : std::string());
  std::promise<Completed<std::string>> promise;
  auto loaded = promise.get_future();
  engine.engine.async_load(card->base(), keeping(std::move(promise)));
  auto [error, detail] = loaded.get();
  if (error) return not_there(EngineErrc::kModelNotLoaded, to_string(Error{error, detail}));
  card = find();
  // The model may have been unloaded in the meantime, to make room for another model.
  if (card && !card->model) return not_there(EngineErrc::kModelNotLoaded, {});
  return card;
}

Outcome refusal_of(const ApiError& error) {
  return {error.status == kUnavailable ? WEFT_UNAVAILABLE : WEFT_INVALID, error.message};
}

namespace {

Result<Engine> make_engine(const asio::any_io_executor& executor, const ModelsConfig& config) {
  if (config.models.size() > 1) return Engine::create(executor, config);
  return Engine::create(executor, config.models.front().config);
}

Outcome create_engine(const char* config_text, weft_engine** made) {
  const auto config = ModelsConfig::parse(config_text, "config");
  if (!config) return outcome_of(config.error());
  auto context = std::make_shared<OwnContext>();
  auto engine = make_engine(context->executor(), *config);
  if (!engine) return outcome_of(engine.error());
  ModelCard card = card_of(config->models.size() > 1 ? nullptr : engine->model());
  *made = std::make_unique<weft_engine>(std::move(context), *std::move(engine), std::move(card))
              .release();
  return {};
}

Outcome outcome_of_change(Completed<std::string> changed) {
  auto& [error, detail] = changed;
  return error ? outcome_of(Error{error, std::move(detail)}) : Outcome();
}

Outcome load_adapter(weft_engine& engine, AdapterChange change) {
  std::promise<Completed<std::string>> promise;
  auto loaded = promise.get_future();
  engine.engine.async_load_adapter(std::move(change), keeping(std::move(promise)));
  return outcome_of_change(loaded.get());
}

Outcome unload_adapter(weft_engine& engine, const char* model, const char* name) {
  std::promise<Completed<std::string>> promise;
  auto unloaded = promise.get_future();
  engine.engine.async_unload_adapter(name, model == nullptr ? "" : model,
                                     keeping(std::move(promise)));
  return outcome_of_change(unloaded.get());
}

Outcome open_stream(weft_engine& engine, const char* text, weft_stream** made) {
  auto request = read_request(text, [&](std::string_view name) { return card_for(engine, name); });
  if (!request) return refusal_of(request.error());
  std::promise<Completed<TokenStream>> promise;
  auto opened = promise.get_future();
  engine.engine.async_open(*std::move(request), keeping(std::move(promise)));
  auto [error, stream] = opened.get();
  if (error) return outcome_of(Error{error, std::string(stream.error_detail())});
  *made = std::make_unique<weft_stream>(engine.context, std::move(stream)).release();
  return {};
}

/// Waits for the stream's next delta or end. Returns whether it has come.
bool wait(weft_stream& stream, std::int64_t timeout_ms) {
  if (!stream.next.valid()) {
    std::promise<Completed<std::optional<Delta>>> promise;
    stream.next = promise.get_future();
    stream.stream.async_next(keeping(std::move(promise)));
  }
  if (timeout_ms < 0) {
    stream.next.wait();
    return true;
  }
  // Longer waits are cut to a day, so that no clock overflows.
  constexpr std::int64_t kMost = 24LL * 60 * 60 * 1000;
  const std::chrono::milliseconds time(std::min(timeout_ms, kMost));
  return stream.next.wait_for(time) == std::future_status::ready;
}

void gather_end(weft_stream& stream, boost::system::error_code error) {
  const GenerationResult& result = stream.stream.result();
  std::int32_t place = 0;
  for (const GeneratedChoice& choice : result.choices) stream.events.add(0, place++, choice.end);
  const std::string why = error ? to_string(Error{error, result.error_detail}) : std::string();
  FinishReason reason = result.reason;
  // The request may have ended by itself before it heard that it was cancelled.
  if (error == EngineErrc::kCancelled) reason = FinishReason::kCancelled;
  stream.events.add_end(0, reason, result.usage, why);
  stream.ended = true;
}

/// Takes the next delta or the end from the stream. Returns WEFT_TIMEOUT without either.
Outcome take_next(weft_stream& stream, std::int64_t timeout_ms) {
  for (;;) {
    if (!wait(stream, timeout_ms)) return {.status = WEFT_TIMEOUT};
    auto [error, delta] = stream.next.get();
    // Cancelling drops the waiting delta; the end still comes.
    if (!delta && error == asio::error::operation_aborted) continue;
    if (error == boost::system::errc::not_enough_memory) return outcome_of(Error{error, {}});
    stream.delta = std::move(delta);
    if (!stream.delta) gather_end(stream, error);
    stream.untold = stream.delta.has_value();
    return {};
  }
}

Outcome read_stream(weft_stream& stream, std::int64_t timeout_ms) {
  stream.events.clear();
  if (stream.ended) return {.status = WEFT_ENDED};
  Outcome outcome = stream.untold ? Outcome() : take_next(stream, timeout_ms);
  if (!stream.untold) return outcome;
  stream.events.add(0, *stream.delta);
  stream.untold = false;
  return outcome;
}

}  // namespace
}  // namespace weft::c_api

weft_status weft_engine_create(const char* config, weft_engine** engine, char** error) {
  if (engine != nullptr) *engine = nullptr;
  return weft::c_api::call(config != nullptr && engine != nullptr, error,
                           [&] { return weft::c_api::create_engine(config, engine); });
}

void weft_engine_free(weft_engine* engine) { delete engine; }

weft_status weft_engine_load_adapter(weft_engine* engine, const char* model, const char* name,
                                     const char* path, int replaces, char** error) {
  return weft::c_api::call(engine != nullptr && name != nullptr && path != nullptr, error, [&] {
    weft::AdapterChange change(name, path);
    if (model != nullptr) change.model = model;
    change.replaces = replaces != 0;
    return weft::c_api::load_adapter(*engine, std::move(change));
  });
}

weft_status weft_engine_unload_adapter(weft_engine* engine, const char* model, const char* name,
                                       char** error) {
  return weft::c_api::call(engine != nullptr && name != nullptr, error,
                           [&] { return weft::c_api::unload_adapter(*engine, model, name); });
}

weft_status weft_engine_open(weft_engine* engine, const char* request, weft_stream** stream,
                             char** error) {
  if (stream != nullptr) *stream = nullptr;
  return weft::c_api::call(engine != nullptr && request != nullptr && stream != nullptr, error,
                           [&] { return weft::c_api::open_stream(*engine, request, stream); });
}

weft_status weft_stream_next(weft_stream* stream, int64_t timeout_ms, const weft_event** events,
                             size_t* count, char** error) {
  if (events != nullptr) *events = nullptr;
  if (count != nullptr) *count = 0;
  return weft::c_api::call(stream != nullptr && events != nullptr && count != nullptr, error, [&] {
    weft::c_api::Outcome outcome = weft::c_api::read_stream(*stream, timeout_ms);
    stream->events.give(events, count);
    return outcome;
  });
}

weft_status weft_stream_cancel(weft_stream* stream) {
  return weft::c_api::call(stream != nullptr, nullptr, [&] {
    stream->stream.cancel();
    return weft::c_api::Outcome();
  });
}

void weft_stream_free(weft_stream* stream) { delete stream; }
