// Ranks on fake GPUs in several processes, of which this one plays all, over the loopback.

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/actor/supervision.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/host_ranks.h"
#include "weft/gpu/ranks/world/handshake.h"
#include "weft/gpu/ranks/world/rank_host.h"
#include "weft/gpu/ranks/world/world_capacity.h"
#include "weft/gpu/step_options.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"
#include "weft/tests/gpu/ranks/rank_processes.h"

namespace weft {
namespace {

using cuda::CudaRank;
using test::FailsWith;
using test::FakeGpu;
using test::FakeRuntime;
using test::free_address;
using test::kWorldLimits;
using test::PlanBuilder;
using test::world_of;
using GroupIds = std::vector<cuda::CudaRanks::GroupId>;

/// Where ranks of different processes meet that have the same ids, as NCCL's do: each waits until
/// all have come or its own process says that one is lost.
class MeetingPlace {
 public:
  explicit MeetingPlace(std::size_t ranks) : ranks_(ranks) {}

  cuda::Status meet(const CudaRank& place) {
    std::unique_lock lock(mutex_);
    std::size_t& here = here_[place.all->ids];
    ++here;
    changed_.notify_all();
    while (here < ranks_) {
      changed_.wait_for(lock, std::chrono::milliseconds(5));
      if (place.all->lost) return cuda::kRankLost;
    }
    return cuda::Status::kSuccess;
  }

  void wait_for(std::size_t ranks) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !here_.empty() && here_.begin()->second >= ranks; });
  }

 private:
  const std::size_t ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<GroupIds, std::size_t> here_;
};

class GpuWorldTest : public testing::Test {
 protected:
  void prepare(const std::string& partition) {
    partition_ = parse_partition(partition).value();
    programs_ = compile_parts(model_, partition_).value();
    limits_ = kWorldLimits;
    limits_.stages = static_cast<std::int32_t>(partition_.stages.size());
    meeting_ = std::make_unique<MeetingPlace>(partition_.ranks());
    RanksLayout layout =
        layout_of(model_, partition_, step_options(*model_.program, limits_, DType::kF32, 1));
    layout.shares_processors = true;
    exchange_ = SharedRanks::make(layout).value();
    head_ = world_of(0, static_cast<std::int32_t>(partition_.ranks()));
    head_.address = free_address();
  }

  /// Returns the options of one process, which has one GPU and opens it by the partition's name for
  /// it.
  [[nodiscard]] WorldRankOptions options() {
    auto gpu = std::make_shared<FakeGpu>();
    gpu->ranks = exchange_;
    gpu->meet = [this](const CudaRank& place) { return meeting_->meet(place); };
    WorldRankOptions options;
    options.gpus.open = [gpu](const std::string& device) -> Result<std::unique_ptr<cuda::Runtime>> {
      EXPECT_EQ(device.substr(0, 5), "cuda:");
      return std::make_unique<FakeRuntime>(gpu);
    };
    options.gpus.name_groups = [](const std::vector<std::int32_t>& widths) -> Result<GroupIds> {
      GroupIds ids(cuda::rank_groups(widths).size());
      for (std::size_t i = 0; i < ids.size(); ++i) ids[i].fill(static_cast<char>('a' + i));
      return ids;
    };
    return options;
  }

  [[nodiscard]] std::future<Result<void>> work(std::int32_t rank) {
    return std::async(std::launch::async, [this, rank, own = options()]() mutable {
      RankWorld world = head_;
      world.rank = rank;
      WorldRank one(model_, world, std::move(own));
      return run_rank(world, one);
    });
  }

  [[nodiscard]] WorldPlan plan() const {
    return {model_,
            partition_,
            programs_,
            head_,
            DType::kF32,
            1,
            [this](const std::vector<RankRoom>& rooms) -> Result<DeviceLimits> {
              for (const RankRoom& room : rooms) {
                EXPECT_EQ(room.device, "fake");
                EXPECT_GT(room.free_bytes, 0);
              }
              return limits_;
            }};
  }

  void start(const std::string& partition) {
    prepare(partition);
    workers_.clear();
    for (std::int32_t rank = 1; rank < head_.size; ++rank) workers_.push_back(work(rank));
    devices_ = load_world(plan(), options()).value();
  }

  TokenId run(const Plan& plan) { return test::run_on_all(devices_, plan); }

  [[nodiscard]] StepDevice& of_kind(bool samples) {
    for (auto& device : devices_) {
      if (device->samples() == samples) return *device;
    }
    throw std::logic_error("no such rank");
  }

