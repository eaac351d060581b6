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

/// Tracks each replica's load in tokens, and chooses the replica for a request. Tokens that a
/// replica's prefix cache probably has (RecentPrefixes) cost it nothing. Thread-safe. The metric
/// weft_replica_load_tokens shows the loads.
class ReplicaLoads {
 private:
  struct Load {
    std::atomic<std::int64_t> tokens{0};
    Gauge* shown = nullptr;  // in the registry, which engines may share
  };

 public:
  /// A request's part of its replica's load, which its destructor subtracts. It must not outlive
  /// the metrics. Owner only.
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

  /// Chooses the replica that would have the least load with the request, and adds the request to
  /// its load. So a prompt goes to a replica that has its beginning, unless that replica's other
  /// load exceeds the saving; equal replicas take turns.
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

  std::mutex mutex_;  // guards turn_ and prefixes_, and lets concurrent choices see each
  // other
  std::size_t turn_ = 0;
  RecentPrefixes prefixes_;
  std::vector<std::shared_ptr<Load>> loads_;
};

/// The expected tokens of a request: its prompt, and for each output a usual answer's tokens or
/// `max_tokens`, whichever is less.
[[nodiscard]] std::int64_t expected_tokens(const GroupSpec& spec) noexcept;

}  // namespace weft
