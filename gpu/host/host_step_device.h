#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/step_device.h"
#include "weft/sampling/sampler.h"

namespace weft {

/// The host as a device of the pipeline: a HostDevice and, for each row, page table, last token and
/// sampler. Everything is allocated when it is made.
class HostStepDevice final : public StepDevice {
 public:
  /// `device` was made with step_options(`limits`). `end_tokens` are the model's, for samplers.
  HostStepDevice(std::unique_ptr<HostDevice> device, const DeviceLimits& limits,
                 std::vector<TokenId> end_tokens);
  ~HostStepDevice() override;

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return limits_; }
  void run(const Plan& plan, StepResult& result) override;

  /// Another one with the same weights.
  [[nodiscard]] Result<std::unique_ptr<HostStepDevice>> share_weights(const DeviceLimits& limits,
                                                                      DType kv_dtype,
                                                                      int threads) const;

 private:
  struct Row;

  [[nodiscard]] Row& row(std::int32_t index) { return *rows_[static_cast<std::size_t>(index)]; }
  void change_rows(const Plan& plan);
  void start(const Plan& plan, const PlanStart& start);
  void encode(const Plan& plan);
  void decode(const Plan& plan);
  void choose(const Plan& plan, StepResult& result);
  void choose_one(const Plan& plan, StepResult& result, std::size_t index, SamplerScratch& scratch,
                  std::vector<float>& copy);
  [[nodiscard]] bool shares_logits(const Plan& plan, std::size_t index) const;

  std::unique_ptr<HostDevice> device_;
  const DeviceLimits limits_;
  const std::vector<TokenId> end_tokens_;
  std::vector<std::unique_ptr<Row>> rows_;
  std::vector<SamplerScratch> scratches_;   // one a thread
  std::vector<std::vector<float>> copies_;  // one a thread: logits that several rows draw from
  std::vector<std::int32_t> encoder_pages_;

  // The step under way.
  std::vector<TokenId> ids_;
  std::vector<StepSequence> sequences_;
  std::vector<std::int32_t> outputs_;
  std::vector<std::int32_t> output_of_entry_;
};

}  // namespace weft
