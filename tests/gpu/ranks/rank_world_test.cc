// Processes of one model, played by threads of this one, over real connections on the loopback.

#include "weft/gpu/ranks/world/rank_world.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/actor/supervision.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/world/handshake.h"
#include "weft/gpu/ranks/world/load_world.h"
#include "weft/gpu/ranks/world/rank_door.h"
#include "weft/gpu/ranks/world/rank_host.h"
#include "weft/gpu/ranks/world/rank_mesh.h"
#include "weft/gpu/ranks/world/rank_socket.h"
#include "weft/gpu/ranks/world/rank_worker.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/certificate.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"
#include "weft/tests/gpu/ranks/rank_processes.h"

namespace weft {
namespace {

using test::FailsWith;
using test::free_address;
using test::kWorldLimits;
using test::PlanBuilder;
using test::RankWorldTest;
using test::world_of;
using namespace std::chrono_literals;

TEST(RankWorld, IsWhatALauncherSays) {
  const auto read = [](std::map<std::string, std::string> variables) {
    return rank_world_of(
        [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
          const auto found = variables.find(name);
          if (found == variables.end()) return std::nullopt;
          return found->second;
        });
  };
  EXPECT_TRUE(read({}).value().is_alone());
  EXPECT_TRUE(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).value().is_alone());
  const RankWorld torchrun =
      read(
          {{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "123"}})
          .value();
  EXPECT_EQ(torchrun.rank, 2);
  EXPECT_EQ(torchrun.size, 4);
  EXPECT_EQ(torchrun.address, "10.0.0.1:123");
  const RankWorld mpirun =
      read({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}).value();
  EXPECT_EQ(mpirun.rank, 1);
  EXPECT_EQ(mpirun.address, "127.0.0.1:29500");
  EXPECT_EQ(read({{"LWS_WORKER_INDEX", "1"}, {"LWS_GROUP_SIZE", "2"}, {"LWS_LEADER_ADDRESS", "l"}})
                .value()
                .address,
            "l:29500");
  EXPECT_EQ(read({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}}).value().size, 3);
  EXPECT_THAT(read({{"RANK", "x"}, {"WORLD_SIZE", "2"}}),
              FailsWith(DeviceErrc::kUnfit, "RANK='x' is no number from 0 to 1"));
  EXPECT_THAT(read({{"RANK", "0"}, {"WORLD_SIZE", "1000"}}),
              FailsWith(DeviceErrc::kUnfit, "WORLD_SIZE='1000'"));
}

TEST(RankHost, WantsAKeyUnlessItIsToldNotToOnTheLoopback) {
  RankWorld world = world_of(0, 2, "");
  world.address = "127.0.0.1:0";
  EXPECT_THAT(RankHost::gather(world), FailsWith(DeviceErrc::kUnfit, "WEFT_RANK_KEY is not set"));
  world.without_key = true;
  world.gathering = 0ms;
  EXPECT_THAT(RankHost::gather(world), FailsWith(DeviceErrc::kRankLost, "nobody has connected"));
  world.address = "0.0.0.0:0";
  EXPECT_THAT(RankHost::gather(world), FailsWith(DeviceErrc::kUnfit, "WEFT_RANK_KEY is not set"));
}

