#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/kv_memory.h"
#include "weft/schedule/rows/row_table.h"
#include "weft/schedule/step/tick.h"

namespace weft {

/// Writes down in a tick's plan what the running sequences feed: it makes their rows contiguous,
/// and for each sequence with a chunk writes its start, page table, tokens and sample, and forks
/// those that share its prompt. The commands of a plan refer to rows as they are after its moves.
///
/// What holds after a call: every chosen chunk is in the plan and `Sequence::chunk` is 0;
/// `Tick::owners` names for each sample whom it is for, and the groups and sequences count it as
/// under way; `Tick::shape` is that of the plan.
///
/// Changes rows and memory as the plan says, and refers to groups during a call alone. Owner only.
/// Allocates nothing when the tick has been reserved (Tick::reserve says what may grow).
class PlanWriter {
 public:
  PlanWriter(const DeviceLimits& limits, RowTable& rows, KvMemory& memory);

  /// Writes a plan that is empty but for its number.
  void write(Tick& tick);
  /// Adds to a plan that waits for its device what was chosen since. Rows that it names may move.
  void write_more(Tick& tick);

  /// How many tokens of prompts were written in all plans, those computed again included.
  [[nodiscard]] std::uint64_t prompt_tokens() const noexcept { return prompt_tokens_; }

 private:
  void compact(Plan& plan);
  void write_chunks(Tick& tick);
  void write_entry(Tick& tick, Group& group, std::int32_t index);
  [[nodiscard]] std::int32_t write_tokens(Plan& plan, const Group& group, const Sequence& sequence);
  void write_outputs(Tick& tick, Group& group, std::int32_t index, std::int32_t entry);
  void fork(Plan& plan, Group& group);

  const std::int64_t window_;
  RowTable& rows_;
  KvMemory& memory_;
  std::uint64_t prompt_tokens_ = 0;
};

}  // namespace weft
