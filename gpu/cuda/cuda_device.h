#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/op_launcher.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/cuda/step/adapter_loads.h"
#include "weft/gpu/cuda/step/host_stream.h"
#include "weft/gpu/cuda/step/step_writer.h"
#include "weft/gpu/model_device.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft::cuda {

/// One model on one NVIDIA GPU. All memory is one arena, allocated at construction (Flover, section
/// 3.2). With DeviceOptions::kv_on_host the KV cache is in a second arena, of page-locked host
/// memory (Inferflow's kv placement). All work is in one stream. decode() and encode() run a step
/// that brings its own pages, for callers without a pipeline; CudaStepDevice uses the other
/// functions. A refused call throws Failure. One thread at a time, and the GPU becomes that
/// thread's. If the device is a rank of its model, all ranks run the same steps at once.
class CudaDevice final : public ModelDevice {
 public:
  /// kOutOfMemory, kDriver; errors of reading the checkpoint's files.
  [[nodiscard]] static Result<std::unique_ptr<CudaDevice>> load(
      std::unique_ptr<Runtime> runtime, std::shared_ptr<const Checkpoint> checkpoint,
      std::shared_ptr<const Program> program, const DeviceOptions& options, const Tuning& tuning,
      const LoadProgress& progress = {});

  /// Returns the bytes of GPU memory that a device with `options` takes, weights included.
  [[nodiscard]] static std::int64_t memory_bytes(const Program& program,
                                                 const DeviceOptions& options,
                                                 const Properties& properties);
  /// Returns the bytes of host memory that the KV cache takes; 0 if the cache is in the GPU's
  /// memory.
  [[nodiscard]] static std::int64_t host_bytes(const Program& program, const DeviceOptions& options,
                                               const Properties& properties);

  ~CudaDevice() override;

  /// Thread-safe. Errors of CudaAdapter::make().
  [[nodiscard]] Result<PreparedAdapter> prepare_adapter(const Adapter& adapter) const override;
  /// Waits for the copy.
  void place_adapter(std::int32_t place, const PreparedAdapter& adapter) override;

  void decode(const Step& step) override;
  void encode(const Step& step) override;
  [[nodiscard]] Rows results() override;
  [[nodiscard]] Rows hidden_states(std::int32_t first, std::int32_t count) override;
  [[nodiscard]] Rows logits_of(std::span<const std::int32_t> rows) override;
  void abandon() noexcept override;
  [[nodiscard]] const Program& program() const override { return *program_; }
  [[nodiscard]] const DeviceOptions& options() const override { return options_; }

  [[nodiscard]] Runtime& runtime() noexcept { return *runtime_; }
  [[nodiscard]] Stream stream() const noexcept { return stream_.get(); }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] const CudaStepShape& shape() const noexcept { return shape_; }
  [[nodiscard]] StepWriter& writer() noexcept { return *writer_; }
  /// Returns null if there are no places for adapters.
  [[nodiscard]] AdapterLoads* adapter_loads() noexcept { return adapter_loads_.get(); }

  /// Resolves the tokens of the last uploaded step and launches the ops of `list`, a list of
  /// program(). If StepView::adapts, it launches the same list of the adapted program.
  void launch(const OpList& list, const StepView& view);
  /// Launches only those ops of a decode step that compute logits.
  void launch_head(const StepView& view);
  /// Makes this GPU the calling thread's.
  void use();
  void synchronize();

  /// Makes the device a rank of its model, which holds one part of the model. All ranks call join()
  /// at once, each on its own thread. kDriver.
  [[nodiscard]] Result<void> join(const CudaRank& place);
  /// Sets the link to the ranks on the host, if there are any. Call it before join(). kDriver.
  [[nodiscard]] Result<void> meet(HostNeighbours neighbours);
  /// Returns null if all ranks are GPUs.
  [[nodiscard]] const HostNeighbours* host_neighbours() const noexcept;
  [[nodiscard]] bool is_rank() const noexcept { return is_rank_; }
  /// Ends all work that waits for other ranks, now and later. Owner only.
  void leave() noexcept { runtime_->leave(); }

  /// Later launches use `tuning`; recorded graphs do not change. For comparing tunings.
  void set_tuning(const Tuning& tuning) { tuning_ = tuning; }

  /// Encodes a step whose sequences and tables have been written, and waits for it.
  void encode_written();

  // Exchange the stream of `rows` tokens with ranks on the host; without such ranks they do
  // nothing.
  void receive_stream(const OpList& list, std::int64_t rows);  ///< call it before launching the ops
  void take_stream(const OpList& list, std::int64_t rows);     ///< call it after launching the ops
  void send_stream();                                          ///< call it when the ops are done

 private:
  CudaDevice(std::unique_ptr<Runtime> runtime, std::shared_ptr<const Checkpoint> checkpoint,
             std::shared_ptr<const Program> program, const DeviceOptions& options,
             const Tuning& tuning);

  /// The program and layout that a step launches.
  struct Forward {
    const Program& program;
    const Layout& layout;
  };
  [[nodiscard]] Forward forward(const StepView& view) const;

  [[nodiscard]] Result<void> take_memory(const LoadProgress& progress);
  [[nodiscard]] std::int32_t place_of(const AdapterId& adapter) const;
  void clear(std::byte* memory, std::size_t bytes);
  void write_step(const Step& step, bool encodes);
  /// Returns the view with the options' settings.
  [[nodiscard]] StepView as_asked(StepView view) const;
  Rows copy_to_host(BufferId buffer, std::int64_t first, std::int64_t count,
                    std::vector<float>& to);
  [[nodiscard]] std::span<const std::int32_t> first_pages(std::span<const std::int32_t> pages,
                                                          std::int32_t tokens) const;

  std::unique_ptr<Runtime> runtime_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<const Program> program_;
  DeviceOptions options_;
  std::shared_ptr<const Program> adapted_;  // null if there are no places for adapters
  Tuning tuning_;
  CudaStepShape shape_;
  OwnedMemory memory_;
  OwnedPinned kv_memory_;  // the KV cache if it is in host memory
  OwnedStream stream_;
  Layout layout_;
  Layout adapted_layout_;  // for adapted_: layout_ with the adapted program's buffers
  std::unique_ptr<StepWriter> writer_;
  std::unique_ptr<AdapterLoads> adapter_loads_;
  std::vector<AdapterId> adapters_;  // by place; set by place_adapter()
  std::unique_ptr<HostStream> host_stream_;
  bool is_rank_ = false;
  BufferId result_ = kAbsent;
  std::int64_t result_rows_ = 0;
  std::vector<float> results_;
  std::vector<float> hidden_states_;  // buffer of hidden_states()
};

}  // namespace weft::cuda
