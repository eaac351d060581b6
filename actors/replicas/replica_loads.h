#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/replicas/recent_prefixes.h"
#include "weft/core/metrics.h"

namespace weft {

struct GroupSpec;

/// How much each replica has to do, in tokens, and which one a request goes to. What a replica's
/// cache of prefixes seems to hold of a prompt (RecentPrefixes) is not to be done there.
/// Thread-safe. The metric weft_replica_load_tokens shows the loads.
class ReplicaLoads {
 private:
  struct Load {
    std::atomic<std::int64_t> tokens{0};
    Gauge* shown = nullptr;  // of the registry, which engines may have in common
  };

 public:
  /// A request's part of its replica's load, taken off when the share ends. It must not outlive the
  /// metrics. Owner only.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept = default;
    Share& operator=(Share&& other) noexcept {
      std::swap(replica_, other.replica_);
      std::swap(load_, other.load_);
      std::swap(tokens_, other.tokens_);
      return *this;
    }
    ~Share() {
      if (load_) change(*load_, -tokens_);
    }

    [[nodiscard]] std::size_t replica() const noexcept { return replica_; }

   private:
    friend class ReplicaLoads;
    Share(std::size_t replica, std::shared_ptr<Load> load, std::int64_t tokens) noexcept
        : replica_(replica), load_(std::move(load)), tokens_(tokens) {}

    std::size_t replica_ = 0;
    std::shared_ptr<Load> load_;
    std::int64_t tokens_ = 0;
  };

  /// `replicas` is at least 1; `model` is the label of the metrics where there are several.
  /// `keeps_prefixes`: each keeps what it has computed for prompts that begin alike.
  ReplicaLoads(MetricsRegistry& registry, std::size_t replicas, const std::string& model = {},
               bool keeps_prefixes = false);

  /// Chooses a replica for a request and adds the request to its load: the one that would have the
  /// least load with it. So a prompt goes where its beginning is, until that replica has more to do
  /// than the others by what is saved there; of several alike, each in turn.
  [[nodiscard]] Share choose(const GroupSpec& spec);

  /// Tokens of the replica's requests that have not ended.
  [[nodiscard]] std::int64_t load(std::size_t replica) const noexcept {
    return loads_[replica]->tokens.load(std::memory_order_relaxed);
  }

 private:
  static void change(Load& load, std::int64_t tokens) noexcept {
    load.tokens.fetch_add(tokens, std::memory_order_relaxed);
    load.shown->add(static_cast<double>(tokens));
  }

  std::mutex mutex_;  // guards turn_ and prefixes_, and lets those who choose at once see each
                      // other's choice
  std::size_t turn_ = 0;
  RecentPrefixes prefixes_;
  std::vector<std::shared_ptr<Load>> loads_;
};

/// Tokens that a request is expected to cost: those of its prompt, and of each output as many as
/// answers usually have, or `max_tokens` where that is less.
[[nodiscard]] std::int64_t expected_tokens(const GroupSpec& spec) noexcept;

}  // namespace weft
