// A scheduler that fails in the middle of a message leaves its successor ticks and messages on
// their way.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <utility>

#include "weft/tests/actors/pipeline_fixture.h"
#include "weft/tests/fixture/allocation_count.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

class PipelineRestartTest : public test::PipelineFixture {
 public:
  /// The scheduler of now is one that has not planned yet.
  void restart_scheduler() {
    actor_fails = true;
    send();
    play.run_all();
    play.advance(11s);  // a failed actor is restarted only so often in so long a time
    ASSERT_FALSE(actor_fails);
  }

  /// Delivers what was just sent to a scheduler whose allocation of this number fails. Returns
  /// whether there was one.
  bool enqueue_without_memory(std::size_t number) {
    EXPECT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
    EXPECT_TRUE(play.expect<PrepareMsg>({}, kWorkerId));
    test::allocation_that_fails = number;
    EXPECT_TRUE(play.expect<EnqueueMsg>(kWorkerId, kSchedulerId));
    return std::exchange(test::allocation_that_fails, 0) == 0;
  }
};

// The second plan waits for a slow executor and is being changed when the scheduler fails. Its
// successor's second plan may stand in the same tick: the message about the old one is not for it.
TEST_F(PipelineRestartTest, AMessageAboutAPlanOfAFailedSchedulerIsNotTakenForOneOfItsSuccessor) {
  start();
  std::size_t failed = 0;
  for (bool fails = true; fails; failed += fails ? 1 : 0) {
    restart_scheduler();
    send(request(5, 2));
    enqueue();
    ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
    ASSERT_TRUE(play.expect<StepDoneMsg>(kExecutorId, kSchedulerId));
    ASSERT_TRUE(play.expect<DeliverMsg>(kSchedulerId, kDetokenizerId));
    send();
    fails = enqueue_without_memory(failed + 1);
    const test::Sent next = send(request(7 + failed, 6));  // no row holds what it would compute
    enqueue();
    play.run_all();
    ASSERT_TRUE(next.sink->end) << "allocation " << failed + 1;
    ASSERT_EQ(next.sink->end->reason, FinishReason::kLength)
        << "allocation " << failed + 1 << ": " << to_string(next.sink->end->error);
    ASSERT_EQ(next.sink->tokens.at(0), expected(next)) << "allocation " << failed + 1;
    expect_nothing_held();
  }
  EXPECT_GT(failed, 3U) << "allocations that a scheduler makes for a request";
}

}  // namespace
}  // namespace weft
