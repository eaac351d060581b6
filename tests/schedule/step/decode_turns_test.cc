#include "weft/schedule/step/decode_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace weft::test {
namespace {

/// Sequences that decode on a device of some stages, whose tokens come as late as they can.
struct Turns {
  explicit Turns(std::int32_t stage_count)
      : stages(static_cast<std::uint64_t>(stage_count)),
        turns({.rows = 64, .stages = stage_count}) {}

  /// Plays a tick and returns who was in it.
  std::vector<std::size_t> tick() {
    ++now;
    turns.begin(now);
    for (const std::uint64_t last : lasts) turns.add(last, can(last));
    turns.share_out();
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < lasts.size(); ++i) {
      if (!can(lasts[i]) || !turns.take(lasts[i])) continue;
      taken.push_back(i);
      lasts[i] = now;
    }
    return taken;
  }
  [[nodiscard]] bool can(std::uint64_t last) const { return last == 0 || last + stages <= now; }

  const std::uint64_t stages;
  DecodeTurns turns;
  std::uint64_t now = 0;
  std::vector<std::uint64_t> lasts;  ///< the last tick of each sequence
};

TEST(DecodeTurns, AnyTicksThatRunAtOnceHaveEachSequenceOnceAndShareThemOutEvenly) {
  for (const std::int32_t stages : {2, 3, 4}) {
    for (std::size_t count = 1; count <= 40; ++count) {
      Turns played(stages);
      played.lasts.assign(count, 0);
      const auto each = static_cast<std::size_t>(stages);
      std::vector<std::vector<std::size_t>> ticks;
      for (std::size_t i = 0; i < 4 * each; ++i) ticks.push_back(played.tick());
      for (std::size_t i = 0; i + each <= ticks.size(); ++i) {
        std::multiset<std::size_t> seen;
        for (std::size_t j = i; j < i + each; ++j) {
          seen.insert(ticks[j].begin(), ticks[j].end());
          EXPECT_GE(ticks[j].size(), count / each) << stages << " stages, " << count;
          EXPECT_LE(ticks[j].size(), (count + each - 1) / each) << stages << " stages, " << count;
        }
        EXPECT_EQ(seen.size(), count) << stages << " stages";
        EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), count) << stages << " stages";
      }
    }
  }
}

TEST(DecodeTurns, StayAsTheyAreWhileNobodyComesOrGoes) {
  Turns played(3);
  played.lasts.assign(7, 0);
  const std::vector first = {played.tick(), played.tick(), played.tick()};
  for (int round = 0; round < 5; ++round) {
    for (const auto& expected : first) EXPECT_EQ(played.tick(), expected);
  }
}

TEST(DecodeTurns, AreEvenAgainARoundAfterSequencesOfOneTickHaveEnded) {
  Turns played(2);
  played.lasts.assign(12, 0);
  const std::vector<std::size_t> first = played.tick();
  played.tick();
  ASSERT_EQ(first, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  played.lasts.erase(played.lasts.begin() + 1, played.lasts.begin() + 6);
  played.tick();
  played.tick();
  for (int round = 0; round < 4; ++round) {
    const std::size_t size = played.tick().size();
    EXPECT_GE(size, 3U);
    EXPECT_LE(size, 4U);
  }
}

TEST(DecodeTurns, GiveATickOneSequenceWhereThereAreFewerThanStages) {
  Turns played(3);
  played.lasts.assign(2, 0);
  EXPECT_EQ(played.tick().size(), 1U);
  EXPECT_EQ(played.tick().size(), 1U);
  EXPECT_EQ(played.tick().size(), 0U) << "their tokens are not there yet";
}

TEST(DecodeTurns, PreferWhoHasWaitedLongest) {
  DecodeTurns turns({.rows = 8, .stages = 2});
  turns.begin(20);
  for (const std::uint64_t last : {18U, 11U, 17U, 18U}) turns.add(last, true);
  turns.share_out();
  EXPECT_EQ(turns.decoding(), 4U);
  EXPECT_FALSE(turns.take(18));
  EXPECT_TRUE(turns.take(11));
  EXPECT_TRUE(turns.take(17));
  EXPECT_FALSE(turns.take(18));
}

}  // namespace
}  // namespace weft::test
