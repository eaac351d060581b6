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

/// One model on the host's processors. Runs one fused step at a time, on a team of threads, and
/// allocates nothing in a step. A row's result does not depend on the other rows of the step, bit
/// for bit. One thread at a time may call; results are valid until the next step.
class HostDevice final : public ModelDevice {
 public:
  /// Loads the weights of `program`, which was compiled from `checkpoint`. Keeps both; the
  /// checkpoint's files are not read later. A part of a model needs the link to its other ranks.
  /// kNoMemory, kOutOfMemory; errors of reading the files.
  [[nodiscard]] static Result<std::unique_ptr<HostDevice>> load(
      std::shared_ptr<const Checkpoint> checkpoint, std::shared_ptr<const Program> program,
      const DeviceOptions& options, const LoadProgress& progress = {},
      std::shared_ptr<RankLink> link = {}, LoadBeside beside = LoadBeside::kNobody);

  /// Makes a device with the weights of another device of the same program object. kOutOfMemory.
  [[nodiscard]] static Result<std::unique_ptr<HostDevice>> with_weights(
      std::shared_ptr<const Checkpoint> checkpoint, std::shared_ptr<const Program> program,
      std::shared_ptr<const HostWeights> weights, const DeviceOptions& options);

  /// Makes another device for the same model: with its own KV, buffers and threads, and with this
  /// device's weights. kOutOfMemory.
  [[nodiscard]] Result<std::unique_ptr<HostDevice>> share_weights(
      const DeviceOptions& options) const;

  /// Returns the bytes that a device with `options` takes beside its weights. page_bytes() returns
  /// how many of these each page of the decoder's KV takes.
  [[nodiscard]] static std::int64_t memory_bytes(const Program& program,
                                                 const DeviceOptions& options);
  [[nodiscard]] static std::int64_t page_bytes(const Program& program,
                                               const DeviceOptions& options);

  ~HostDevice() override;

  /// The host uses a prepared adapter directly, without copying it into a place.
  [[nodiscard]] Result<PreparedAdapter> prepare_adapter(const Adapter& adapter) const override;
  void place_adapter(std::int32_t place, const PreparedAdapter& adapter) override;

  void decode(const Step& step) override;
  void encode(const Step& step) override;
  [[nodiscard]] Rows results() override;
  [[nodiscard]] Rows hidden_states(std::int32_t first, std::int32_t count) override;
  [[nodiscard]] Rows logits_of(std::span<const std::int32_t> rows) override;

  [[nodiscard]] const std::shared_ptr<const HostWeights>& weights() const;

  /// Returns the link to the other ranks of the model; null if this device has the whole model.
  [[nodiscard]] RankLink* link();
  void abandon() noexcept override;

  /// Returns the correction to add to logprobs computed from an output's logits: see join_parts().
  /// 0 if all logits are there.
  [[nodiscard]] float logprob_shift(std::int32_t output) const;

  /// Copies a page of the decoder's KV over another, in all layers.
  void copy_page(std::int32_t from, std::int32_t to);

  /// Returns where the pages of the decoder's KV are.
  [[nodiscard]] std::vector<PageBlock> page_blocks() const;

  /// Returns the threads that run the steps, for work between two steps.
  [[nodiscard]] ThreadTeam& team();

  [[nodiscard]] const Program& program() const override;
  [[nodiscard]] const DeviceOptions& options() const override;
  [[nodiscard]] int threads() const;

 private:
  explicit HostDevice(std::unique_ptr<HostState> state);

  std::unique_ptr<HostState> state_;
};

}  // namespace weft
