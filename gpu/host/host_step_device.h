#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/files/page_files.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/plan_reader.h"
#include "weft/gpu/ranks/rank_tokens.h"
#include "weft/gpu/step_device.h"
#include "weft/sampling/mask_workers.h"
#include "weft/sampling/sampler.h"

namespace weft {

/// The host as a device of the pipeline, or a rank on the host: a HostDevice, a PlanReader's state
/// and, if it chooses tokens, a sampler for each slot. The constructor allocates everything.
///
/// It verifies guesses (PlanEntry::guesses) by choosing as without guesses (verify_guesses.h).
class HostStepDevice final : public StepDevice {
 public:
  /// `device` was made with step_options(`limits`). `end_tokens` are the model's, for samplers.
  HostStepDevice(std::unique_ptr<HostDevice> device, const DeviceLimits& limits,
                 std::vector<TokenId> end_tokens);
  ~HostStepDevice() override;

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return limits_; }
  void run(const Plan& plan, StepResult& result) override;
  [[nodiscard]] bool samples() const noexcept override { return samples_; }
  [[nodiscard]] bool lets_train() const noexcept override { return true; }
  void abandon() noexcept override { device_->abandon(); }
  [[nodiscard]] Result<std::shared_ptr<const DeviceAdapter>> prepare_adapter(
      const Adapter& adapter) const override;
  [[nodiscard]] std::shared_ptr<PageFiles> page_files() const override { return files_; }

  /// Keeps pages in these files from now on. The files were opened with this device's pages
  /// (HostDevice::page_blocks).
  void use(std::shared_ptr<PageFiles> files) { files_ = std::move(files); }
  [[nodiscard]] std::vector<PageBlock> page_blocks() const { return device_->page_blocks(); }

  /// Uses this drafter from now on, for at most limits().guesses tokens of a row. Without a drafter
  /// the device makes no guesses.
  void use(std::unique_ptr<Drafter> drafter) { reader_.use(std::move(drafter)); }

  /// Makes another device with the same weights, and without a drafter.
  [[nodiscard]] Result<std::unique_ptr<HostStepDevice>> share_weights(const DeviceLimits& limits,
                                                                      DType kv_dtype,
                                                                      int threads) const;

 private:
  void run_step(const Plan& plan, StepResult& result);
  void change_rows(const Plan& plan);
  void place_adapters(const Plan& plan, StepResult& result);
  void copy_pages(std::span<const PlanCopy> copies);
  void start(const Plan& plan, const PlanStart& start);
  void add(const SlotTokens& tokens);
  void encode(const Plan& plan);
  void decode(const Plan& plan);
  void prepare_choices();
  void choose(StepResult& result);
  void choose_one(StepResult& result, std::size_t index, SamplerScratch& scratch,
                  std::vector<float>& copy);

  std::unique_ptr<HostDevice> device_;
  const DeviceLimits limits_;
  const std::vector<TokenId> end_tokens_;
  const bool samples_;
  const bool chooses_;       // whether it chooses tokens, and the model has logits
  const bool hears_tokens_;  // whether another rank chooses the tokens that this rank is fed
  PlanReader reader_;
  std::optional<RankTokens> tokens_;       // set on a rank only
  std::vector<Sampler> samplers_;          // by slot, if tokens are chosen here
  std::vector<SamplerScratch> scratches_;  // one for each thread
  // One for each thread: logits that several rows draw from.
  std::vector<std::vector<float>> copies_;
  MaskWorkers mask_workers_;  // borrows samplers while a step computes

  std::shared_ptr<PageFiles> files_;

  // The current step.
  std::vector<TokenId> ids_;
  std::vector<StepSequence> sequences_;
};

}  // namespace weft
