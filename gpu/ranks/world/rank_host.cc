#include "weft/gpu/ranks/world/rank_host.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "weft/core/actor/supervision.h"
#include "weft/core/thread.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/world/handshake.h"
#include "weft/gpu/ranks/world/plan_codec.h"
#include "weft/gpu/ranks/world/rank_door.h"
#include "weft/gpu/ranks/world/rank_key.h"

namespace weft {
namespace {

using Steady = std::chrono::steady_clock;

Error last_words(const RankFrame& frame) {
  return {DeviceErrc::kRankLost,
          std::string(reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size())};
}

Error in(const std::string& who, const Error& error) {
  return {error.code, who + ": " + error.detail};
}

Error nobody_came(std::int32_t missing, const std::string& refusal, const std::stop_token& stop) {
  std::string what = std::to_string(missing) + " of the other ranks: ";
  what += stop.stop_requested() ? "told to stop" : "nobody has connected for too long";
  if (!refusal.empty()) what += "; one was sent away: " + refusal;
  return {DeviceErrc::kRankLost, std::move(what)};
}

}  // namespace

/// A rank of another process.
class RankHost::RemoteRank final : public StepDevice {
 public:
  RemoteRank(std::shared_ptr<RankHost> host, std::int32_t process, const DeviceLimits& limits)
      : host_(std::move(host)), process_(host_->process(process)), limits_(limits) {}

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return limits_; }
  [[nodiscard]] bool samples() const noexcept override { return false; }

  void run(const Plan& plan, StepResult& result) override {
    encode_plan(plan, bytes_);
    if (auto sent = process_.socket->send(RankMessage::kPlan, bytes_); !sent) {
      host_->abandon(host_->name_of(process_) + ": " + sent.error().detail);
    }
    ++plans_;
    std::unique_lock lock(host_->mutex_);
    host_->changed_.wait(lock, [&] { return host_->lost_ || process_.done == plans_; });
    if (host_->lost_) throw ActorFailure(ExitKind::kDeviceLost, *host_->lost_);
    result.took = process_.took;
  }

  [[nodiscard]] Result<std::shared_ptr<const DeviceAdapter>> prepare_adapter(
      const Adapter& /*adapter*/) const override {
    return Error{DeviceErrc::kUnfit, "ranks of other processes compute no adapters"};
  }

  void abandon() noexcept override { host_->abandon("another rank was lost"); }
  void watch(std::function<void(const std::string& why)> tell) override {
    host_->tell_of_loss(std::move(tell));
  }

 private:
  const std::shared_ptr<RankHost> host_;
  Process& process_;
  const DeviceLimits limits_;
  std::vector<std::byte> bytes_;
  std::uint64_t plans_ = 0;
};

Result<std::shared_ptr<RankHost>> RankHost::gather(const RankWorld& world,
                                                   const std::stop_token& stop) {
  if (auto keyed = check_rank_key(world); !keyed) return keyed.error();
  const auto tls = RankTls::load(world.tls);
  if (!tls) return tls.error();
  auto listener = RankListener::open(world.address);
  if (!listener) return listener.error();
  std::shared_ptr<RankHost> host(new RankHost(world));
  host->processes_.resize(static_cast<std::size_t>(world.size));
  RankDoor door(*listener, host->world_, tls->get());
  for (std::int32_t missing = world.size - 1; missing > 0;) {
    auto guest = door.wait_for_next(Steady::now() + world.gathering, stop);
    if (!guest) return guest.error();
    if (!*guest) return nobody_came(missing, door.refusal(), stop);
    Process& process = host->process((*guest)->rank);
    if (process.socket) continue;
    process.socket = std::move((*guest)->socket);
    process.drum = std::make_unique<RankDrum>(*process.socket, world.timeout / 4);
    --missing;
  }
  return host;
}

RankHost::~RankHost() {
  watcher_.request_stop();
  if (watcher_.joinable()) watcher_.join();
  for (Process& process : processes_) {
    process.drum.reset();
    if (process.socket) static_cast<void>(process.socket->send(RankMessage::kBye));
  }
}

std::string RankHost::name_of(const Process& process) const {
  return "rank " + std::to_string(&process - processes_.data());
}

Result<void> RankHost::set_up(std::int32_t number, const RankSetup& setup) {
  Process& one = process(number);
  if (auto sent = one.socket->send(RankMessage::kSetup, encode_setup(setup)); !sent) {
    return in(name_of(one), sent.error());
  }
  return {};
}

Result<std::vector<RankRoom>> RankHost::ask(const std::vector<RankQuestion>& questions) {
  for (std::size_t number = 1; number < processes_.size(); ++number) {
    Process& one = processes_[number];
    const auto sent = one.socket->send(RankMessage::kAsk, encode_question(questions[number]));
    if (!sent) return in(name_of(one), sent.error());
  }
  std::vector<RankRoom> rooms(processes_.size());
  for (std::size_t number = 1; number < processes_.size(); ++number) {
    auto room = hear_room(processes_[number]);
    if (!room) return in(name_of(processes_[number]), room.error());
    rooms[number] = *std::move(room);
  }
  return rooms;
}

