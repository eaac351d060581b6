#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/gpu/cuda/cuda_device.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/step/host_logits.h"
#include "weft/gpu/cuda/step/mask_upload.h"
#include "weft/gpu/cuda/step/page_swapper.h"
#include "weft/gpu/cuda/step/recorded_steps.h"
#include "weft/gpu/files/page_files.h"
#include "weft/gpu/plan_reader.h"
#include "weft/gpu/ranks/rank_tokens.h"
#include "weft/gpu/step_device.h"
#include "weft/sampling/drafters/drafter.h"
#include "weft/sampling/mask_workers.h"
#include "weft/sampling/sampler.h"

namespace weft::cuda {

/// A GPU as a device of the pipeline. A row's state lies in a slot of the device's memory
/// (PlanReader), so a shuffle moves only slot numbers (KV in slabs moves in one batched copy).
///
/// A step goes through one stream: changed tables, copies and beginnings; then the forward pass,
/// recorded as one graph for each bucket of rows where all rows decode; then the choices, which the
/// device writes into the host's memory before it raises the step's flag. Chosen tokens stay on the
/// device for the next step. The host chooses for rows with a strategy that the device lacks. For
/// rows with a constraint the device chooses among the tokens that their masks allow; the host
/// makes masks while the device computes (MaskWorkers) and uploads them before the choice.
///
/// Where ranks share the head a step has two forms, both recorded for each bucket. Either all
/// logits go to the rank that chooses, or only ToldPart's numbers about them. Each rank sees the
/// form in the plan: it is the second where that is enough for all rows (LogitNeeds).
///
/// Guesses are verified by choosing as without them (verify_guesses.h says why that is exact). An
/// entry with guesses has a row of logits and a choice behind its last token and behind each guess,
/// all made at once, each by its position's random number. run() then takes as many choices as
/// guesses were right, and the next one. It knows the tokens of one step before it writes the next,
/// so where guesses are made the host feeds each slot's last token: on the device the choices of a
/// slot overwrite one another. A wrong guess leaves keys and values behind the end of its sequence,
/// which the next step overwrites. Choices that depend on guesses before them (constraints,
/// penalties) have none (DeviceLimits::chooses_at_once). Choices made by the host are made one
/// after the other. Only a whole model on one GPU has guesses.
///
/// run() waits for its step: asleep for most of what the last such step took, then awake.
///
/// A rank takes tokens that another GPU chose from that GPU's memory, where embeddings read them,
/// without the host. The host carries only what goes to or from ranks on the host (HostStream). A
/// rank sends tokens that it chose from a copy and on a stream of their own: the receivers may be
/// behind, and no step waits for them.
class CudaStepDevice final : public StepDevice {
 public:
  /// `device` was made with step_options(`limits`). Records the graphs. kDriver, kOutOfMemory.
  [[nodiscard]] static Result<std::unique_ptr<CudaStepDevice>> make(
      std::unique_ptr<CudaDevice> device, const DeviceLimits& limits,
      std::vector<TokenId> end_tokens);
  /// The first half of make(), for ranks: all take their memory, then all CudaDevice::join(), then
  /// all record(). No rank may ask for memory while another's work waits for it.
  [[nodiscard]] static Result<std::unique_ptr<CudaStepDevice>> prepare(
      std::unique_ptr<CudaDevice> device, const DeviceLimits& limits,
      std::vector<TokenId> end_tokens);
  [[nodiscard]] Result<void> record();
  ~CudaStepDevice() override;

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return limits_; }
  void run(const Plan& plan, StepResult& result) override;
  [[nodiscard]] bool samples() const noexcept override { return samples_; }
  void abandon() noexcept override { device_->abandon(); }
  [[nodiscard]] std::shared_ptr<PageFiles> page_files() const override { return files_; }
  [[nodiscard]] Result<std::shared_ptr<const DeviceAdapter>> prepare_adapter(
      const Adapter& adapter) const override;