  static PlanBuilder first_plan() {
    PlanBuilder builder;
    builder.start(0, test::greedy(), 3).table(0, 0, {0, 1, 2, 3}).feed(0, 0, {1, 2, 3}).sample();
    return builder;
  }

  const RandomLlama llama_{LlamaShape{}, 11};
  const OpenedModel model_ = llama_.opened();
  DeviceLimits limits_;
  RankWorld head_;
  Partition partition_;
  std::vector<std::shared_ptr<const Program>> programs_;
  std::unique_ptr<MeetingPlace> meeting_;
  std::shared_ptr<SharedRanks> exchange_;
  std::vector<std::future<Result<void>>> workers_;
  std::vector<std::unique_ptr<StepDevice>> devices_;
};

TEST_F(GpuWorldTest, ChoosesTheTokensThatOneGpuChooses) {
  // Where each process sees one GPU alone, all are called the same.
  for (const char* partition :
       {"cuda:0,cuda:1", "cuda:0 | cuda:1", "cuda:0,cuda:0", "cuda:0,cuda:1 | cuda:2,cuda:3"}) {
    SCOPED_TRACE(partition);
    start(partition);
    const auto alone =
        test::fake_gpu_kind().load_steps(model_.checkpoint, model_.program, kWorldLimits);
    PlanBuilder builder = first_plan();
    StepResult wanted;
    alone->run(builder.plan(), wanted);
    TokenId last = wanted.samples.front().token;
    EXPECT_EQ(run(builder.plan()), last);
    for (std::int32_t at = 3; at < 6; ++at) {
      PlanBuilder next;
      next.feed(0, at, {last}).sample();
      wanted.clear();
      alone->run(next.plan(), wanted);
      last = wanted.samples.front().token;
      EXPECT_EQ(run(next.plan()), last) << "position " << at;
    }
    devices_.clear();
    for (auto& worker : workers_) EXPECT_TRUE(worker.get()) << "the head has said goodbye";
  }
}

