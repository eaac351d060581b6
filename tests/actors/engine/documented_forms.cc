// Runs each form of a call that the README, the pages in docs/ and the public headers show, and the
// short forms that a user writes in their place. GCC 12 makes an aggregate that is a temporary of a
// co_await expression wrong, so this program is built by GCC as well, under AddressSanitizer.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/weft.h"

namespace {

namespace asio = boost::asio;

// A temporary of one of these types may stand in a co_await expression.
static_assert(!std::is_aggregate_v<weft::Request>);
static_assert(!std::is_aggregate_v<weft::EmbedRequest>);
static_assert(!std::is_aggregate_v<weft::Config>);
static_assert(!std::is_aggregate_v<weft::ModelConfig>);
static_assert(!std::is_aggregate_v<weft::ModelsConfig>);
static_assert(!std::is_aggregate_v<weft::PipelineOptions>);
static_assert(!std::is_aggregate_v<weft::ModelHostOptions>);
static_assert(!std::is_aggregate_v<weft::StepperOptions>);

// Short texts lie inside a std::string, long ones do not.
constexpr std::string_view kShort = "Once";
constexpr std::string_view kLong =
    "Once upon a time there was a text that no short string could hold";

void expect(bool holds, std::string_view what) {
  if (!holds) throw std::runtime_error(std::string(what));
}

/// Training without a piece.
class NoTraining final : public weft::TrainingWork {
 public:
  [[nodiscard]] std::int64_t iterations() const override { return 0; }
  [[nodiscard]] std::int64_t iterations_done() const override { return 0; }
  [[nodiscard]] weft::Result<weft::TrainingPiece> run_piece() override {
    return weft::TrainingPiece{};
  }
  void abandon() override {}
};

/// Answers each request at once: with its own prompt as the text, and with a vector.
class EchoPort final : public weft::RequestPort {
 public:
  std::shared_ptr<weft::ActiveRequest> make_request(
      weft::Request request, std::shared_ptr<weft::RequestSink> sink) override {
    return std::make_shared<weft::ActiveRequest>(ids_.next(), std::move(request), std::move(sink),
                                                 weft::TimePoint(weft::Duration(1)));
  }
  void submit(weft::RequestTicket ticket) noexcept override {
    const std::shared_ptr<weft::ActiveRequest> active = ticket.share();
    active->admit(1);
    weft::DeltaView delta;
    delta.text = active->request().prompt;
    const std::vector<weft::TokenId> tokens(delta.text.begin(), delta.text.end());
    delta.tokens = tokens;
    if (!active->request().vector) active->deliver(delta);
    weft::Finish finish;
    finish.vector = {0.5F, static_cast<float>(active->request().prompt.size())};
    std::move(ticket).finish(std::move(finish));
  }
  void stop(std::function<void()> stopped) noexcept override { stopped(); }
  [[nodiscard]] weft::EngineStats stats() const override { return {}; }
  [[nodiscard]] weft::MetricsRegistry& metrics() const noexcept override { return *metrics_; }
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  const std::unique_ptr<weft::MetricsRegistry> metrics_ = std::make_unique<weft::MetricsRegistry>();
  weft::IdSource<weft::RequestKind> ids_;
};

void expect_text(const weft::GenerationResult& result, std::string_view text) {
  expect(result.choices.at(0).text == text, "another text was generated");
}
void expect_vector(const weft::EmbedResult& result, std::string_view text) {
  expect(result.vector.at(1) == static_cast<float>(text.size()), "another text was embedded");
}

// The engine outlives these coroutines, as in an application's main().
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
asio::awaitable<void> embed(weft::Engine& engine) {
  using asio::use_awaitable;
  expect_vector(co_await engine.async_embed("Once", asio::use_awaitable), kShort);
  expect_vector(co_await engine.async_embed({"Once"}, use_awaitable), kShort);
  expect_vector(co_await engine.async_embed(std::string(kLong), use_awaitable), kLong);
  expect_vector(co_await engine.async_embed(weft::EmbedRequest("Once"), use_awaitable), kShort);
  expect_vector(co_await engine.async_embed(weft::EmbedRequest{kLong.data()}, use_awaitable),
                kLong);
  expect_vector(co_await engine.async_embed({}, use_awaitable), "");
  weft::EmbedRequest request("Once");
  request.wish = {.second_text = std::string(kLong), .dimensions = 2};
  expect_vector(co_await engine.async_embed(std::move(request), use_awaitable), kShort);
}

asio::awaitable<void> generate(weft::Engine& engine) {
  using asio::use_awaitable;
  expect_text(co_await engine.async_generate("Once", use_awaitable), kShort);
  expect_text(co_await engine.async_generate({"Once"}, use_awaitable), kShort);
  expect_text(co_await engine.async_generate(std::string(kLong), use_awaitable), kLong);
  expect_text(co_await engine.async_generate(weft::Request("Once"), use_awaitable), kShort);
  expect_text(co_await engine.async_generate(weft::Request{kLong.data()}, use_awaitable), kLong);
  expect_text(co_await engine.async_generate({}, use_awaitable), "");
  const auto [error, result] =
      co_await engine.async_generate("Once", asio::as_tuple(asio::use_awaitable));
  expect(!error, "the request failed");
  expect_text(result, kShort);
  expect_text(co_await engine.async_generate("Once", asio::deferred), kShort);
  auto later = engine.async_generate("Once", asio::deferred);
  expect_text(co_await std::move(later)(use_awaitable), kShort);
}

asio::awaitable<void> race(weft::Engine& engine) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));
  const auto first = co_await (engine.async_generate("Once", asio::use_awaitable) ||
                               timer.async_wait(asio::use_awaitable));
  expect_text(std::get<0>(first), kShort);
  const auto both = co_await (engine.async_generate("Once", asio::use_awaitable) &&
                              engine.async_embed("Once", asio::use_awaitable));
  expect_vector(std::get<1>(both), kShort);
}

