#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/gpu/files/page_files.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/files/hollow_path.h"
#include "weft/schedule/memory/files/page_saver.h"
#include "weft/schedule/memory/kv_memory.h"
#include "weft/schedule/memory/tiers/swap_costs.h"
#include "weft/schedule/plan_clock.h"

namespace weft {

/// Brings back pages from files for groups that wait, where that is predicted to be sooner than
/// computing them (SwapCosts, of what reading took so far). The group waits meanwhile, others begin
/// before it. Its pages are lent by PrefixCache, and kept like any others once they are read: the
/// group finds them when it begins. Where something goes wrong, it computes what it does not find.
///
/// A group whose prompt begins like that of one for which pages are being read waits for these, and
/// looks by itself for what is left then.
///
/// Where all layers have a window, only what the window at the end of what is found reaches is
/// read, unless the device or host memory has it. What is before may be nowhere: the key of a page
/// follows from the tokens that lead to it. So of each prompt that could begin the keys of all
/// pages are looked for, which takes a SHA-256 a page.
///
/// A file is read into a page only once all ticks have run that were planned when the page was
/// taken, as some may still write to it, and the one in the making if that copies pages: what one
/// of these held may be what is copied.
///
/// There are at most kMostFetches reads at once, each of pages that the device has room for, and at
/// most kMostFollowers groups wait for another's read.
/// Owner only. A fetch allocates, for as many pages as it is of.
class PageFetches {
 public:
  static constexpr std::size_t kMostFetches = 8;
  static constexpr std::size_t kMostFollowers = 16;
  /// Where so long nothing comes, as of a disk that hangs, a group computes instead.
  static constexpr Duration kPatience = std::chrono::seconds(5);
  /// How often it is looked whether something has been read, where nothing else happens.
  static constexpr Duration kLookAgain = std::chrono::milliseconds(1);

  /// All of them outlive it.
  PageFetches(const PlanClock& clock, PageSaver& saver, KvMemory& memory,
              const StepTimeModel& times, const DeviceLimits& limits);
  ~PageFetches();
  PageFetches(const PageFetches&) = delete;
  PageFetches& operator=(const PageFetches&) = delete;

  /// Whether a group that could begin had better wait for what is being read. It begins to read
  /// where that is so, once each time that the group waits.
  [[nodiscard]] bool delay(Group& waiting);
  /// The group does not wait any more.
  static void begun(Group& group) noexcept { group.looked_in_files = false; }

  /// Keeps what has been read, and begins to read what may be. To be called in each plan.
  void advance(TimePoint now);
  /// When to plan though nothing else happens.
  [[nodiscard]] std::optional<TimePoint> looks_again_at() const noexcept;

  /// Ends all of them: what they have been lent is needed, or not sure any more.
  void cancel_all();

 private:
  struct Waiting {
    const Group* group = nullptr;  // may have ended
    std::uint64_t order = 0;       // its WaitItem::order, by which it is known
  };
  struct Fetch {
    Waiting group;
    std::vector<Waiting> followers;
    PrefixScope scope;
    std::vector<TokenId> tokens;   // all that lead to the last page
    std::vector<std::int32_t> at;  // which pages of these are read, from the first on
    std::int32_t needed_from = 0;  // the first page that a group needs to go on
    std::vector<PageId> pages;     // lent, one for each of `at`
    std::uint64_t after = 0;       // the tick that must have run
    std::uint64_t copied_by = 0;   // PlanClock::writings() when copies are in a tick; 0: they are
    std::shared_ptr<PageRead> read;
    bool has_begun = false;
    std::int32_t done = 0;  // pages, when it was last looked at
    TimePoint since{};      // when the last of them came
  };

  [[nodiscard]] bool waits(const Group& group) const noexcept;
  [[nodiscard]] bool start(const Group& group);
  [[nodiscard]] bool follow(const Group& group);
  [[nodiscard]] std::int32_t gains_by(const Fetch& fetch, const Group& group);
  [[nodiscard]] std::vector<PageKey> choose(Fetch& fetch, std::span<const PageId> path,
                                            std::int32_t whole) const;
  [[nodiscard]] PageKey first_key(const Fetch& fetch) const {
    return saver_.keys().first(files_.identity(), fetch.scope.domain.get(), fetch.scope.traits);
  }
  [[nodiscard]] std::int64_t tokens_in(std::int32_t pages) const noexcept {
    return std::int64_t{pages} * limits_.page_tokens;
  }
  [[nodiscard]] bool lend(Fetch& fetch, std::span<const PageId> path);
  [[nodiscard]] bool need_not_be_read(PageId node) const noexcept;
  [[nodiscard]] std::span<const TokenId> tokens_of(const Fetch& fetch,
                                                   std::int32_t page) const noexcept;
  [[nodiscard]] bool may_begin(Fetch& fetch) const noexcept;
  void read_if_ready(Fetch& fetch);
  [[nodiscard]] bool look_at(Fetch& fetch);
  void finish(Fetch& fetch);
  [[nodiscard]] PageId keep(const Fetch& fetch, PageId parent, std::size_t which);
  [[nodiscard]] std::int32_t queued() const noexcept;

  const PlanClock& clock_;
  PageSaver& saver_;
  PageFiles& files_;
  PrefixCache& pages_;
  const std::vector<PlanCopy>& copies_;  // that are in no plan yet
  HollowPath path_;
  const PrefixKeeper& keeper_;
  PrefixFinder& finder_;
  SwapCosts costs_;
  const DeviceLimits limits_;
  std::vector<Fetch> fetches_;
  TimePoint looked_at_{};
};

}  // namespace weft
