#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/request_class.h"
#include "weft/gpu/device_adapter.h"
#include "weft/gpu/sequence_traits.h"
#include "weft/schedule/group.h"
#include "weft/schedule/plan_clock.h"
#include "weft/schedule/step/tick.h"
#include "weft/schedule/waiting/keyed_pool.h"

namespace weft {

struct AdapterStats {
  std::int32_t running = 0;  ///< adapters that running groups use
  std::int32_t waiting = 0;  ///< adapters of waiting groups
  std::uint64_t loads = 0;   ///< adapters put into a place
  std::uint64_t bytes = 0;   ///< of these, in host memory
};

/// Which adapter is in which of a device's places (DeviceLimits::adapter_places), and which comes
/// next. A group with an adapter begins only while its adapter is in a place and stays there.
///
/// A waiting group asks for its adapter (want()). The adapter then gets a place that is empty, or
/// the place that was used longest ago of those that nobody uses and for which no group of its
/// class or a better one waits. Where all places are used, a chat group gets the place of an
/// adapter that only `batch` uses, whose groups give way; also where a `batch` group was the first
/// to ask for the chat group's adapter. A group that was overtaken too often gets the place with
/// the fewest groups: no further group begins with that adapter, and once the last has ended the
/// place is given on. So no adapter keeps a place for ever. A place is not given on between its
/// load and the first group that begins there, so groups cannot take a place from each other
/// without end.
///
/// A plan loads an adapter once all plans are over that may use the place. StepResult::adapters
/// says when the adapter can be used. A lost step forgets the loads under way.
///
/// Owner only. Allocates where more adapters are waited for than ever and than kExpectedWaits.
/// Misuse is an internal_error.
class AdapterPlaces {
 public:
  /// So many adapters are waited for at once before anything is allocated.
  static constexpr std::size_t kExpectedWaits = 1024;

  /// `clock` outlives it.
  AdapterPlaces(const PlanClock& clock, std::int32_t places);

  [[nodiscard]] std::int32_t size() const noexcept {
    return static_cast<std::int32_t>(places_.size());
  }

  /// The group waits from now on, or no longer. Nothing for a group without adapter.
  void arrive(const Group& group);
  void leave(const Group& group);
  /// The group begins, for which has() holds; or it has ended or given way.
  void begin(Group& group);
  void release(Group& group);

  /// Whether the group could begin as far as its adapter is concerned.
  [[nodiscard]] bool has(const Group& group) const;
  /// Gives the adapter of a waiting group a place, if it has none and there is one. `insists`: the
  /// group has been overtaken too often.
  void want(const Group& group, bool insists);
  /// Whether a group waits for an adapter whose load is under way.
  [[nodiscard]] bool is_loading(const Group& group) const;
  /// Whether a chat group gets the place of the adapter that a running `batch` group uses.
  [[nodiscard]] bool gives_way(const Group& group) const;

  /// Decides which loads the plan in the making has. Returns whether it has to come to be for their
  /// sake, or to hear of those under way.
  [[nodiscard]] bool begin_loads();
  /// Appends these loads to the plan.
  void write(Plan& plan);
  /// Takes what a result says of loads. Returns whether groups can begin that could not before.
  bool take(const Tick& tick);
  /// Forgets loads under way: their step is lost.
  void forget_loads();

  [[nodiscard]] AdapterStats stats() const noexcept;
  /// Checks places and counts against all groups; internal_error where one is wrong. For tests.
  void check(std::span<Group* const> groups) const;

 private:
  using ByClass = std::array<std::int32_t, kRequestClasses.size()>;
  static constexpr std::int32_t kNoPlace = -1;

  struct Place {
    AdapterId adapter{};  // zeros: none
    bool is_ready = false;
    std::uint64_t loaded_by = 0;                    // the plan
    ByClass users{};                                // running groups
    std::uint64_t newest = 0;                       // the newest plan when its last user left
    std::uint64_t turn = 0;                         // the higher, the later it was used
    std::shared_ptr<const PreparedAdapter> next{};  // gets the place
    RequestClass next_for = RequestClass::kBatch;   // the best class that asked for it

    [[nodiscard]] bool is_used() const noexcept { return users[0] + users[1] > 0; }
    [[nodiscard]] bool is_loading() const noexcept { return adapter && !is_ready; }
    /// A group of this class asks for what gets the place.
    void ask(RequestClass cls) noexcept { next_for = std::min(next_for, cls); }
  };
  /// An adapter that groups wait for.
  struct Wait {
    ByClass groups{};
    std::int32_t place = kNoPlace;     // where it is, or comes with a load under way
    std::int32_t reserved = kNoPlace;  // the place that it is to get
  };
  struct IdHash {
    std::size_t operator()(const AdapterId& id) const noexcept;
  };

  [[nodiscard]] Place& at(std::int32_t place) {
    return places_.at(static_cast<std::size_t>(place));
  }
  [[nodiscard]] const Place& at(std::int32_t place) const {
    return places_.at(static_cast<std::size_t>(place));
  }
  [[nodiscard]] std::int32_t place_of(const AdapterId& adapter) const;
  [[nodiscard]] bool is_waited_for(const Place& place, RequestClass by) const;
  template <class Cost>
  [[nodiscard]] std::int32_t best_place(Cost&& cost) const;
  [[nodiscard]] std::int32_t unused_place(RequestClass cls);
  [[nodiscard]] std::int32_t place_of_batch() const;
  [[nodiscard]] std::int32_t place_to_close(RequestClass cls) const;
  void move_wait(const AdapterId& adapter, std::int32_t place);
  void note_change() noexcept { is_full_ = {}; }
  void load(std::int32_t index);

  const PlanClock& clock_;
  std::vector<Place> places_;
  KeyedPool<AdapterId, Wait, IdHash> waits_;
  std::vector<PlanAdapter> loads_;  // of the plan in the making
  std::int32_t loading_ = 0;        // places
  // By class: no place was unused when one was looked for, and nothing has changed since.
  std::array<bool, kRequestClasses.size()> is_full_{};
  std::uint64_t turns_ = 0;
  AdapterStats stats_;
};

}  // namespace weft
