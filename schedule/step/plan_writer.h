#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/kv_memory.h"
#include "weft/schedule/rows/row_table.h"
#include "weft/schedule/step/tick.h"

namespace weft {

/// Writes a tick's plan: makes the running rows contiguous, and for each sequence with a chunk
/// writes its start, page table, tokens and sample, and forks the sequences that share its prompt.
/// A plan's commands refer to rows as numbered after its moves.
///
/// After a call every chosen chunk is in the plan and `Sequence::chunk` is 0; `Tick::owners` has
/// the sequence of each sample, and groups and sequences count the sample as pending; `Tick::shape`
/// is the plan's shape.
///
/// Changes rows and memory according to the plan, and refers to groups only during a call. Owner
/// only. Allocates nothing if the tick was reserved (Tick::reserve names the exceptions).
class PlanWriter {
 public:
  PlanWriter(const DeviceLimits& limits, RowTable& rows, KvMemory& memory);

  /// Writes a plan that has only its number so far.
  void write(Tick& tick);
  /// Adds newly chosen chunks to a plan that waits for its device. Rows that it names may move.
  void write_more(Tick& tick);

  /// How many prompt tokens all plans have written, also if computed again.
  [[nodiscard]] std::uint64_t prompt_tokens() const noexcept { return prompt_tokens_; }

 private:
  void compact(Plan& plan);
  void write_chunks(Tick& tick);
  void write_entry(Tick& tick, Group& group, std::int32_t index);
  [[nodiscard]] std::int32_t write_tokens(Plan& plan, const Group& group, const Sequence& sequence);
  void write_outputs(Tick& tick, Group& group, std::int32_t index, std::int32_t entry);
  void fork(Plan& plan, Group& group);

  const DeviceLimits limits_;
  RowTable& rows_;
  KvMemory& memory_;
  std::uint64_t prompt_tokens_ = 0;
};

}  // namespace weft
