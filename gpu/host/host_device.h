#pragma once

#include <cstdint>
#include <memory>

#include "weft/core/error/error.h"
#include "weft/gpu/files/page_files.h"
#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/model_device.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/program.h"

namespace weft {

struct HostState;
class RankLink;
class ThreadTeam;

/// One model on the host's processors. Runs one fused step at a time, on a team of threads; nothing
/// is allocated in a step. A row's result does not depend on what else is in the step, bit for bit.
/// One thread at a time may call; results are valid until the next step.
class HostDevice final : public ModelDevice {
 public:
  /// Loads the weights of `program`, which `checkpoint` must be the source of. Both are kept, and
  /// the checkpoint's files are not read any more. A part of a model needs the link to its other
  /// ranks. kNoMemory, kOutOfMemory; errors of reading them.
  [[nodiscard]] static Result<std::unique_ptr<HostDevice>> load(
      std::shared_ptr<const Checkpoint> checkpoint, std::shared_ptr<const Program> program,
      const DeviceOptions& options, const LoadProgress& progress = {},
      std::shared_ptr<RankLink> link = {}, LoadBeside beside = LoadBeside::kNobody);

  /// Makes a device with the weights of another one of this very program. kOutOfMemory.
  [[nodiscard]] static Result<std::unique_ptr<HostDevice>> with_weights(
      std::shared_ptr<const Checkpoint> checkpoint, std::shared_ptr<const Program> program,
      std::shared_ptr<const HostWeights> weights, const DeviceOptions& options);

  /// Another device for the same model: it has KV, buffers and threads of its own, and the weights
  /// of this one. kOutOfMemory.
  [[nodiscard]] Result<std::unique_ptr<HostDevice>> share_weights(
      const DeviceOptions& options) const;

  /// Bytes that a device of `options` takes beside its weights, and of those what each page of the
  /// decoder's KV takes.
  [[nodiscard]] static std::int64_t memory_bytes(const Program& program,
                                                 const DeviceOptions& options);
  [[nodiscard]] static std::int64_t page_bytes(const Program& program,
                                               const DeviceOptions& options);

  ~HostDevice() override;

  /// The host uses an adapter where it was prepared.
  [[nodiscard]] Result<PreparedAdapter> prepare_adapter(const Adapter& adapter) const override;
  void place_adapter(std::int32_t place, const PreparedAdapter& adapter) override;

  void decode(const Step& step) override;
  void encode(const Step& step) override;
  [[nodiscard]] Rows results() override;
  [[nodiscard]] Rows hidden_states(std::int32_t first, std::int32_t count) override;
  [[nodiscard]] Rows logits_of(std::span<const std::int32_t> rows) override;

  [[nodiscard]] const std::shared_ptr<const HostWeights>& weights() const;

  /// To the other ranks of its model; null where it has the whole.
  [[nodiscard]] RankLink* link();
  void abandon() noexcept override;

  /// What the logprobs lack that are computed by an output's logits: see join_parts(). 0 where they
  /// are all there.
  [[nodiscard]] float logprob_shift(std::int32_t output) const;

  /// Copies a page of the decoder's KV, in all layers, over another.
  void copy_page(std::int32_t from, std::int32_t to);

  /// Where the pages of the decoder's KV lie.
  [[nodiscard]] std::vector<PageBlock> page_blocks() const;

  /// The threads that run the steps, for what is done between two of them.
  [[nodiscard]] ThreadTeam& team();

  [[nodiscard]] const Program& program() const override;
  [[nodiscard]] const DeviceOptions& options() const override;
  [[nodiscard]] int threads() const;

 private:
  explicit HostDevice(std::unique_ptr<HostState> state);

  std::unique_ptr<HostState> state_;
};

}  // namespace weft