asio::awaitable<void> open(weft::Engine& engine) {
  weft::Request request;
  request.prompt = "Once upon a time";
  request.sampling = {.bad_tokens = {1, 2}, .temperature = 0};
  request.stop = {"a stop string that no short string holds", "."};
  auto stream = co_await engine.async_open(std::move(request), boost::asio::use_awaitable);
  std::string text;
  while (auto delta = co_await stream.async_next(boost::asio::use_awaitable)) text += delta->text;
  expect(text == "Once upon a time", "another text was streamed");
  auto other = co_await engine.async_open("Once upon a time", asio::use_awaitable);
  expect((co_await other.async_next(asio::use_awaitable))->text == text, "another text came");
  text = kLong;
  auto third = co_await engine.async_open(weft::Request(text), asio::use_awaitable);
  expect((co_await third.async_next(asio::use_awaitable))->text == kLong, "another text came");
}

// There is no model, so that nothing is made; the arguments are temporaries all the same.
asio::awaitable<void> load(weft::Engine& engine) {
  using asio::use_awaitable;
  const auto executor = co_await asio::this_coro::executor;
  const auto [unknown, detail] =
      co_await engine.async_load("a model that is not there", asio::as_tuple(use_awaitable));
  expect(unknown == weft::EngineErrc::kNoSuchModel, "a model was loaded");
  co_await engine.async_unload("a model that is not there", asio::as_tuple(use_awaitable));
  const auto [none, why] = co_await engine.async_load_adapter(
      "an adapter", "a long path to its files", asio::as_tuple(use_awaitable));
  expect(none == weft::EngineErrc::kNoSuchAdapter, "an adapter was loaded");
  co_await engine.async_load_adapter(weft::AdapterChange("an adapter", "a long path to its files"),
                                     asio::as_tuple(use_awaitable));
  co_await engine.async_unload_adapter("an adapter that is not there",
                                       asio::as_tuple(use_awaitable));
  const weft::TrainingTask task(std::make_shared<NoTraining>());
  const auto [untrained, reason] = co_await engine.async_train(task, asio::as_tuple(use_awaitable));
  expect(untrained == weft::EngineErrc::kBadRequest, "a model of several was trained");
  const auto loaded = co_await weft::async_load_engine(executor, {}, {}, use_awaitable);
  expect(!loaded, "an engine was made of no model");
  const auto again = co_await weft::async_load_engine(executor, weft::Config(),
                                                      weft::PipelineOptions(), use_awaitable);
  expect(!again, "an engine was made of no model");
  expect(!weft::Engine::create(co_await asio::this_coro::executor, weft::Config()), "no model");
  expect(!weft::Engine::create(co_await asio::this_coro::executor, weft::Config(), {}), "no model");
  expect(!weft::Engine::create(co_await asio::this_coro::executor, weft::ModelsConfig()), "none");
}

asio::awaitable<void> all(weft::Engine& engine) {
  co_await embed(engine);
  co_await generate(engine);
  co_await race(engine);
  co_await open(engine);
  co_await load(engine);
  co_await engine.async_drain(asio::use_awaitable);
  co_await engine.async_shutdown(asio::use_awaitable);
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

}  // namespace

int main() try {
  asio::io_context io;
  weft::Engine engine(io.get_executor(), std::make_unique<EchoPort>());
  std::exception_ptr failure;
  bool ended = false;
  asio::co_spawn(io, all(engine), [&](std::exception_ptr thrown) {
    failure = std::move(thrown);
    ended = true;
  });
  io.run();
  if (failure) std::rethrow_exception(failure);
  expect(ended, "a form never completed");
  std::cout << "all forms ran\n";
} catch (const std::exception& error) {
  std::cerr << "documented_forms: " << error.what() << '\n';
  return 1;
}
