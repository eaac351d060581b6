#include "weft/gpu/memory/device_capacity.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "weft/gpu/device_info.h"

namespace weft {
namespace {

// More rows than this gain little. At 256 rows so many share the reading of weights that computing
// dominates on every device known, and each row costs a row of logits.
constexpr std::int32_t kUsefulRows = 256;

// A row has at least this many pages for each page of its snapshots.
constexpr std::int32_t kPagesOfASnapshotPage = 8;

std::string mebibytes(std::int64_t bytes) {
  constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
  return std::to_string((bytes + kMebibyte - 1) / kMebibyte) + " MiB";
}

// Returns as many pages as all rows can use, at most as many as page numbers can name.
std::int64_t pages_of_all_rows(const DeviceLimits& limits) {
  const std::int64_t pages = std::int64_t{limits.rows} * limits.pages_per_row();
  return std::min<std::int64_t>(pages, std::numeric_limits<std::int32_t>::max());
}

/// A memory of which a device takes a part.
struct Memory {
  std::int64_t budget = 0;
  std::int64_t weights = 0;
  std::int64_t page_bytes = 0;
  const std::function<std::int64_t(const DeviceLimits& limits)>& bytes;
  const char* what = "";         // in messages: the use beside pages
  const char* where = "";        // in messages: which memory it is, if that is not obvious
  std::int64_t state_bytes = 0;  // bytes of a row's state

