#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/attention/attention_slots_cuda.h"
#include "weft/kernels/require.h"

namespace weft::cuda {
namespace {

/// The cost of beginning and ending a piece, in positions of context. These dependent loads take a
/// microsecond, in which a block reads the keys and values of this many positions.
constexpr double kPieceCost = 64;

/// A piece of context is a multiple of the 16 keys that a tensor core's product takes, and has such
/// a product at least for each of a block's four warps.
constexpr std::int32_t kPositionGrain = 16;
constexpr std::int32_t kLeastPiece = 64;

/// The longest piece may exceed a block's even share of the work by this factor.
constexpr double kLongest = 1.05;

/// Lengths tried for the longest piece, as fractions of a block's even share: 1, 1/2, 1/4.
constexpr int kTrials = 3;

/// The first plan that keeps this fraction of the device busy is taken.
constexpr double kGoodEnough = 0.95;

std::int32_t group_of(const AttentionShape& shape) {
  return std::max(1, shape.heads / std::max(1, shape.kv_heads));
}

std::int32_t item_tokens(const AttentionShape& shape) {
  return std::max(1, kItemQueries / group_of(shape));
}

double blocks_of(const AttentionShape& shape) {
  return std::max(1, shape.processors) * kBlocksPerProcessor;
}

std::int32_t ceil_div(std::int32_t a, std::int32_t b) { return (a + b - 1) / b; }

/// Into how many parts an uncut item is cut when parts have at most `longest` positions.
std::int32_t parts_of(const CudaAttentionItem& whole, std::int32_t longest) {
  return std::max(1, ceil_div(whole.end, longest));
}

/// The number of positions of each part; the last part may have fewer.
std::int32_t part_positions(std::int32_t positions, std::int32_t parts) {
  return parts == 1 ? positions
                    : ceil_div(ceil_div(positions, parts), kPositionGrain) * kPositionGrain;
}

/// Adds uncut items: each has as many tokens as an item may have, and all positions they see.
void add_whole_items(std::span<const DeviceSequence> sequences, const AttentionShape& shape,
                     std::vector<CudaAttentionItem>& items) {
  const std::int32_t most = item_tokens(shape);
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const DeviceSequence& sequence = sequences[s];
    for (std::int32_t token = 0; token < sequence.count; token += most) {
      const std::int32_t tokens = std::min(most, sequence.count - token);
      const std::int32_t end = shape.causal ? sequence.start + token + tokens : sequence.context;
      items.push_back(
          {.sequence = static_cast<std::int32_t>(s), .token = token, .tokens = tokens, .end = end});
    }
  }
}

void sort_by_piece(std::vector<CudaAttentionItem>& items, std::int32_t longest) {
  std::ranges::sort(items, [&](const CudaAttentionItem& a, const CudaAttentionItem& b) {
    const std::int32_t left = part_positions(a.end, parts_of(a, longest));
    const std::int32_t right = part_positions(b.end, parts_of(b, longest));
    if (left != right) return left > right;
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.token < b.token;
  });
}

/// An upper bound of the device's time for the pieces in this order, the lesser of two: blocks take
/// pieces in rounds, forwards then backwards; or each piece begins when all pieces before it would
/// be done if the blocks shared them evenly.
double time_of(const std::vector<CudaAttentionItem>& items, const AttentionShape& shape,
               std::int32_t longest) {
  const double blocks = blocks_of(shape);
  std::array<double, 4> ends{};  // times of the first and last pieces of two rounds
  std::size_t end = 0;
  double in_turn = 0;
  double when_ready = 0;
  double work = 0;
  double passed = 0;
  double next = 0;
  for (const CudaAttentionItem& item : items) {
    const std::int32_t parts = parts_of(item, longest);
    const double units = static_cast<double>(parts) * shape.kv_heads;
    const double time = part_positions(item.end, parts) + kPieceCost;
    when_ready = std::max(when_ready, (work + (units - 1) * time) / blocks + time);
    work += units * time;
    passed += units;
    while (next < passed) {
      ends[end] = time;
      next += end % 2 == 0 ? blocks - 1 : 1;
      if (++end < ends.size()) continue;
      in_turn += std::max(ends[0] + ends[3], ends[1] + ends[2]);
      ends = {};
      end = 0;
    }
  }
  in_turn += std::max(ends[0] + ends[3], ends[1] + ends[2]);
  return std::min(in_turn, when_ready);
}

double even_share(const std::vector<CudaAttentionItem>& items, const AttentionShape& shape) {
  double positions = 0;
  for (const CudaAttentionItem& item : items) positions += item.end + kPieceCost;
  return positions * shape.kv_heads / blocks_of(shape);
}

/// Chooses the length of the longest piece, and sorts `items` by the length of their pieces.
std::int32_t choose_longest(std::vector<CudaAttentionItem>& items, const AttentionShape& shape) {
  const double share = even_share(items, shape);
  std::int32_t best = 0;
  std::int32_t last = 0;
  double best_time = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double positions = kLongest * share / (1 << trial);
    const std::int32_t longest = std::max(kLeastPiece, static_cast<std::int32_t>(positions));
    if (longest == last) break;
    last = longest;
    sort_by_piece(items, longest);
    const double time = std::max(share, time_of(items, shape, longest));
    if (best == 0 || time < best_time) {
      best = longest;
      best_time = time;
    }
    if (share > kGoodEnough * time) break;
  }
  if (best != last) sort_by_piece(items, best);
  return best;
}

