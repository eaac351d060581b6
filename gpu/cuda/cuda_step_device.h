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

/// A GPU as a device of the pipeline. A row's state is in a slot of the device's memory
/// (PlanReader), so a shuffle moves only slot numbers (KV in slabs moves in one batched copy).
///
/// A step goes through one stream: first changed tables, copies and beginnings of sequences, then
/// the forward pass, then the choices. The forward pass is recorded as one graph for each bucket of
/// rows if all rows decode. The device writes the choices into the host's memory and then raises
/// the step's flag. Chosen tokens stay on the device for the next step. The host chooses for rows
/// whose strategies the device lacks. For rows with a constraint the device chooses among the
/// tokens that their masks allow. The host makes the masks while the device computes (MaskWorkers)
/// and uploads them before the choice.
///
/// Where ranks share the head, a step has two forms, both recorded for each bucket. In the first
/// form all logits go to the rank that chooses; in the second only summaries of the logits
/// (ToldPart). Each rank derives the form from the plan: the second, if that is enough for all rows
/// (LogitNeeds).
///
/// Guesses are verified by choosing as without guesses (verify_guesses.h explains why that is
/// exact). An entry with guesses has a row of logits and a choice after its last token and after
/// each guess. All choices are made at once, each with its position's random number. run() then
/// takes one choice for each right guess, and one more. With guesses, run() knows the tokens of a
/// step before it writes the next step. The host then feeds each slot's last token, because the
/// choices of a slot overwrite one another on the device. A wrong guess leaves keys and values past
/// the end of its sequence, and the next step overwrites them. There are no guesses if a choice
/// depends on earlier guesses (constraints, penalties; DeviceLimits::chooses_at_once). The host
/// makes its choices one after the other. Only a whole model on one GPU has guesses.
///
/// run() waits for its step: first asleep, for most of the time that the last such step took, then
/// awake.
///
/// A rank takes tokens that another GPU chose directly from that GPU's memory to where embeddings
/// read them, without the host. The host carries only numbers that go to or come from ranks on the
/// host (HostStream). A rank sends the tokens that it chose from a copy and on a separate stream,
/// so that no step waits for receivers that are behind.
class CudaStepDevice final : public StepDevice {
 public:
  /// `device` was made with step_options(`limits`). Records the graphs. kDriver, kOutOfMemory.
  [[nodiscard]] static Result<std::unique_ptr<CudaStepDevice>> make(
      std::unique_ptr<CudaDevice> device, const DeviceLimits& limits,
      std::vector<TokenId> end_tokens);
  /// The first half of make(), for ranks. All ranks allocate their memory, then all call
  /// CudaDevice::join(), then all record(). No rank may allocate while another rank's work waits
  /// for it.
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

  /// Returns the device's pages for PageFiles. `runtime` is a second runtime of the same GPU.
  /// Errors of CudaPageMemory::make().
  [[nodiscard]] Result<std::unique_ptr<PageMemory>> page_memory(
      std::unique_ptr<Runtime> runtime) const;
  /// Keeps pages in these files from now on. The files were opened with this device's
  /// page_memory().
  void use(std::shared_ptr<PageFiles> files) { files_ = std::move(files); }

  /// Uses this drafter from now on, for at most limits().guesses tokens of a row. Without a drafter
  /// the device makes no guesses.
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
  // Whether the model is an encoder alone: each entry is a whole sequence, in the encoder's pages.
  const bool whole_;
  const bool hears_tokens_;  // whether another rank chooses the tokens that this rank is fed
  std::uint64_t plans_ = 0;  // plans that were run; next: plans whose tokens are known
  std::uint64_t heard_ = 0;
  PlanReader reader_;
  std::vector<SlotSampler> samplers_;  // by slot
  MaskWorkers mask_workers_;           // borrows samplers while a step computes
  OwnedPinned pinned_;
  // Points into pinned_.
  std::uint64_t* flag_ = nullptr;
  SampleChoice* choices_ = nullptr;     // [CudaStepShape::choices]
  SampleSettings* settings_ = nullptr;  // [rows], by slot
  SampleLists* lists_ = nullptr;        // [rows], by slot
  // Only on a rank that chooses tokens.
  std::optional<HostLogits> host_logits_;
  std::optional<MaskUpload> masks_;
  bool tells_ = false;  // whether this step sends summaries of logits (ToldPart) instead of logits
  // Exchanges chosen tokens with ranks on the host; empty if GPUs exchange them.
  std::optional<RankTokens> host_tokens_;
  // Only on a rank that sends its chosen tokens: copies of the last tokens, [stages + 1][rows].
  OwnedMemory told_;
  OwnedStream telling_;
  OwnedEvent chosen_;
  std::optional<PageSwapper> swapper_;  // null if there are no places for pages in host memory
  std::shared_ptr<PageFiles> files_;
  RecordedSteps recorded_;
  SamplerScratch scratch_;
  std::vector<PageCopy> copies_;  // copies of one call of copy_pages()
};

}  // namespace weft::cuda
