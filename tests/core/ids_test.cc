#include "weft/core/ids.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace weft {
namespace {

TEST(Id, NamesNothingUntilItIsGivenANumber) {
  EXPECT_FALSE(ActorId());
  EXPECT_TRUE(ActorId(7));
}

TEST(Id, DoesNotMixWithIdsOfAnotherKind) {
  static_assert(!std::is_convertible_v<ActorId, RequestId>);
  static_assert(!std::is_constructible_v<ActorId, RequestId>);
  static_assert(!std::is_convertible_v<std::uint64_t, ActorId>);
}

TEST(Id, ReadsWithItsKindInFront) {
  EXPECT_EQ(to_string(ActorId(3)), "actor-3");
  EXPECT_EQ(to_string(RequestId(17)), "req-17");
  EXPECT_EQ(to_string(SequenceId(18446744073709551615U)), "seq-18446744073709551615");
  EXPECT_EQ(to_string(ClientId(4)), "client-4");
}

TEST(IdSource, StartsAtOneAndNeverRepeats) {
  IdSource<RequestKind> source;
  std::unordered_set<RequestId> seen;
  EXPECT_EQ(source.next(), RequestId(1));
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(source.next()).second);
}

}  // namespace
}  // namespace weft