/// Returns whether the workspace has items, slots and counters for all parts.
bool fits(const std::vector<CudaAttentionItem>& items, const AttentionShape& shape,
          std::int32_t longest) {
  std::int64_t all = 0;
  std::int64_t slots = 0;
  std::int64_t counters = 0;
  for (const CudaAttentionItem& item : items) {
    const std::int64_t parts = parts_of(item, longest);
    all += parts;
    if (parts == 1) continue;
    slots += parts * item.tokens;
    ++counters;
  }
  return all <= shape.max_items && slots <= shape.max_items &&
         counters <= attention_counters(shape.heads);
}

/// Notes in each item its number of parts, their slots and their counter.
void assign_parts(std::vector<CudaAttentionItem>& items, std::int32_t longest) {
  std::int32_t slot = 0;
  std::int32_t counter = 0;
  for (CudaAttentionItem& item : items) {
    // Rounding to the grain may have lowered the number of parts.
    const std::int32_t positions = part_positions(item.end, parts_of(item, longest));
    item.parts = std::max(1, ceil_div(item.end, std::max(1, positions)));
    if (item.parts == 1) continue;
    item.first_slot = slot;
    item.counter = counter++;
    slot += item.parts * item.tokens;
  }
}

/// Replaces each item by its parts, from the back so that none is overwritten before it is cut.
void cut(std::vector<CudaAttentionItem>& items) {
  std::size_t from = items.size();
  std::size_t to = 0;
  for (const CudaAttentionItem& item : items) to += static_cast<std::size_t>(item.parts);
  items.resize(to);
  while (from > 0) {
    const CudaAttentionItem whole = items[--from];
    const std::int32_t positions = part_positions(whole.end, whole.parts);
    for (std::int32_t part = whole.parts - 1; part >= 0; --part) {
      CudaAttentionItem& item = items[--to];
      item = whole;
      item.part = part;
      item.begin = part * positions;
      item.end = std::min(whole.end, item.begin + positions);
    }
  }
}

}  // namespace

// Where a context is cut depends on the batch: pieces short enough to fill the device with one
// sequence would make a batch write and add up tens of parts for each sequence.
void plan_attention(std::span<const DeviceSequence> sequences, const AttentionShape& shape,
                    std::vector<CudaAttentionItem>& items) {
  items.clear();
  add_whole_items(sequences, shape, items);
  require(items.size() <= static_cast<std::size_t>(shape.max_items), "attention: max_items");
  std::int32_t longest = choose_longest(items, shape);
  while (!fits(items, shape, longest)) longest *= 2;
  assign_parts(items, longest);
  cut(items);
}

std::int32_t max_attention_items(std::int32_t rows, std::int32_t tokens,
                                 const AttentionShape& shape) {
  const std::int32_t most = item_tokens(shape);
  const std::int32_t whole = std::min(tokens, rows + tokens / most);
  // At the last trial a piece has at least a quarter of a block's even share, so there are at most
  // four pieces a block. A piece of a prompt's chunk has a slot for each of its tokens; a quarter
  // of the most tokens is enough, because only a small chunk is cut along its context.
  const auto cuts = static_cast<std::int32_t>(blocks_of(shape)) * (1 << (kTrials - 1));
  const std::int32_t slots = tokens > rows ? std::max(1, most / 4) : 1;
  return whole + ceil_div(cuts * slots, std::max(1, shape.kv_heads));
}

std::size_t cuda_attention_workspace_bytes(std::int32_t max_items, std::int32_t heads,
                                           std::int32_t head_size) {
  const auto numbers = static_cast<std::size_t>(max_items) * static_cast<std::size_t>(heads) *
                       static_cast<std::size_t>(head_size + 2);
  return kAttentionCounterBytes + numbers * sizeof(float);
}

}  // namespace weft::cuda
