#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/world/load_world.h"
#include "weft/gpu/ranks/world/rank_socket.h"
#include "weft/gpu/ranks/world/rank_worker.h"
#include "weft/gpu/ranks/world/rank_world.h"
#include "weft/gpu/step_device.h"
#include "weft/model/random_llama.h"

namespace weft::test {

inline constexpr DeviceLimits kWorldLimits{.rows = 2,
                                           .pages = 16,
                                           .page_tokens = 4,
                                           .step_tokens = 16,
                                           .context = 32,
                                           .vocabulary = LlamaShape{}.vocabulary};

inline RankWorld world_of(std::int32_t rank, std::int32_t size, const std::string& key = "secret") {
  RankWorld world;
  world.rank = rank;
  world.size = size;
  world.key = key;
  world.timeout = std::chrono::seconds(60);
  return world;
}

/// Returns a loopback address on which no process listens, and which other processes do not take.
inline std::string free_address() {
  const int id = ::getpid();
  const std::string host =
      "127.77." + std::to_string(id / 256 % 256) + "." + std::to_string(id % 256) + ":";
  const auto listener = RankListener::open(host + "0").value();
  return host + std::to_string(listener.port());
}

/// Runs a plan on all ranks at once and returns the chosen token.
inline TokenId run_on_all(const std::vector<std::unique_ptr<StepDevice>>& devices,
                          const Plan& plan) {
  TokenId token = kNoToken;
  std::vector<std::jthread> threads;
  for (const auto& device : devices) {
    threads.emplace_back([&] {
      StepResult result;
      device->run(plan, result);
      if (device->samples()) token = result.samples.front().token;
    });
  }
  threads.clear();
  return token;
}

/// A model in several processes, of which this one plays all.
class RankWorldTest : public testing::Test {
 protected:
  void start(const std::string& partition, RankWorld head = world_of(0, 2)) {
    head.address = free_address();
    partition_ = parse_partition(partition).value();
    programs_ = compile_parts(model_, partition_).value();
    head.size = static_cast<std::int32_t>(partition_.ranks());
    workers_.clear();
    for (std::int32_t rank = 1; rank < head.size; ++rank) {
      RankWorld own = head;
      own.rank = rank;
      workers_.push_back(std::async(std::launch::async, [this, own] {
        WorldRank one(model_, own);
        return run_rank(own, one);
      }));
    }
    devices_ = load_world(plan(head, 2), {}).value();
  }

  [[nodiscard]] WorldPlan plan(const RankWorld& world, int threads = 1) const {
    return {
        model_,
        partition_,
        programs_,
        world,
        DType::kF32,
        threads,
        [this](const std::vector<RankRoom>& /*rooms*/) { return Result<DeviceLimits>(limits()); }};
  }

  [[nodiscard]] DeviceLimits limits() const {
    DeviceLimits limits = kWorldLimits;
    limits.stages = static_cast<std::int32_t>(partition_.stages.size());
    return limits;
  }

  TokenId run(const Plan& plan) { return run_on_all(devices_, plan); }

  [[nodiscard]] StepDevice& remote() {
    return devices_.front()->samples() ? *devices_.back() : *devices_.front();
  }
  [[nodiscard]] StepDevice& local() {
    return devices_.front()->samples() ? *devices_.front() : *devices_.back();
  }

  const RandomLlama llama_{LlamaShape{}, 11};
  const OpenedModel model_ = llama_.opened();
  Partition partition_;
  std::vector<std::shared_ptr<const Program>> programs_;
  std::vector<std::future<Result<void>>> workers_;
  std::vector<std::unique_ptr<StepDevice>> devices_;
};

}  // namespace weft::test