Result<RankRoom> RankHost::hear_room(Process& process) {
  for (const auto end = Steady::now() + world_.gathering; Steady::now() < end;) {
    const auto frame = process.socket->receive(static_cast<int>(world_.timeout.count()));
    if (!frame) return frame.error();
    if (frame->kind == RankMessage::kFailed) return last_words(*frame);
    if (frame->kind != RankMessage::kRoom) continue;
    auto room = decode_room(frame->payload);
    // The process listens at the address from which it has connected.
    if (room) room->address.insert(0, process.socket->other_host());
    return room;
  }
  return Error{DeviceErrc::kRankLost, "it has not said for too long what it has"};
}

void RankHost::watch_over(std::function<void()> on_lost) {
  std::function<void()> tell;
  {
    const std::lock_guard lock(mutex_);
    (lost_ ? tell : on_lost_) = std::move(on_lost);
  }
  if (tell) return tell();
  for (Process& one : processes_) one.heard = Steady::now();
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

bool RankHost::are_ready() const {
  return std::ranges::all_of(processes_,
                             [](const Process& one) { return one.ready || one.socket == nullptr; });
}

Result<void> RankHost::wait_until_ready() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return lost_ || are_ready(); });
  if (lost_) return Error{DeviceErrc::kRankLost, *lost_};
  return {};
}

std::optional<Error> RankHost::loss() {
  const std::lock_guard lock(mutex_);
  if (!lost_) return std::nullopt;
  return Error{DeviceErrc::kRankLost, *lost_};
}

std::unique_ptr<StepDevice> RankHost::device(std::int32_t number, const DeviceLimits& limits) {
  return std::make_unique<RemoteRank>(shared_from_this(), number, limits);
}

void RankHost::dismiss(const std::string& why) noexcept {
  for (const Process& process : processes_) {
    if (process.socket) static_cast<void>(process.socket->send(RankMessage::kBye));
  }
  abandon(why);
}

void RankHost::abandon(const std::string& why) noexcept {
  std::function<void()> tell;
  {
    const std::lock_guard lock(mutex_);
    if (lost_) return;
    lost_ = why;
    tell = std::exchange(on_lost_, {});
  }
  changed_.notify_all();
  for (Process& process : processes_) {
    if (process.socket) process.socket->shut_down();
  }
  if (tell) tell();
  const std::lock_guard lock(telling_);
  if (watcher_of_device_) std::exchange(watcher_of_device_, {})(why);
}

void RankHost::tell_of_loss(std::function<void(const std::string& why)> tell) {
  const std::lock_guard lock(telling_);
  watcher_of_device_ = std::move(tell);
  const std::lock_guard state(mutex_);
  if (lost_ && watcher_of_device_) std::exchange(watcher_of_device_, {})(*lost_);
}

void RankHost::watch(const std::stop_token& stop) {
  name_this_thread("weft-ranks");
  std::vector<pollfd> sockets;
  std::vector<Process*> owners;
  for (Process& process : processes_) {
    if (!process.socket) continue;
    sockets.push_back({process.socket->descriptor(), POLLIN, 0});
    owners.push_back(&process);
    // Bytes that arrived together with an answer do not wake a poll.
    if (auto heard = hear(process); !heard) {
      return abandon(name_of(process) + ": " + heard.error().detail);
    }
  }
  while (!stop.stop_requested()) {
    // Short, so that the destructor does not wait long.
    constexpr int kLook = 20;
    if (::poll(sockets.data(), sockets.size(), kLook) < 0) continue;
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      Process& process = *owners[i];
      if (sockets[i].revents != 0) {
        if (auto heard = hear(process); !heard) {
          return abandon(name_of(process) + ": " + heard.error().detail);
        }
      }
      if (Steady::now() - process.heard > world_.timeout) {
        return abandon(name_of(process) + ": it has been silent for too long");
      }
    }
  }
}

Result<void> RankHost::hear(Process& process) {
  for (;;) {
    const auto frame = process.socket->poll();
    if (!frame) return frame.error();
    if (!*frame) return {};
    process.heard = Steady::now();
    if (auto heard = hear(process, **frame); !heard) return heard;
  }
}

Result<void> RankHost::hear(Process& process, const RankFrame& frame) {
  if (frame.kind == RankMessage::kFailed) return last_words(frame);
  if (frame.kind == RankMessage::kReady) {
    const std::lock_guard lock(mutex_);
    process.ready = true;
    changed_.notify_all();
  }
  if (frame.kind != RankMessage::kDone) return {};
  std::int64_t nanoseconds = 0;
  if (frame.payload.size() != sizeof(nanoseconds)) {
    return Error{DeviceErrc::kRankLost, "it sent what is no message"};
  }
  std::memcpy(&nanoseconds, frame.payload.data(), sizeof(nanoseconds));
  {
    const std::lock_guard lock(mutex_);
    process.took = std::chrono::nanoseconds(nanoseconds);
    ++process.done;
  }
  changed_.notify_all();
  return {};
}

}  // namespace weft
