#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/request/request_port.h"
#include "weft/tests/actors/letter_model.h"
#include "weft/tests/actors/simulated_request.h"

namespace weft::test {

/// Active requests of one thread; some of them wait for rows.
inline constexpr std::size_t kCancelOpen = 24;
inline constexpr std::size_t kCancelThreads = 4;

/// How requests have ended that were cancelled at any moment.
struct CancelTally {
  std::atomic<std::size_t> ends{0}, cancelled{0}, completed{0}, failed{0};
  std::atomic<std::size_t> without_tokens{0}, while_streaming{0};
};

/// A request that is cancelled at its `cancel_at`-th token, if it gets that far.
class CancellingRequest final : public RequestSink {
 public:
  using Check = std::function<void(const SimulatedRequest& request)>;

  CancellingRequest(Request what, CancelTally& tally, std::counting_semaphore<>& places,
                    std::size_t cancel_at, const Check& check)
      : request(std::move(what)),
        tally_(tally),
        places_(places),
        cancel_at_(cancel_at),
        check_(check) {}

  void deliver(const DeltaView& delta) noexcept override {
    request.deliver(delta);
    tokens_ += delta.tokens.size();
    if (tokens_ != cancel_at_) return;
    if (const auto active = active_.lock()) active->ask_to_end(EndCause::kCancel);
  }
  void finish(Finish&& finish) noexcept override {
    const FinishReason reason = finish.reason;
    request.finish(std::move(finish));
    check_(request);
    tally_.ends.fetch_add(1);
    if (reason == FinishReason::kCancelled) {
      tally_.cancelled.fetch_add(1);
      (tokens_ == 0 ? tally_.without_tokens : tally_.while_streaming).fetch_add(1);
    } else {
      (reason == FinishReason::kError ? tally_.failed : tally_.completed).fetch_add(1);
    }
    places_.release();
  }

  void set_active(std::weak_ptr<ActiveRequest> active) { active_ = std::move(active); }

  SimulatedRequest request;

 private:
  CancelTally& tally_;
  std::counting_semaphore<>& places_;
  const std::size_t cancel_at_;
  const Check& check_;
  std::weak_ptr<ActiveRequest> active_;
  std::size_t tokens_ = 0;
};

/// Sends some thousand requests, kCancelOpen at a time. Some are cancelled at a random moment, when
/// later ones have begun.
inline void send_and_cancel(RequestPort& port, CancelTally& tally, std::uint64_t seed,
                            std::size_t count, const std::function<Request(std::mt19937_64&)>& make,
                            const CancellingRequest::Check& check) {
  std::mt19937_64 random(seed);
  std::counting_semaphore<> places(kCancelOpen);
  std::vector<std::shared_ptr<ActiveRequest>> open;
  const auto cancel_one = [&] {
    const std::size_t which = random() % open.size();
    open[which]->ask_to_end(EndCause::kCancel);
    open[which] = open.back();
    open.pop_back();
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (open.size() >= kCancelOpen) cancel_one();
    places.acquire();
    const std::size_t cancel_at = random() % 3 == 0 ? 1 + random() % 20 : 0;
    auto sink = std::make_shared<CancellingRequest>(make(random), tally, places, cancel_at, check);
    auto active = port.make_request(sink->request.request, sink);
    sink->set_active(active);
    if (random() % 20 == 0) active->ask_to_end(EndCause::kCancel);
    open.push_back(active);
    port.submit(RequestTicket(std::move(active)));
    if (random() % 4 == 0) cancel_one();
  }
  while (!open.empty()) cancel_one();
  for (std::size_t i = 0; i < kCancelOpen; ++i) places.acquire();
}

/// Ten thousand of them from several threads. `check` is called with each that has ended, on any
/// thread; each has one end, and nothing comes after it.
inline void cancel_ten_thousand(RequestPort& port, CancelTally& tally,
                                const std::function<Request(std::mt19937_64&)>& make,
                                const CancellingRequest::Check& check) {
  constexpr std::size_t kOfAThread = 10'000 / kCancelThreads;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < kCancelThreads; ++i) {
      threads.emplace_back(
          [&, i] { send_and_cancel(port, tally, i + 1, kOfAThread, make, check); });
    }
  }
  EXPECT_EQ(tally.ends, kCancelThreads * kOfAThread);
}

/// Makes a request: one or two outputs of a prompt that begins like other prompts.
inline Request random_cancelling_request(std::mt19937_64& random) {
  Request request;
  const std::uint64_t text = random() % 8;  // one of them is a prompt of its own
  for (std::uint64_t i = 0, tokens = 1 + random() % 60; i < tokens; ++i) {
    const std::uint64_t token = text == 0 ? random() : text * (i + 7);
    request.prompt_tokens.push_back(static_cast<TokenId>(token % kLetters));
  }
  request.max_tokens = static_cast<std::int32_t>(1 + random() % 60);
  request.request_class = random() % 2 == 0 ? RequestClass::kChat : RequestClass::kBatch;
  request.sampling.seed = random();
  request.sampling.ignore_eos = true;
  if (random() % 5 == 0) request.sampling.n = 2;
  return request;
}

}  // namespace weft::test
