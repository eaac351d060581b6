#include "weft/model/program/buffer_planner.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <variant>

#include "weft/model/program/operands.h"

namespace weft {
namespace {

struct Life {
  BufferId id = kAbsent;
  std::size_t first = std::numeric_limits<std::size_t>::max();
  std::size_t last = 0;

  [[nodiscard]] bool meets(const Life& other) const {
    return first <= other.last && other.first <= last;
  }
};

std::int64_t size_of(const BufferPlan& buffer, std::int64_t alignment) {
  return (buffer.width + alignment - 1) / alignment * alignment * buffer.rows_per_token;
}

std::vector<Life> lives_of(const OpList& list, std::size_t buffers) {
  std::vector<Life> lives(buffers);
  const auto touch = [&](BufferId id, std::size_t at) {
    Life& life = lives[static_cast<std::size_t>(id)];
    life.id = id;
    life.first = std::min(life.first, at);
    life.last = std::max(life.last, at);
  };
  for (std::size_t at = 0; at < list.ops.size(); ++at) {
    for (const BufferUse& use : buffers_of(list.ops[at])) touch(use.id, at);
    // A device may write the norm of a product's output while it still reads the product's input.
    const auto* norm = std::get_if<NormOp>(&list.ops[at]);
    const bool is_behind_product = at > 0 && std::holds_alternative<LinearOp>(list.ops[at - 1]);
    if (norm != nullptr && is_behind_product) touch(norm->out, at - 1);
  }
  if (list.result != kAbsent) touch(list.result, list.ops.size());
  std::erase_if(lives, [](const Life& life) { return life.id == kAbsent; });
  return lives;
}

// Assigns offsets to the buffers of one arena; returns the arena's size.
std::int64_t place(std::vector<Life> lives, std::vector<BufferPlan>& buffers,
                   std::int64_t alignment) {
  const auto plan_of = [&](const Life& life) -> BufferPlan& {
    return buffers[static_cast<std::size_t>(life.id)];
  };
  const auto size = [&](const Life& life) { return size_of(plan_of(life), alignment); };
  std::ranges::stable_sort(lives, [&](const Life& a, const Life& b) { return size(a) > size(b); });
  std::vector<Life> placed;  // sorted by offset
  std::int64_t total = 0;
  for (const Life& life : lives) {
    std::int64_t offset = 0;
    for (const Life& other : placed) {
      if (!other.meets(life)) continue;
      const BufferPlan& taken = plan_of(other);
      if (taken.offset >= offset + size(life)) break;
      offset = std::max(offset, taken.offset + size(other));
    }
    plan_of(life).offset = offset;
    total = std::max(total, offset + size(life));
    const auto after = std::ranges::find_if(
        placed, [&](const Life& other) { return plan_of(other).offset > offset; });
    placed.insert(after, life);
  }
  return total;
}

}  // namespace

void plan_buffers(OpList& list, std::vector<BufferPlan>& buffers, std::int64_t alignment) {
  std::vector<Life> by_token = lives_of(list, buffers.size());
  std::vector<Life> by_output;
  std::erase_if(by_token, [&](const Life& life) {
    const bool output = buffers[static_cast<std::size_t>(life.id)].rows == RowKind::kOutputs;
    if (output) by_output.push_back(life);
    return output;
  });
  list.floats_per_token = place(std::move(by_token), buffers, alignment);
  list.floats_per_output = place(std::move(by_output), buffers, alignment);
}

}  // namespace weft
