#include "weft/gpu/ranks/world/rank_worker.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/thread.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/world/handshake.h"
#include "weft/gpu/ranks/world/plan_codec.h"
#include "weft/gpu/ranks/world/rank_key.h"
#include "weft/gpu/ranks/world/rank_socket.h"

namespace weft {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// The plans that have arrived and have not run, and the thread that runs them.
class PlanRunner {
 public:
  PlanRunner(RankSocket& socket, RankLoader& loader, const RankSetup& setup,
             const std::function<void()>& on_ready)
      : socket_(socket),
        setup_(setup),
        on_ready_(on_ready),
        thread_([this, &loader] { run(loader); }) {}

  /// Afterwards no plan begins, and a plan that waits for other ranks ends.
  ~PlanRunner() {
    lost_.request_stop();
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      if (device_) device_->abandon();
    }
    changed_.notify_all();
  }

  void push(std::span<const std::byte> plan) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.emplace_back(plan.begin(), plan.end());
    }
    changed_.notify_all();
  }

  /// Returns why the runner has ended by itself.
  [[nodiscard]] std::optional<Error> failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  void run(RankLoader& loader) {
    name_this_thread("weft-rank");
    try {
      auto device = loader.load(setup_, lost_.get_token());
      if (!device) return fail(device.error());
      {
        const std::lock_guard lock(mutex_);
        device_ = *std::move(device);
      }
      if (on_ready_) on_ready_();
      if (auto sent = socket_.send(RankMessage::kReady); !sent) return fail(sent.error());
      while (const auto plan = take()) {
        if (auto ran = run_plan(*plan); !ran) return fail(ran.error());
      }
    } catch (const std::exception& failure) {
      fail({DeviceErrc::kRankLost, failure.what()});
    }
  }

  std::optional<std::vector<std::byte>> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return std::nullopt;
    std::vector<std::byte> plan = std::move(waiting_.front());
    waiting_.pop_front();
    return plan;
  }

  Result<void> run_plan(std::span<const std::byte> bytes) {
    if (auto decoded = decode_plan(bytes, setup_.limits, plan_); !decoded) return decoded;
    result_.clear();
    const auto began = std::chrono::steady_clock::now();
    device_->run(plan_, result_);
    Duration took = result_.took;
    if (took == Duration{}) took = std::chrono::steady_clock::now() - began;
    const std::int64_t nanoseconds = std::chrono::nanoseconds(took).count();
    return socket_.send(RankMessage::kDone, std::as_bytes(std::span(&nanoseconds, 1)));
  }

  void fail(const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      if (!stopping_) failure_ = error;
    }
    // Last: the head may say goodbye at once, and then failure() must be set.
    static_cast<void>(socket_.send(RankMessage::kFailed, bytes_of(to_string(error))));
    socket_.shut_down();
  }

  RankSocket& socket_;
  const RankSetup& setup_;
  const std::function<void()>& on_ready_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<std::byte>> waiting_;  // at most as many as the head's concurrent ticks
  bool stopping_ = false;
  std::stop_source lost_;
  std::optional<Error> failure_;
  std::unique_ptr<StepDevice> device_;
  Plan plan_;
  StepResult result_;
  std::jthread thread_;
};

Result<void> tell_failure(RankSocket& socket, const Error& error) {
  static_cast<void>(socket.send(RankMessage::kFailed, bytes_of(to_string(error))));
  return error;
}

Error of_head(const Error& error) { return {error.code, "the head: " + error.detail}; }

/// Receives the next message except heartbeats, which must have this kind. Returns nothing if the
/// head has ended.
Result<std::optional<RankFrame>> expect(RankSocket& socket, RankMessage kind, int milliseconds) {
  for (;;) {
    const auto frame = socket.receive(milliseconds);
    if (!frame) return of_head(frame.error());
    if (frame->kind == RankMessage::kBeat) continue;
    if (frame->kind == RankMessage::kBye) return std::optional<RankFrame>();
    if (frame->kind == kind) return std::optional(*frame);
    return Error{DeviceErrc::kRankLost, "the head speaks another protocol"};
  }
}

/// Runs the head's plans until the head ends.
Result<void> serve(RankSocket& socket, RankLoader& loader, const RankSetup& setup, int milliseconds,
                   const std::function<void()>& on_ready) {
  PlanRunner runner(socket, loader, setup, on_ready);
  for (;;) {
    const auto frame = socket.receive(milliseconds);
    if (!frame || frame->kind == RankMessage::kBye) {
      if (const auto failure = runner.failure()) return *failure;
      if (frame) return {};
      return of_head(frame.error());
    }
    if (frame->kind == RankMessage::kPlan) runner.push(frame->payload);
  }
}

/// Greets the head and follows its messages until it ends.
Result<void> follow(RankSocket& socket, const RankWorld& world, const RankTls* tls,
                    RankLoader& loader, const std::function<void()>& on_ready) {
  if (auto greeted = greet_head(socket, world, tls); !greeted) return of_head(greeted.error());
  const RankDrum drum(socket, world.timeout / 4);
  const auto silence = static_cast<int>(world.timeout.count());
  // The head first waits for other processes, whose machines may still be starting.
  const auto asked = expect(socket, RankMessage::kAsk, silence);
  if (!asked || !*asked) return asked ? Result<void>() : asked.error();
  const auto question = decode_question((*asked)->payload);
  if (!question) return question.error();
  const auto room = loader.room(*question, socket.own_host());
  if (!room) return tell_failure(socket, room.error());
  if (auto sent = socket.send(RankMessage::kRoom, encode_room(*room)); !sent) {
    return of_head(sent.error());
  }
  const auto told = expect(socket, RankMessage::kSetup, silence);
  if (!told || !*told) return told ? Result<void>() : told.error();
  auto setup = decode_setup((*told)->payload);
  if (!setup) return setup.error();
  for (std::string& address : setup->addresses) {
    if (address.starts_with(':')) address.insert(0, socket.other_host());
  }
  return serve(socket, loader, *setup, silence, on_ready);
}

}  // namespace

Result<void> run_rank(const RankWorld& world, RankLoader& loader, const RankStop& stop) {
  if (auto keyed = check_rank_key(world); !keyed) return keyed;
  const auto tls = RankTls::load(world.tls);
  if (!tls) return tls.error();
  const auto descriptor =
      RankSocket::connect(world.address, static_cast<int>(world.gathering.count()), stop.stop);
  if (stop.stop.stop_requested()) {
    if (descriptor) ::close(*descriptor);
    return {};
  }
  if (!descriptor) return descriptor.error();
  RankSocket socket(*descriptor);
  const std::stop_callback on_stop(stop.stop, [&socket] { socket.shut_down(); });
  auto followed = follow(socket, world, tls->get(), loader, stop.on_ready);
  // A failure after the stop only says that the connection was ended.
  if (stop.stop.stop_requested()) return {};
  return followed;
}

}  // namespace weft
