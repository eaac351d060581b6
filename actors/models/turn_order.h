#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "weft/core/request_class.h"
#include "weft/core/time/clock.h"

namespace weft {

/// How many requests of each class a model has that have not ended. Thread-safe.
struct ModelUse {
  std::array<std::atomic<std::int32_t>, kRequestClasses.size()> requests{};

  [[nodiscard]] std::atomic<std::int32_t>& of(RequestClass cls) noexcept {
    return requests[static_cast<std::size_t>(cls)];
  }
  /// The most urgent class of its requests; nothing where it has none.
  [[nodiscard]] std::optional<RequestClass> most_urgent() const noexcept;
};

/// Who of the models on one device has its next step: one with chat before those with batch alone,
/// and of several that one which has had the least time for its share. A model that was away gets
/// no time for that afterwards.
///
/// A model asks for its next step a moment after it has had one, and until then the others are the
/// only ones that ask. So one that is due, since it has requests, is waited for: for kGrace after
/// its step, once.
///
/// The times are start tags (Goyal, Vin, Cheng, "Start-time Fair Queueing", SIGCOMM 1996): counters
/// of time as the scheduler's are of tokens, which need no cost in advance and lift who comes back
/// to the step that runs. Owner only.
class TurnOrder {
 public:
  /// The next plan is in the executor's mailbox while a step runs: it asks again after a few
  /// messages, some ten microseconds. A device that has waited so long for nothing has lost less
  /// than a step takes.
  static constexpr Duration kGrace = std::chrono::milliseconds(1);

  /// Adds a model; `share` is positive. Returns its number, which may have been that of one that
  /// was removed.
  std::size_t add(double share, std::shared_ptr<const ModelUse> use);
  /// The model is not waiting, and has no turn.
  void remove(std::size_t member);

  /// The model asks for a step; asking again changes nothing.
  void want(std::size_t member);
  /// It asks no more, and has had no turn.
  void withdraw(std::size_t member);

  struct Choice {
    std::optional<std::size_t> member{};  ///< whose turn it is, of those that ask
    /// Without one, but with some that ask: when to choose again, if none asks before.
    std::optional<TimePoint> again{};
  };
  /// Says whose turn it is, while nobody has it.
  [[nodiscard]] Choice choose(TimePoint now) const;

  /// The model, which has asked, gets its turn.
  void begin(std::size_t member);
  /// Its step has ended, and took so long.
  void end(std::size_t member, TimePoint now, Duration took);

 private:
  struct Member {
    bool taken = false;  // the number is a model's
    double share = 1;
    std::shared_ptr<const ModelUse> use{};
    bool wants = false;
    double start = 0;   // tag of the step that it asks for, in seconds for a share of 1
    double finish = 0;  // where its last step has brought it
    std::optional<TimePoint> ended{};  // its last step, since which it has not asked
  };
  [[nodiscard]] double tag_of(const Member& member) const noexcept;

  std::vector<Member> members_;
  double reached_ = 0;  // the tag of the step that runs, or ran last
};

}  // namespace weft
