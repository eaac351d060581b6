// Several replicas in one pipeline: which one a request goes to, and what becomes of it there.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/prometheus.h"
#include "weft/tests/actors/pipeline_fixture.h"

namespace weft::test {
namespace {

class PipelineReplicasTest : public PipelineFixture {
 protected:
  PipelineReplicasTest() { replicas = 2; }

  /// Delivers messages until so many sequences run.
  void run_until_running(std::size_t sequences) {
    for (int i = 0; pipeline->stats().running < sequences; ++i) {
      ASSERT_LT(i, 1000);
      ASSERT_TRUE(play.run_one());
    }
  }
  /// How many rows of each replica are held.
  [[nodiscard]] std::vector<std::size_t> held() const {
    std::vector<std::size_t> held(replicas);
    const std::vector<RowHolder> rows = pipeline->rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      held[i / static_cast<std::size_t>(limits.rows)] += rows[i] == RowHolder{} ? 0 : 1;
    }
    return held;
  }
  void expect_no_load() const {
    const std::string text = prometheus_text(pipeline->metrics());
    for (std::size_t i = 0; i < replicas; ++i) {
      const std::string line =
          "weft_replica_load_tokens{replica=\"" + std::to_string(i) + "\"} 0\n";
      EXPECT_NE(text.find(line), std::string::npos) << text;
    }
  }
};

TEST_F(PipelineReplicasTest, EqualRequestsAreSharedOutAndGetWhatTheyGetAlone) {
  start();
  EXPECT_EQ(pipeline->stats().rows, 8);
  EXPECT_EQ(pipeline->stats().pages, 128);
  for (std::size_t i = 0; i < 8; ++i) send();
  run_until_running(8);
  EXPECT_EQ(held(), (std::vector<std::size_t>{4, 4}));
  play.run_all();
  for (const Sent& one : all) {
    ASSERT_TRUE(one.sink->end);
    EXPECT_EQ(one.sink->end->reason, FinishReason::kLength);
    EXPECT_EQ(one.sink->tokens.at(0), expected(one));
  }
  expect_nothing_held();
  expect_no_load();
}

TEST_F(PipelineReplicasTest, ALongPromptCountsAsMuchAsItHasTokens) {
  start();
  send(request(40, 6));
  for (int i = 0; i < 4; ++i) send(request(5, 6));  // 44 in all, beside 46
  run_until_running(5);
  EXPECT_EQ(held(), (std::vector<std::size_t>{1, 4}));
  play.run_all();
  expect_no_load();
}

TEST_F(PipelineReplicasTest, ARequestIsCancelledBeforeAndAfterItsReplicaIsChosen) {
  start();
  const Sent early = send();
  early.active->ask_to_end(EndCause::kCancel);
  play.run_all();
  EXPECT_EQ(early.sink->end->reason, FinishReason::kCancelled);
  const Sent running = send(request(5, 40));
  const Sent other = send(request(5, 40));
  run_until_running(2);
  EXPECT_EQ(held(), (std::vector<std::size_t>{1, 1}));
  for (const Sent& one : {running, other}) one.active->ask_to_end(EndCause::kCancel);
  play.run_all();
  for (const Sent& one : {running, other}) {
    EXPECT_EQ(one.sink->end->reason, FinishReason::kCancelled);
  }
  expect_nothing_held();
  expect_no_load();
}

TEST_F(PipelineReplicasTest, CancelledAtAnyMomentTheyLeaveNothing) {
  start();
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    const Sent one = send(request(1 + random() % 20, 1 + static_cast<std::int32_t>(random() % 20)));
    for (std::uint64_t steps = random() % 30; steps > 0 && play.run_random(random); --steps) {
    }
    if (random() % 2 == 0) one.active->ask_to_end(EndCause::kCancel);
  }
  play.run_all();
  expect_nothing_held();
  expect_no_load();
}

TEST_F(PipelineReplicasTest, ADeviceThatIsLostEndsTheRequestsOfItsReplicaAndTheOthersGoOn) {
  on_step_of_others = [](const Plan&) {
    throw ActorFailure(ExitKind::kDeviceLost, "a GPU fell off the bus");
  };
  start();
  const Sent first = send();
  const Sent second = send();
  play.run_all();
  ASSERT_TRUE(first.sink->end && second.sink->end);
  EXPECT_EQ(first.sink->end->reason, FinishReason::kLength);
  EXPECT_EQ(first.sink->tokens.at(0), expected(first));
  EXPECT_EQ(second.error(), EngineErrc::kDeviceFailed);
  EXPECT_FALSE(pipeline->ready());
}

}  // namespace
}  // namespace weft::test