  [[nodiscard]] std::int64_t without_pages(DeviceLimits limits) const {
    limits.pages = 0;
    return bytes(limits) + std::int64_t{limits.rows} * state_bytes;
  }
  /// Whether buffers for `limits.rows` rows leave too little room for pages.
  [[nodiscard]] bool is_crowded(const DeviceLimits& limits) const {
    return without_pages(limits) - weights > (budget - weights) / 2;
  }
  [[nodiscard]] std::int64_t fitting_pages(const DeviceLimits& limits) const {
    return std::max<std::int64_t>(budget - without_pages(limits), 0) / page_bytes;
  }
};

/// Returns the device's own memory, and the host's if the KV cache is there.
std::vector<Memory> memories_of(const CapacityWishes& wishes, std::int64_t budget,
                                const DeviceNeeds& needs) {
  std::vector<Memory> all{{budget, needs.weight_bytes, std::max<std::int64_t>(needs.page_bytes, 1),
                           needs.bytes, "weights and buffers take ", "", needs.state_bytes}};
  if (needs.host_bytes) {
    all.push_back({wishes.kv_host_bytes, 0, std::max<std::int64_t>(needs.host_page_bytes, 1),
                   needs.host_bytes, "the encoder's output takes ", " of host memory"});
  }
  return all;
}

Error no_room(const Memory& memory, const DeviceLimits& limits, std::int64_t pages) {
  return {DeviceErrc::kOutOfMemory,
          memory.what + mebibytes(memory.without_pages(limits)) + " and " + std::to_string(pages) +
              " pages of KV " + mebibytes(pages * memory.page_bytes) + ", of " +
              mebibytes(memory.budget) + memory.where + " that may be taken"};
}

/// Checks that the buffers of an encoder alone fit: it has buffers for its longest input and no
/// pages.
Result<DeviceLimits> without_pages(const DeviceLimits& limits, std::int64_t taken,
                                   std::int64_t budget) {
  if (taken <= budget) return limits;
  return Error{DeviceErrc::kOutOfMemory,
               "weights and buffers for inputs of " + std::to_string(limits.context) +
                   " tokens take " + mebibytes(taken) + ", of " + mebibytes(budget) +
                   " that may be taken; max_context says how much shorter inputs may be"};
}

/// Adds the bytes of a row's state beside pages, and the pages of its snapshot.
void add_state(DeviceLimits& limits, const DeviceNeeds& needs) {
  if (needs.state_bytes == 0) return;
  const std::int64_t page_bytes = std::max<std::int64_t>(needs.page_bytes, 1);
  limits.state_bytes = needs.state_bytes;
  limits.snapshot_pages =
      static_cast<std::int32_t>((needs.state_bytes + page_bytes - 1) / page_bytes);
  limits.snapshot_every = kPagesOfASnapshotPage * limits.snapshot_pages;
}

/// Divides the pages among the rows.
Result<DeviceLimits> with_slabs(DeviceLimits limits, const CapacityWishes& wishes) {
  if (wishes.rows > 0 && wishes.context == 0 && limits.pages >= limits.rows) {
    const std::int64_t slab = std::int64_t{limits.pages / limits.rows} * limits.page_tokens;
    limits.context = std::min(limits.context, slab);
  }
  const std::int32_t rows = std::min(limits.rows, limits.pages / limits.pages_per_row());
  if (wishes.rows > rows) {
    return Error{DeviceErrc::kOutOfMemory,
                 std::to_string(limits.pages) + " pages of " + std::to_string(limits.page_tokens) +
                     " tokens are no slabs of " + std::to_string(limits.context) + " tokens for " +
                     std::to_string(wishes.rows) + " rows"};
  }
  limits.rows = rows;
  limits.pages = rows * limits.pages_per_row();
  return limits;
}

}  // namespace

Result<DeviceLimits> device_capacity(const Program& program, const CapacityWishes& wishes,
                                     std::int64_t free_bytes, const DeviceNeeds& needs) {
  DeviceLimits limits;
  limits.page_tokens = wishes.page_tokens;
  limits.vocabulary = program.vocabulary;
  limits.context = wishes.context > 0 ? wishes.context : program.context;
  if (wishes.context > program.context) {
    return Error{DeviceErrc::kUnfit, "max_context: " + std::to_string(wishes.context) +
                                         " is more than the model's " +
                                         std::to_string(program.context) + " positions"};
  }
  limits.rows = wishes.rows > 0 ? wishes.rows : kUsefulRows;
  limits.step_tokens = std::max(wishes.step_tokens, limits.rows);
  limits.keeps_kv = program.causal;
  // A row's state cannot take back wrong guesses.
  limits.guesses = limits.keeps_kv && needs.state_bytes == 0 ? wishes.guesses : 0;
  limits.chooses_at_once = needs.chooses_at_once;
  // A slab belongs to a row for its whole context.
  limits.window = wishes.slabs ? 0 : program.window;
  limits.kv_on_host = needs.host_bytes != nullptr;
  limits.rounds_rows = wishes.rounds_rows;
  if (needs.computes_adapters && wishes.adapter_places > 0) {
    limits.adapter_places = wishes.adapter_places;
    limits.adapter_rank = std::max(wishes.adapter_rank, 1);
  }
  add_state(limits, needs);
  if (program.has_encoder || !limits.keeps_kv) {
    // An encoder reads its input at once.
    limits.step_tokens = std::max(limits.step_tokens, static_cast<std::int32_t>(limits.context));
  }
  if (program.has_encoder) {
    limits.cross_pages = static_cast<std::int32_t>(pages_of_all_rows(limits));
  }
  const std::int64_t budget =
      wishes.memory_bytes > 0
          ? std::min(wishes.memory_bytes, free_bytes)
          : static_cast<std::int64_t>(static_cast<double>(free_bytes) * wishes.memory_fraction);
  const std::vector<Memory> memories = memories_of(wishes, budget, needs);
  // Chooses fewer rows if their buffers would leave no room for pages.
  while (wishes.rows == 0 && limits.rows > 1 &&
         std::ranges::any_of(memories, [&](const Memory& one) { return one.is_crowded(limits); })) {
    limits.rows /= 2;
    if (program.has_encoder) {
      limits.cross_pages = static_cast<std::int32_t>(pages_of_all_rows(limits));
    }
  }
  if (!limits.keeps_kv) {
    return without_pages(limits, memories.front().without_pages(limits), budget);
  }
  const Memory& fullest = *std::ranges::min_element(
      memories, {}, [&](const Memory& one) { return one.fitting_pages(limits); });
  const std::int64_t fitting = fullest.fitting_pages(limits);
  const std::int64_t useful = pages_of_all_rows(limits);
  const std::int64_t wanted = wishes.pages > 0 ? wishes.pages : std::min(fitting, useful);
  if (wanted > fitting || wanted < 1) {
    return no_room(fullest, limits, std::max<std::int64_t>(wanted, 1));
  }
  limits.pages = static_cast<std::int32_t>(std::min<std::int64_t>(wanted, useful));
  // Pages and places in host memory share their numbers.
  const std::int64_t most_places = std::numeric_limits<std::int32_t>::max() - limits.pages;
  const std::int64_t places =
      wishes.slabs ? 0 : wishes.host_bytes / std::max<std::int64_t>(needs.page_bytes, 1);
  limits.host_pages = static_cast<std::int32_t>(std::min(places, most_places));
  const std::int64_t held = std::int64_t{limits.pages} * limits.page_tokens;
  if (limits.held_pages_for(limits.context) > limits.pages) {
    if (wishes.context > 0 || (wishes.pages > 0 && !wishes.slabs)) {
      return Error{DeviceErrc::kOutOfMemory,
                   std::to_string(limits.pages) + " pages of " +
                       std::to_string(limits.page_tokens) + " tokens hold less than a context of " +
                       std::to_string(limits.context) +
                       (wishes.context > 0 ? "" : "; max_context says how much shorter it may be")};
    }
    limits.context = std::min(limits.context, held);
  }
  if (wishes.slabs) return with_slabs(limits, wishes);
  return limits;
}

CapacityWishes with_host_share(CapacityWishes wishes, std::size_t gpus) {
  if (wishes.kv_host_bytes == 0) return wishes;
  const std::int64_t share =
      wishes.kv_host_bytes / static_cast<std::int64_t>(std::max<std::size_t>(gpus, 1));
  wishes.kv_host_bytes = std::max<std::int64_t>(share, 1);  // 0 would mean the GPU's memory
  return wishes;
}

DeviceLimits least_of(DeviceLimits one, const DeviceLimits& other, bool slabs) {
  one.rows = std::min(one.rows, other.rows);
  one.pages = std::min(one.pages, other.pages);
  one.context = std::min(one.context, other.context);
  one.step_tokens = std::min(one.step_tokens, other.step_tokens);
  one.cross_pages = std::min(one.cross_pages, other.cross_pages);
  one.host_pages = std::min(one.host_pages, other.host_pages);
  one.adapter_places = std::min(one.adapter_places, other.adapter_places);
  one.adapter_rank = std::min(one.adapter_rank, other.adapter_rank);
  one.kv_on_host = one.kv_on_host || other.kv_on_host;
  one.state_bytes = std::max(one.state_bytes, other.state_bytes);
  one.snapshot_pages = std::max(one.snapshot_pages, other.snapshot_pages);
  one.snapshot_every = std::max(one.snapshot_every, other.snapshot_every);
  if (!one.keeps_kv) return one;
  if (slabs) {
    one.rows = std::min(one.rows, one.pages / one.pages_per_row());
    one.pages = one.rows * one.pages_per_row();
  } else {
    const std::int64_t useful = std::int64_t{one.rows} * one.pages_per_row();
    one.pages = static_cast<std::int32_t>(std::min<std::int64_t>(one.pages, useful));
  }
  return one;
}

}  // namespace weft
