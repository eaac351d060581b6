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

/// The host as a device of the pipeline, or a rank on the host: a HostDevice, what a PlanReader
/// keeps and, where tokens are chosen, for each of its slots a sampler. Everything is allocated
/// when it is made.
///
/// It verifies guesses (PlanEntry::guesses) by choosing as without them (verify_guesses.h).
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

  /// Keeps pages in these files, which are of its memory (HostDevice::page_blocks), from now on.
  void use(std::shared_ptr<PageFiles> files) { files_ = std::move(files); }
  [[nodiscard]] std::vector<PageBlock> page_blocks() const { return device_->page_blocks(); }

  /// Guesses by this drafter from now on, at most limits().guesses tokens of a row. Without one it
  /// makes no guesses.
  void use(std::unique_ptr<Drafter> drafter) { reader_.use(std::move(drafter)); }

  /// Another one with the same weights, and no drafter.
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
  const bool chooses_;       // the same of a model that has logits
  const bool hears_tokens_;  // another rank chooses the tokens that this one is fed
  PlanReader reader_;
  std::optional<RankTokens> tokens_;        // of a rank
  std::vector<Sampler> samplers_;           // by slot, where tokens are chosen
  std::vector<SamplerScratch> scratches_;   // one a thread
  std::vector<std::vector<float>> copies_;  // one a thread: logits that several rows draw from
  MaskWorkers mask_workers_;                // to which samplers are lent while a step computes

  std::shared_ptr<PageFiles> files_;

  // The step under way.
  std::vector<TokenId> ids_;
  std::vector<StepSequence> sequences_;
};

}  // namespace weft
