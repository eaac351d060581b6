#include "weft/gpu/ranks/world/rank_door.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "weft/core/thread.h"
#include "weft/gpu/ranks/world/handshake.h"

namespace weft {
namespace {

/// Milliseconds between two checks of the greetings and of the stop.
constexpr int kLookAround = 20;

}  // namespace

RankDoor::RankDoor(const RankListener& listener, const RankWorld& world, const RankTls* tls)
    : listener_(listener), world_(world), tls_(tls) {}

RankDoor::~RankDoor() {
  for (const Greeting& one : greetings_) one.socket->shut_down();
}

Result<std::optional<RankDoor::Guest>> RankDoor::wait_for_next(
    std::chrono::steady_clock::time_point end, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (auto guest = take_guest()) return Result<std::optional<Guest>>(std::move(guest));
    if (std::chrono::steady_clock::now() > end) break;
    const auto next = listener_.accept(kLookAround);
    if (!next) return next.error();
    if (*next) greet(**next);
  }
  return std::optional<Guest>();
}

void RankDoor::greet(int descriptor) {
  auto socket = std::make_unique<RankSocket>(descriptor);
  if (greetings_.size() >= kMostGreetings) send_oldest_away();
  Greeting& one = greetings_.emplace_back(Greeting{std::move(socket)});
  try {
    one.thread = std::jthread([this, &one] {
      name_this_thread("weft-greeting");
      Result<std::int32_t> rank = greet_rank(*one.socket, world_, tls_);
      const std::lock_guard lock(mutex_);
      one.ended.emplace(std::move(rank));
    });
  } catch (const std::system_error& failure) {  // it may connect again
    refusal_ = failure.what();
    greetings_.pop_back();
  }
}

void RankDoor::send_oldest_away() {
  const auto is_greeted = [this](const Greeting& one) {
    const std::lock_guard lock(mutex_);
    return !one.ended;
  };
  const auto oldest = std::ranges::find_if(greetings_, is_greeted);
  if (oldest == greetings_.end()) return;
  oldest->socket->shut_down();
  greetings_.erase(oldest);  // waits for its thread; closing the connection wakes the thread
}

/// Removes the greetings that have ended, up to the first that led to a rank.
std::optional<RankDoor::Guest> RankDoor::take_guest() {
  for (auto one = greetings_.begin(); one != greetings_.end();) {
    {
      const std::lock_guard lock(mutex_);
      if (!one->ended) {
        ++one;
        continue;
      }
    }
    one->thread.join();
    std::optional<Guest> guest;
    if (*one->ended) {
      guest = Guest{**one->ended, std::move(one->socket)};
    } else {
      refusal_ = one->ended->error().detail;
    }
    one = greetings_.erase(one);
    if (guest) return guest;
  }
  return std::nullopt;
}

}  // namespace weft
