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

/// Counts a model's active requests of each class. Thread-safe.
struct ModelUse {
  std::array<std::atomic<std::int32_t>, kRequestClasses.size()> requests{};

  [[nodiscard]] std::atomic<std::int32_t>& of(RequestClass cls) noexcept {
    return requests[static_cast<std::size_t>(cls)];
  }
  /// The most urgent class of its requests; nothing if it has none.
  [[nodiscard]] std::optional<RequestClass> most_urgent() const noexcept;
};

/// Chooses which of the models on one device has the next step: models with chat before models with
/// batch alone, and of several the model with the least time for its share. A model gets no extra
/// time for a period without requests.
///
/// A model asks for its next step a moment after its last, and meanwhile only other models
/// ask. So the order waits once for a model that has requests and is due, for kGrace after its
/// step.
///
/// It compares start tags (Goyal, Vin, Cheng, "Start-time Fair Queueing", SIGCOMM 1996): counters
/// of time, like the scheduler's of tokens. They need no cost in advance, and lift a model that
/// comes back to the tag of the running step. Owner only.
class TurnOrder {
 public:
  /// An executor asks again some ten microseconds after a step, since its next plan is
  /// already in the mailbox. A device that waits this long in vain loses less than a step's
  /// time.
  static constexpr Duration kGrace = std::chrono::milliseconds(1);

  /// Adds a model; `share` is positive. Returns its number, which may be the number of a removed
  /// model.
  std::size_t add(double share, std::shared_ptr<const ModelUse> use);
  /// Removes a model that does not wait and has no turn.
  void remove(std::size_t member);

  /// The model asks for a step; asking again changes nothing.
  void want(std::size_t member);
  /// The model no longer asks, and has had no turn.
  void withdraw(std::size_t member);

  struct Choice {
    std::optional<std::size_t> member{};  ///< the asking model whose turn it is
    /// Set if models ask but none has the turn: when to choose again if no other model asks before.
    std::optional<TimePoint> again{};
  };
  /// Chooses the next turn; no model has the turn now.
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
    double start = 0;   // the start tag of its next step, in seconds for a share of 1
    double finish = 0;  // the finish tag of its last step
    std::optional<TimePoint> ended{};  // its last step, since which it has not asked
  };
  [[nodiscard]] double tag_of(const Member& member) const noexcept;

  std::vector<Member> members_;
  double reached_ = 0;  // the start tag of the running or last step
};

}  // namespace weft