/// A rank of another process that has a GPU, hears what it is to load, and then is gone.
void play_killed_gpu(RankWorld world, std::int32_t rank, const std::function<void()>& before) {
  RankSocket socket(RankSocket::connect(world.address, 10'000).value());
  world.rank = rank;
  greet_head(socket, world).value();
  for (;;) {
    const auto frame = socket.receive(10'000).value();
    if (frame.kind == RankMessage::kAsk) {
      RankRoom room;
      room.device = "fake";
      room.free_bytes = 1;
      socket.send(RankMessage::kRoom, encode_room(room)).value();
    }
    if (frame.kind == RankMessage::kSetup) return before();
  }
}

TEST_F(GpuWorldTest, AProcessThatIsKilledWhileOthersJoinEndsTheirJoining) {
  prepare("cuda:0,cuda:1,cuda:2");
  auto survivor = work(1);
  // It goes when the two others wait for it.
  std::jthread killed([&] { play_killed_gpu(head_, 2, [&] { meeting_->wait_for(2); }); });
  // A connection that is closed with bytes unread is reset; else it ends.
  EXPECT_THAT(load_world(plan(), options()), FailsWith(DeviceErrc::kRankLost, "rank 2: "));
  EXPECT_THAT(survivor.get(), FailsWith(DeviceErrc::kRankLost, "the head: "));
}

TEST_F(GpuWorldTest, AHeadThatIsKilledWhileARankJoinsEndsItsJoining) {
  prepare("cuda:0,cuda:1");
  auto survivor = work(1);
  const auto host = RankHost::gather(head_).value();
  std::vector<RankQuestion> questions(2);
  questions.back().index = 0;
  questions.back().partition = to_string(partition_);
  ASSERT_TRUE(host->ask(questions));
  RankSetup setup;
  setup.limits = limits_;
  setup.partition = to_string(partition_);
  setup.fingerprint = fingerprint_of(*programs_[0]);
  setup.groups = options().gpus.name_groups(partition_.widths()).value();
  ASSERT_TRUE(host->set_up(1, setup));
  meeting_->wait_for(1);
  host->abandon("killed");
  EXPECT_THAT(survivor.get(), FailsWith(DeviceErrc::kRankLost, "the head: "));
}

TEST_F(GpuWorldTest, AProcessThatIsKilledEndsTheStepThatOthersAreIn) {
  start("cuda:0,cuda:1");
  PlanBuilder builder = first_plan();
  run(builder.plan());
  // The other rank never gets the next plan.
  auto step = std::async(std::launch::async, [&] {
    PlanBuilder next;
    next.feed(0, 3, {1}).sample();
    StepResult result;
    of_kind(true).run(next.plan(), result);
  });
  of_kind(false).abandon();
  EXPECT_THROW(step.get(), ActorFailure);
  EXPECT_THAT(workers_.front().get(), FailsWith(DeviceErrc::kRankLost, "the head"));
}

TEST_F(GpuWorldTest, TheHeadHearsWhyARankCannotLoad) {
  prepare("cuda:0,cuda:1");
  WorldRankOptions broken = options();
  broken.gpus.open = [](const std::string& device) -> Result<std::unique_ptr<cuda::Runtime>> {
    return Error{DeviceErrc::kNoSuchDevice, device + " is not here"};
  };
  auto worker = std::async(std::launch::async, [&] {
    RankWorld world = head_;
    world.rank = 1;
    WorldRank one(model_, world, broken);
    return run_rank(world, one);
  });
  EXPECT_THAT(load_world(plan(), options()), FailsWith(DeviceErrc::kRankLost, "rank 1: "));
  EXPECT_THAT(worker.get(), FailsWith(DeviceErrc::kNoSuchDevice, "is not here"));
}

TEST_F(GpuWorldTest, AGpuBesideTheHostIsOfOneProcess) {
  partition_ = parse_partition("cuda:0 | cpu").value();
  WorldRank one(model_, head_, options());
  RankQuestion question;
  question.partition = "cuda:0 | cpu";
  EXPECT_THAT(one.room(question, "127.0.0.1"),
              FailsWith(DeviceErrc::kUnfit, "are threads of one process"));
}

TEST_F(GpuWorldTest, RanksTakeWhatFitsWhereThereIsTheLeastRoom) {
  prepare("cuda:0,cuda:1");
  CapacityWishes wishes;
  wishes.rows = 8;
  wishes.memory_fraction = 1;
  constexpr std::int64_t kMuch = std::int64_t{4} << 30U;
  std::vector<RankRoom> rooms(2);
  for (RankRoom& room : rooms) {
    room.device = "fake";
    room.processors = 2;
    room.architecture = 90;
    room.l2_bytes = 4096;
    room.free_bytes = kMuch;
  }
  const auto fits = [&] {
    return world_capacity(model_, partition_, programs_, DeviceWishes{}, wishes, rooms, 0);
  };
  EXPECT_EQ(fits().value().limits.pages, 8 * 16);
  rooms[1].free_bytes = 1 << 20U;
  EXPECT_THAT(fits(), FailsWith(DeviceErrc::kOutOfMemory, "rank 1: "));
}

TEST_F(GpuWorldTest, RanksWhoseKvCacheIsOnTheHostShareTheirMachinesMemory) {
  prepare("cuda:0,cuda:1");
  CapacityWishes wishes;
  wishes.rows = 8;
  wishes.memory_fraction = 1;
  wishes.kv_host_bytes = 1;  // of the head's machine, and not looked at
  std::vector<RankRoom> rooms(2);
  for (RankRoom& room : rooms) {
    room.device = "fake";
    room.processors = 2;
    room.architecture = 90;
    room.l2_bytes = 4096;
    room.free_bytes = std::int64_t{4} << 30U;
    room.host_bytes = 100'000;
  }
  const auto limits = [&] {
    return world_capacity(model_, partition_, programs_, DeviceWishes{}, wishes, rooms, 0)
        .value()
        .limits;
  };
  rooms[0].machine = "one";
  rooms[1].machine = "another";
  const DeviceLimits apart = limits();
  EXPECT_TRUE(apart.kv_on_host);
  rooms[1].machine = "one";
  EXPECT_EQ(limits().pages, apart.pages / 2);
}

TEST_F(GpuWorldTest, RanksOnTheHostShareTheirMachinesMemory) {
  prepare("cpu,cpu");
  CapacityWishes wishes;
  wishes.rows = 8;
  wishes.memory_fraction = 1;
  std::vector<RankRoom> rooms(2);
  const auto least_bytes = [&] {
    std::int64_t low = 0;
    std::int64_t high = std::int64_t{1} << 30U;
    while (low + 1 < high) {
      const std::int64_t middle = (low + high) / 2;
      for (RankRoom& room : rooms) room.free_bytes = middle;
      const auto fits =
          world_capacity(model_, partition_, programs_, DeviceWishes{}, wishes, rooms, 0);
      (fits ? high : low) = middle;
    }
    return high;
  };
  rooms[0].machine = rooms[1].machine = "one";
  const std::int64_t together = least_bytes();
  EXPECT_EQ(neighbours_of(rooms, 1), 2);
  rooms[1].machine = "another";
  EXPECT_LT(least_bytes(), together);
  EXPECT_EQ(neighbours_of(rooms, 1), 1);
}

}  // namespace
}  // namespace weft
