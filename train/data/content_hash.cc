#include "weft/train/data/content_hash.h"

#include <algorithm>
#include <array>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/token.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/train/data/batch_plan.h"
#include "weft/train/data/examples.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/step/optimizer.h"

namespace weft {
namespace {

// Of each tensor: runs of bytes at even distances, the first and the last bytes among them.
constexpr std::uint64_t kRuns = 16;
constexpr std::uint64_t kRunBytes = 64;

Result<void> add_some_bytes(const CheckpointTensor& tensor, ContentHash& hash) {
  std::array<std::byte, kRunBytes> bytes{};
  const std::uint64_t count = std::min(kRunBytes, tensor.size);
  const std::uint64_t last = tensor.size - count;
  for (std::uint64_t i = 0; i < kRuns; ++i) {
    const std::span<std::byte> run = std::span(bytes).first(static_cast<std::size_t>(count));
    // A product would overflow where a tensor has 2^60 bytes.
    const std::uint64_t first = last / (kRuns - 1) * i + last % (kRuns - 1) * i / (kRuns - 1);
    if (auto read = tensor.read(first, run); !read) return read;
    hash.add(run);
  }
  return {};
}

}  // namespace

Result<std::uint64_t> hash_of(const Checkpoint& checkpoint) {
  ContentHash hash;
  hash.add(checkpoint.tensors().size());
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    hash.add(tensor.name);
    hash.add(to_string(tensor.dtype));
    hash.add_list(std::span<const std::int64_t>(tensor.shape));
    hash.add(tensor.size);
    if (auto added = add_some_bytes(tensor, hash); !added) return added.error();
  }
  return hash.value();
}

std::uint64_t hash_of(const Examples& examples) {
  ContentHash hash;
  hash.add(examples.all.size());
  for (const Example& example : examples.all) {
    hash.add_list(std::span<const TokenId>(example.ids));
    hash.add_list(std::span<const float>(example.weights));
  }
  return hash.value();
}

std::uint64_t hash_of(const LowRankPairs& pairs) {
  ContentHash hash;
  hash.add(pairs.dropout);
  hash.add(pairs.pairs.size());
  for (const LowRankPair& pair : pairs.pairs) {
    hash.add(pair.tensor);
    hash.add(pair.rank);
    hash.add(pair.scale);
    hash.add_list(std::span<const float>(pair.a));
    hash.add_list(std::span<const float>(pair.b));
  }
  return hash.value();
}

std::uint64_t hash_of(const BatchPlan& plan) {
  ContentHash hash;
  hash.add(plan.examples);
  hash.add(plan.batch);
  hash.add(plan.tokens);
  hash.add(plan.seed);
  hash.add(plan.shuffle);
  return hash.value();
}

std::uint64_t hash_of(const OptimizerSettings& settings) {
  ContentHash hash;
  for (const double number : {settings.rate, settings.clip, settings.decay, settings.beta1,
                              settings.beta2, settings.epsilon}) {
    hash.add(number);
  }
  hash.add(static_cast<int>(settings.schedule));
  hash.add(settings.warmup);
  hash.add(settings.steps);
  return hash.value();
}

}  // namespace weft
