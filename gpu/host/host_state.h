#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "weft/core/mailbox/cache_line.h"
#include "weft/gpu/host/host_adapter.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/host/host_memory.h"
#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/host/member_choice.h"
#include "weft/gpu/host/rotary_table.h"
#include "weft/gpu/host/step_costs.h"
#include "weft/gpu/host/thread_team.h"
#include "weft/kernels/adapter/adapter_pair.h"
#include "weft/kernels/attention/kv_layer.h"
#include "weft/kernels/linear/linear.h"
#include "weft/kernels/share.h"
#include "weft/sampling/part_summary.h"

namespace weft {

class RankLink;

/// A KV cache: its layers are views of one piece of memory.
struct HostKv {
  HostMemory memory;
  std::vector<KvLayer> layers;

  [[nodiscard]] static Result<HostKv> allocate(std::span<const KvLayerPlan> layers, DType dtype,
                                               std::int32_t pages, std::int32_t page_tokens);
};

/// The data that a step's ops see besides the buffers. Sized once, filled for every step.
struct HostStep {
  std::span<const TokenId> ids;
  std::span<const std::int32_t> outputs;
  std::span<const LogitNeeds> needs;    ///< by output; may be empty
  std::vector<std::int32_t> positions;  ///< [T]
  /// [T] positions in tables; the long set of LongRoPE follows the short one.
  std::vector<std::int32_t> long_positions;
  std::vector<std::int32_t> types;         ///< [T] token types
  std::vector<SequenceSpan> spans;         ///< over a sequence's own KV
  std::vector<SequenceSpan> cross_spans;   ///< over its encoder's KV
  std::vector<std::int32_t> adapter_rows;  ///< rows that have an adapter, grouped by place
  std::vector<std::int32_t> adapter_ends;  ///< by place: the end of its rows in adapter_rows
  std::vector<AdapterTask> adapter_tasks;  ///< over adapter_rows; empty: no row has an adapter
  // Routing of the layer that is currently computed.
  std::vector<std::int32_t> expert_of, starts, order, token_of, place_of;
  std::vector<float> weight_of;
  // On a rank that shares the head: the summary of its logits, [outputs][kPartNumbers]; on the
  // stage's first rank also the summaries of all ranks, [outputs][ranks][kPartNumbers], and the
  // corrections of logprobs, by output.
  std::vector<float> told, told_by_all, logprob_shifts;
  std::vector<Extent> told_columns;  ///< each rank's columns of told_by_all
};

/// A place for an adapter, and the adapter in it. The host uses a prepared adapter directly.
struct HostAdapterPlace {
  AdapterId id;
  std::shared_ptr<const HostAdapter> adapter;
};

/// The packed rows in a thread's workspace, and the product that they belong to.
struct alignas(kCacheLineBytes) ThreadProduct {
  const Op* op = nullptr;
  std::uint64_t run = 0;
  PackedBlock packed;
};

struct HostState {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Program> adapted;  ///< from attach_adapters(); null without places
  DeviceOptions options;
  std::shared_ptr<RankLink> link;  ///< the link to the other ranks; null: there are none
  std::unique_ptr<ThreadTeam> team;
  std::shared_ptr<const HostWeights> weights;
  std::vector<RotaryTable> rotary;
  HostKv self_kv, cross_kv, encoder_kv;
  HostMemory token_memory, output_memory, workspaces;
  std::size_t workspace_bytes = 0;  ///< bytes of one thread
  HostStep step;
  std::uint64_t runs = 0;               ///< runs of lists of ops: in each run an op has new inputs
  std::vector<ThreadProduct> products;  ///< by thread
  StepCosts encode_costs, decode_costs;
  StepCosts adapted_encode_costs, adapted_decode_costs;
  std::vector<HostAdapterPlace> adapter_places;
  std::optional<MemberChoice> members;  ///< chooses how many threads run a step
  BufferId result = kAbsent;

  /// Returns the program with the places of all buffers: an adapted program also has the base's
  /// buffers.
  [[nodiscard]] const Program& planned() const { return adapted ? *adapted : *program; }

  [[nodiscard]] HostKv& kv(KvGroup group);
  [[nodiscard]] std::int64_t rows_of(const BufferPlan& plan) const;
  [[nodiscard]] Rows rows(BufferId id) const;  ///< data null for kAbsent
  [[nodiscard]] std::span<std::byte> workspace(Share share) const;

  /// Returns the note of the rows that `share`'s thread has packed for `op`; empty if the thread's
  /// last product was another.
  [[nodiscard]] PackedBlock& packed_of(const Op& op, Share share);

  /// Runs one piece of one op.
  void run(const Op& op, Share share);
};

}  // namespace weft