TEST(RankHost, SendsAwayWhoHasAnotherKeyOrIsNoRank) {
  RankWorld world = world_of(0, 2);
  world.address = free_address();
  auto host = std::async(std::launch::async, [&] { return RankHost::gather(world); });
  {
    RankSocket stranger(RankSocket::connect(world.address, 10'000).value());
    static_cast<void>(stranger.send(RankMessage::kPlan, {}));
    EXPECT_FALSE(stranger.receive(10'000)) << "the head hangs up";
  }
  {
    RankSocket talker(RankSocket::connect(world.address, 10'000).value());
    static_cast<void>(talker.send(RankMessage::kHello, std::vector<std::byte>(1000)));
    EXPECT_FALSE(talker.receive(10'000)) << "which is longer than a greeting";
  }
  {
    RankSocket other(RankSocket::connect(world.address, 10'000).value());
    EXPECT_THAT(greet_head(other, world_of(1, 2, "guess")),
                FailsWith(DeviceErrc::kRankLost, "it has another key"));
  }
  RankSocket ours(RankSocket::connect(world.address, 10'000).value());
  EXPECT_TRUE(greet_head(ours, world_of(1, 2)));
  EXPECT_TRUE(host.get());
}

TEST_F(RankWorldTest, ChoosesTheTokensThatOneProcessChooses) {
  for (const auto& [partition, by_network] :
       std::vector<std::pair<const char*, bool>>{{"cpu,cpu", false},
                                                 {"cpu | cpu", false},
                                                 {"cpu,cpu", true},
                                                 {"cpu | cpu", true},
                                                 {"cpu,cpu | cpu,cpu", true}}) {
    SCOPED_TRACE(std::string(partition) + (by_network ? " by network" : " through memory"));
    RankWorld world = world_of(0, 2);
    world.by_network = by_network;
    const auto alone =
        test::host_kind().load_steps(model_.checkpoint, model_.program, kWorldLimits);
    PlanBuilder builder;
    builder.start(0, test::greedy(), 3).table(0, 0, {0, 1, 2, 3});
    builder.feed(0, 0, {1, 2, 3}).sample();
    Plan first = builder.plan();
    StepResult wanted;
    alone->run(first, wanted);
    start(partition, world);
    EXPECT_EQ(run(first), wanted.samples.front().token) << partition;
    // A pipeline knows a token one plan later; here it is known when the plan is made.
    TokenId last = wanted.samples.front().token;
    for (std::int32_t at = 3; at < 8; ++at) {
      PlanBuilder next;
      next.feed(0, at, {last}).sample();
      wanted.clear();
      alone->run(next.plan(), wanted);
      last = wanted.samples.front().token;
      EXPECT_EQ(run(next.plan()), last) << partition << ", position " << at;
    }
    devices_.clear();
    for (auto& worker : workers_) EXPECT_TRUE(worker.get()) << "the head has said goodbye";
  }
}

TEST_F(RankWorldTest, FeedsAllRanksTheTokenThatOneChose) {
  const auto alone = test::host_kind().load_steps(model_.checkpoint, model_.program, kWorldLimits);
  start("cpu,cpu");
  PlanBuilder builder;
  builder.start(0, test::greedy(), 3).table(0, 0, {0, 1, 2, 3}).feed(0, 0, {1, 2, 3}).sample();
  for (std::int32_t at = 3; at < 8; ++at) {
    StepResult wanted;
    alone->run(builder.plan(), wanted);
    EXPECT_EQ(run(builder.plan()), wanted.samples.front().token);
    builder.plan().clear();
    builder.feed_last(0, at).sample();
  }
}

TEST_F(RankWorldTest, IsLostWhenAProcessIsGone) {
  start("cpu,cpu");
  std::promise<void> told;
  remote().watch([&](const std::string& /*why*/) { told.set_value(); });
  // Ends the connection, as when the process is killed.
  remote().abandon();
  told.get_future().wait();
  StepResult result;
  PlanBuilder builder;
  builder.start(0, test::greedy(), 1).table(0, 0, {0}).feed(0, 0, {1}).sample();
  EXPECT_THROW(remote().run(builder.plan(), result), ActorFailure);
  EXPECT_THROW(local().run(builder.plan(), result), ActorFailure) << "which would wait for it";
  EXPECT_THAT(workers_.front().get(), FailsWith(DeviceErrc::kRankLost, "the head"));
}

TEST_F(RankWorldTest, TellsAtOnceWhoAsksAfterTheLoss) {
  start("cpu,cpu");
  remote().abandon();
  std::string told;
  remote().watch([&](const std::string& why) { told = why; });
  EXPECT_EQ(told, "another rank was lost");
}

TEST_F(RankWorldTest, EndsTheStepOfOthersWhenAProcessGoesInItsMidst) {
  start("cpu,cpu");
  PlanBuilder builder;
  builder.start(0, test::greedy(), 1).table(0, 0, {0}).feed(0, 0, {1}).sample();
  // The other rank never gets this plan.
  auto step = std::async(std::launch::async, [&] {
    StepResult result;
    local().run(builder.plan(), result);
  });
  remote().abandon();
  EXPECT_THROW(step.get(), ActorFailure);
}

TEST_F(RankWorldTest, EndsStepsOverTheNetworkWhenAProcessGoes) {
  RankWorld world = world_of(0, 2);
  world.by_network = true;
  start("cpu,cpu", world);
  PlanBuilder builder;
  builder.start(0, test::greedy(), 1).table(0, 0, {0}).feed(0, 0, {1}).sample();
  auto step = std::async(std::launch::async, [&] {
    StepResult result;
    local().run(builder.plan(), result);
  });
  remote().abandon();
  EXPECT_THROW(step.get(), ActorFailure);
  EXPECT_THAT(workers_.front().get(), FailsWith(DeviceErrc::kRankLost, "the head"));
}

TEST_F(RankWorldTest, ExchangesEncryptedNumbersOverTheNetwork) {
  const test::TempFolder folder;
  RankWorld world = world_of(0, 2);
  world.by_network = true;
  world.tls = {(folder.path() / "a.pem").string(), (folder.path() / "a.key").string(), ""};
  test::write_certificate(world.tls.certificate, world.tls.key, "ranks");
  start("cpu,cpu", world);
  const auto alone = test::host_kind().load_steps(model_.checkpoint, model_.program, kWorldLimits);
  PlanBuilder builder;
  builder.start(0, test::greedy(), 3).table(0, 0, {0, 1, 2, 3}).feed(0, 0, {1, 2, 3}).sample();
  StepResult wanted;
  alone->run(builder.plan(), wanted);
  EXPECT_EQ(run(builder.plan()), wanted.samples.front().token);
}

/// A rank that says what it has, hears its setup and then does what `after` says.
void play_rank(const RankWorld& world, const RankRoom& room,
               const std::function<void(RankSocket&)>& after) {
  RankSocket socket(RankSocket::connect(world.address, 10'000).value());
  RankWorld own = world;
  own.rank = 1;
  greet_head(socket, own).value();
  for (;;) {
    const auto frame = socket.receive(10'000).value();
    if (frame.kind == RankMessage::kAsk) socket.send(RankMessage::kRoom, encode_room(room)).value();
    if (frame.kind == RankMessage::kSetup) return after(socket);
  }
}

RankRoom room_elsewhere() {
  RankRoom room;
  room.machine = "elsewhere";
  room.address = ":1";
  return room;
}

TEST_F(RankWorldTest, ALossWhileRanksMeetEndsTheMeeting) {
  RankWorld head = world_of(0, 2);
  head.address = free_address();
  partition_ = parse_partition("cpu,cpu").value();
  programs_ = compile_parts(model_, partition_).value();
  // It sees no memory, so the head waits for its connection, and then it is gone.
  std::jthread killed([&] { play_rank(head, room_elsewhere(), [](RankSocket& /*socket*/) {}); });
  // Its connection is reset where bytes are unread, and ends else.
  EXPECT_THAT(load_world(plan(head), {}), FailsWith(DeviceErrc::kRankLost, "rank 1: "));
}

TEST_F(RankWorldTest, WantsTheMemoryThatItIsTold) {
  RankWorld head = world_of(0, 2);
  head.address = free_address();
  head.by_network = false;
  partition_ = parse_partition("cpu,cpu").value();
  programs_ = compile_parts(model_, partition_).value();
  std::jthread elsewhere([&] {
    RankSocket socket(RankSocket::connect(head.address, 10'000).value());
    greet_head(socket, world_of(1, 2)).value();
    for (;;) {
      const auto frame = socket.receive(10'000);
      if (!frame || frame->kind == RankMessage::kBye) return;
      if (frame->kind != RankMessage::kAsk) continue;
      static_cast<void>(socket.send(RankMessage::kRoom, encode_room({})));
    }
  });
  EXPECT_THAT(load_world(plan(head), {}),
              FailsWith(DeviceErrc::kUnfit, "rank 1 does not see the head's memory"));
}

TEST_F(RankWorldTest, RefusesAProcessWithAnotherModel) {
  RankWorld head = world_of(0, 2);
  head.address = free_address();
  LlamaShape shape;
  shape.ffn *= 2;
  const RandomLlama other(shape, 3);
  RankWorld own = head;
  own.rank = 1;
  auto worker = std::async(std::launch::async, [&] {
    const OpenedModel model = other.opened();
    WorldRank rank(model, own);
    return run_rank(own, rank);
  });
  partition_ = parse_partition("cpu,cpu").value();
  programs_ = compile_parts(model_, partition_).value();
  EXPECT_THAT(load_world(plan(head), {}),
              FailsWith(DeviceErrc::kRankLost, "another model than the head"));
  EXPECT_THAT(worker.get(), FailsWith(DeviceErrc::kUnfit, "another model than the head"));
}

TEST_F(RankWorldTest, WantsAsManyProcessesAsRanks) {
  partition_ = parse_partition("cpu,cpu,cpu").value();
  programs_ = compile_parts(model_, partition_).value();
  EXPECT_THAT(load_world(plan(world_of(0, 2)), {}),
              FailsWith(DeviceErrc::kUnfit, "3 ranks, and the launcher has started 2 processes"));
}

TEST(RankHost, CountsASilentProcessAsLost) {
  RankWorld world = world_of(0, 2);
  world.address = free_address();
  world.timeout = 500ms;
  // It says that it is ready, and nothing any more.
  std::jthread silent([&](const std::stop_token& stop) {
    RankSocket socket(RankSocket::connect(world.address, 10'000).value());
    greet_head(socket, world_of(1, 2)).value();
    socket.send(RankMessage::kReady).value();
    std::promise<void> over;
    const std::stop_callback end(stop, [&over] { over.set_value(); });
    over.get_future().wait();
  });
  const auto host = RankHost::gather(world).value();
  std::promise<void> lost;
  host->watch_over([&] { lost.set_value(); });
  ASSERT_TRUE(host->wait_until_ready());
  lost.get_future().wait();
  StepResult result;
  EXPECT_THROW(host->device(1, kWorldLimits)->run(Plan(), result), ActorFailure);
}

/// Connections of one who says nothing.
std::vector<std::unique_ptr<RankSocket>> silent_strangers(const std::string& address,
                                                          std::size_t count) {
  std::vector<std::unique_ptr<RankSocket>> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(std::make_unique<RankSocket>(RankSocket::connect(address, 10'000).value()));
  }
  return all;
}

TEST(RankHost, StrangersWhoSayNothingHoldUpNobody) {
  RankWorld world = world_of(0, 3);
  world.address = free_address();
  auto host = std::async(std::launch::async, [&] { return RankHost::gather(world); });
  std::vector<std::unique_ptr<RankSocket>> ours;
  for (const std::int32_t rank : {1, 2}) {
    const auto strangers = silent_strangers(world.address, 20);
    ours.push_back(
        std::make_unique<RankSocket>(RankSocket::connect(world.address, 10'000).value()));
    EXPECT_TRUE(greet_head(*ours.back(), world_of(rank, 3)));
  }
  EXPECT_TRUE(host.get());
}

TEST(RankHost, StrangersAsManyAsMayBeGreetedMakeRoomForARank) {
  RankWorld world = world_of(0, 2);
  world.address = free_address();
  auto host = std::async(std::launch::async, [&] { return RankHost::gather(world); });
  const auto strangers = silent_strangers(world.address, RankDoor::kMostGreetings);
  RankSocket ours(RankSocket::connect(world.address, 10'000).value());
  EXPECT_TRUE(greet_head(ours, world_of(1, 2)));
  EXPECT_TRUE(host.get());
  EXPECT_FALSE(strangers.front()->receive(10'000)) << "the oldest was sent away";
}

TEST(RankHost, GatheringEndsWhenItIsToldToStop) {
  RankWorld world = world_of(0, 3);
  world.address = free_address();
  std::stop_source stop;
  auto host =
      std::async(std::launch::async, [&] { return RankHost::gather(world, stop.get_token()); });
  RankSocket first(RankSocket::connect(world.address, 10'000).value());
  ASSERT_TRUE(greet_head(first, world_of(1, 3)));
  ASSERT_TRUE(first.receive(10'000)) << "a beat: the head has it";
  stop.request_stop();
  EXPECT_THAT(host.get(), FailsWith(DeviceErrc::kRankLost, "told to stop"));
  for (;;) {
    const auto frame = first.receive(10'000);
    ASSERT_TRUE(frame) << "without a goodbye";
    if (frame->kind == RankMessage::kBye) break;
  }
}

TEST(RankMesh, AStrangerWhoSaysNothingHoldsUpNobody) {
  const RankMesh first = RankMesh::open("127.0.0.1").value();
  const RankMesh second = RankMesh::open("127.0.0.1").value();
  const std::vector<std::string> addresses{"127.0.0.1" + first.port(), "127.0.0.1" + second.port()};
  const auto strangers = silent_strangers(addresses.front(), 20);
  auto met =
      std::async(std::launch::async, [&] { return first.connect(world_of(0, 2), addresses, {}); });
  EXPECT_TRUE(second.connect(world_of(1, 2), addresses, {}));
  EXPECT_TRUE(met.get());
}

TEST_F(RankWorldTest, AFalseHeadIsLeft) {
  const auto listener = RankListener::open("127.0.0.1:0").value();
  RankWorld world = world_of(1, 2);
  world.address = listener.address();
  WorldRank rank(model_, world);
  auto ran = std::async(std::launch::async, [&] { return run_rank(world, rank); });
  RankSocket false_head(listener.accept(10'000).value().value());
  EXPECT_FALSE(greet_rank(false_head, world_of(0, 2, "guess")));
  EXPECT_THAT(ran.get(), FailsWith(DeviceErrc::kRankLost, "the head: it has another key"));
}

TEST_F(RankWorldTest, ARankGoesToNoHeadWithoutAKey) {
  RankWorld world = world_of(1, 2, "");
  world.address = free_address();
  WorldRank rank(model_, world);
  EXPECT_THAT(run_rank(world, rank), FailsWith(DeviceErrc::kUnfit, "WEFT_RANK_KEY is not set"));
}

TEST_F(RankWorldTest, ARankThatWaitsForTheHeadEndsWhenItIsToldToStop) {
  RankWorld world = world_of(1, 2);
  world.address = free_address();  // where nobody listens
  WorldRank rank(model_, world);
  std::stop_source stop;
  auto ran = std::async(std::launch::async,
                        [&] { return run_rank(world, rank, {.stop = stop.get_token()}); });
  EXPECT_EQ(ran.wait_for(100ms), std::future_status::timeout);
  stop.request_stop();
  EXPECT_TRUE(ran.get());
}

TEST_F(RankWorldTest, AHeadThatWaitsForARankToLoadEndsWhenItIsToldToStop) {
  RankWorld head = world_of(0, 2);
  head.address = free_address();
  partition_ = parse_partition("cpu,cpu").value();
  programs_ = compile_parts(model_, partition_).value();
  std::stop_source stop;
  std::promise<bool> goodbye;
  std::jthread slow([&] {
    play_rank(head, room_elsewhere(), [&](RankSocket& socket) {
      stop.request_stop();
      for (;;) {
        const auto frame = socket.receive(10'000);
        if (frame && frame->kind == RankMessage::kBeat) continue;
        return goodbye.set_value(frame && frame->kind == RankMessage::kBye);
      }
    });
  });
  WorldRankOptions own;
  own.progress.stop = stop.get_token();
  EXPECT_THAT(load_world(plan(head), std::move(own)),
              FailsWith(DeviceErrc::kRankLost, "told to stop"));
  EXPECT_TRUE(goodbye.get_future().get());
}

TEST_F(RankWorldTest, ARankThatLoadsEndsWhenItIsToldToStop) {
  RankWorld head = world_of(0, 2);
  head.address = free_address();
  /// Loads until it is told that others are lost.
  class Endless final : public RankLoader {
   public:
    explicit Endless(std::stop_source& stop) : stop_(stop) {}
    Result<RankRoom> room(const RankQuestion& /*question*/, const std::string& /*host*/) override {
      return RankRoom();
    }
    Result<std::unique_ptr<StepDevice>> load(const RankSetup& /*setup*/,
                                             const std::stop_token& lost) override {
      std::promise<void> over;
      const std::stop_callback end(lost, [&over] { over.set_value(); });
      stop_.request_stop();
      over.get_future().wait();
      return Error{DeviceErrc::kRankLost, "left half-way"};
    }

   private:
    std::stop_source& stop_;
  };
  std::stop_source stop;
  Endless loader(stop);
  RankWorld own = head;
  own.rank = 1;
  bool is_ready = false;
  auto ran = std::async(std::launch::async, [&] {
    return run_rank(own, loader,
                    {.stop = stop.get_token(), .on_ready = [&is_ready] { is_ready = true; }});
  });
  const auto host = RankHost::gather(head).value();
  ASSERT_TRUE(host->ask(std::vector<RankQuestion>(2)));
  RankSetup setup;
  setup.limits = kWorldLimits;
  ASSERT_TRUE(host->set_up(1, setup));
  EXPECT_TRUE(ran.get());
  EXPECT_FALSE(is_ready);
}

}  // namespace
}  // namespace weft
