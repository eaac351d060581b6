#include "weft/actors/replica_loads.h"

#include <algorithm>
#include <string>

#include "weft/actors/model_label.h"
#include "weft/schedule/group.h"

namespace weft {
namespace {

// How long an output gets is not known before its end. Answers have some hundred tokens, whatever
// more their requests permit, and a request with a short limit is cheap.
constexpr std::int64_t kUsualOutput = 256;

}  // namespace

std::int64_t expected_tokens(const GroupSpec& spec) noexcept {
  const auto prompt = static_cast<std::int64_t>(spec.prompt.size() + spec.encoder_input.size());
  return prompt + spec.sequences * std::min<std::int64_t>(spec.max_tokens, kUsualOutput);
}

ReplicaLoads::ReplicaLoads(MetricsRegistry& registry, std::size_t replicas,
                           const std::string& model) {
  for (std::size_t i = 0; i < replicas; ++i) {
    loads_.push_back(std::make_shared<Load>());
    loads_.back()->shown = &registry.gauge("weft_replica_load_tokens",
                                           "Tokens of a replica's requests, outputs by an estimate",
                                           with_model(model, {{"replica", std::to_string(i)}}));
  }
}

ReplicaLoads::Share ReplicaLoads::choose(const GroupSpec& spec) {
  const std::int64_t tokens = expected_tokens(spec);
  const std::scoped_lock lock(mutex_);
  // The order of preference. A longer cached prefix of the prompt belongs before the load.
  const auto is_better = [this](std::size_t a, std::size_t b) { return load(a) < load(b); };
  const std::size_t first = turn_++ % loads_.size();
  std::size_t best = first;
  for (std::size_t i = 1; i < loads_.size(); ++i) {
    const std::size_t replica = (first + i) % loads_.size();
    if (is_better(replica, best)) best = replica;
  }
  change(*loads_[best], tokens);
  return {best, loads_[best], tokens};
}

}  // namespace weft
