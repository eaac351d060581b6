#include "weft/actors/replicas/replica_loads.h"

#include <algorithm>
#include <limits>
#include <string>

#include "weft/actors/model_label.h"
#include "weft/schedule/group.h"

namespace weft {
namespace {

// An output's length is unknown before its end. Answers have some hundred tokens, even if their
// requests permit more; a request with a short limit is cheap.
constexpr std::int64_t kUsualOutput = 256;

}  // namespace

std::int64_t expected_tokens(const GroupSpec& spec) noexcept {
  const auto prompt = static_cast<std::int64_t>(spec.prompt.size() + spec.encoder_input.size());
  return prompt + spec.sequences * std::min<std::int64_t>(spec.max_tokens, kUsualOutput);
}

ReplicaLoads::ReplicaLoads(MetricsRegistry& registry, std::size_t replicas,
                           const std::string& model, bool keeps_prefixes)
    : prefixes_(keeps_prefixes ? replicas : 0) {
  for (std::size_t i = 0; i < replicas; ++i) {
    loads_.push_back(std::make_shared<Load>());
    loads_.back()->shown = &registry.gauge("weft_replica_load_tokens",
                                           "Tokens of a replica's requests, outputs by an estimate",
                                           with_model(model, {{"replica", std::to_string(i)}}));
  }
}

ReplicaLoads::Share ReplicaLoads::choose(const GroupSpec& spec) {
  const std::int64_t whole = expected_tokens(spec);
  const std::vector<std::uint64_t> beginnings = prefixes_.beginnings_of(spec);
  const std::scoped_lock lock(mutex_);
  const std::size_t first = turn_++ % loads_.size();
  std::size_t best = first;
  std::int64_t tokens = whole;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    const std::size_t replica = (first + i) % loads_.size();
    const std::int64_t own = whole - prefixes_.tokens_sent(beginnings, replica);
    if (load(replica) + own >= least) continue;
    best = replica;
    tokens = own;
    least = load(replica) + own;
  }
  prefixes_.note(beginnings, best);
  change(*loads_[best], tokens);
  return {best, loads_[best], tokens};
}

}  // namespace weft