  /// The device's pages as PageFiles sees them; `runtime` is a second runtime of the same GPU.
  /// Errors of CudaPageMemory::make().
  [[nodiscard]] Result<std::unique_ptr<PageMemory>> page_memory(
      std::unique_ptr<Runtime> runtime) const;
  /// Keeps pages in these files, which are of its page_memory(), from now on.
  void use(std::shared_ptr<PageFiles> files) { files_ = std::move(files); }

  /// Guesses by this drafter from now on, at most limits().guesses tokens of a row. Without one it
  /// makes no guesses.
  void use(std::unique_ptr<Drafter> drafter) { reader_.use(std::move(drafter)); }

  /// For measuring parts of a step.
  [[nodiscard]] CudaDevice& device() noexcept { return *device_; }

 private:
  struct SlotSampler;

  CudaStepDevice(std::unique_ptr<CudaDevice> device, const DeviceLimits& limits,
                 std::vector<TokenId> end_tokens);

  void take_memory();
  void take_told();
  void connect_tokens();
  void run_step(const Plan& plan, StepResult& result);
  [[noreturn]] void give_up(const Failure& failure);
  void change_rows(const Plan& plan);
  void load_adapters(const Plan& plan);
  [[nodiscard]] std::int32_t use_adapter(const SlotState& slot);
  void start(const Plan& plan, const PlanStart& start);
  void encode(const Plan& plan);
  void write_entries(const Plan& plan);
  void write_choices(const Plan& plan);
  void fork(const PlanFork& fork);
  void copy_pages(std::span<const PlanCopy> copies);
  RecordedSteps::Step* forward(const Plan& plan);
  [[nodiscard]] std::int64_t output_bucket();
  void hear_tokens();
  void tell_tokens();
  void prepare_masks();
  void bring_masks();
  [[nodiscard]] bool chooses_on_host() const;
  void choose();
  void wait(RecordedSteps::Step* recorded);
  void tell(StepResult& result);
  TokenId tell_one(std::size_t index, std::size_t right, StepResult& result);
  TokenId choose_on_host(std::size_t index, std::size_t right, TokenId guess, StepResult& result);
  [[nodiscard]] Sampler& sampler_of(std::int32_t slot);
  void upload_settings(std::int32_t slot);

  std::unique_ptr<CudaDevice> device_;
  const DeviceLimits limits_;
  const std::vector<TokenId> end_tokens_;
  const bool samples_;
  const bool whole_;  // an encoder alone: each entry is a whole sequence, in the encoder's pages
  const bool hears_tokens_;  // another rank chooses the tokens that this one is fed
  std::uint64_t plans_ = 0;  // that were run, and of how many of them the tokens are known
  std::uint64_t heard_ = 0;
  PlanReader reader_;
  std::vector<SlotSampler> samplers_;  // by slot
  MaskWorkers mask_workers_;           // has samplers on loan while a step computes
  OwnedPinned pinned_;
  // In pinned_.
  std::uint64_t* flag_ = nullptr;
  SampleChoice* choices_ = nullptr;     // [CudaStepShape::choices]
  SampleSettings* settings_ = nullptr;  // [rows], by slot
  SampleLists* lists_ = nullptr;        // [rows], by slot
  // On a rank that chooses tokens.
  std::optional<HostLogits> host_logits_;
  std::optional<MaskUpload> masks_;
  bool tells_ = false;  // of this step's logits, which are not brought then
  // Exchanges chosen tokens with ranks on the host; empty where GPUs exchange them.
  std::optional<RankTokens> host_tokens_;
  // On a rank that sends its chosen tokens: copies of the last tokens, [stages + 1][rows].
  OwnedMemory told_;
  OwnedStream telling_;
  OwnedEvent chosen_;
  std::optional<PageSwapper> swapper_;  // where there are places in host memory
  std::shared_ptr<PageFiles> files_;
  RecordedSteps recorded_;
  SamplerScratch scratch_;
  std::vector<PageCopy> copies_;  // of one call of copy_pages()
};

}  // namespace weft::cuda
