#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/gpu/cuda/cuda_device.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/plan_reader.h"
#include "weft/gpu/step_device.h"
#include "weft/sampling/sampler.h"

namespace weft::cuda {

/// A GPU as a device of the pipeline. What stands in a row lies in a slot of the device's memory
/// (PlanReader), so a shuffle moves nothing but numbers (KV in slabs moves in one batched copy).
///
/// A step goes through one stream: what changed (tables, copies, beginnings), then the forward
/// pass, recorded as one graph for each bucket of rows where all rows decode, then the choices,
/// which the device writes into the host's memory before it raises the step's flag. Chosen tokens
/// stay on the device for the next step. Strategies that the device has not are done on the host,
/// for those rows alone.
///
/// run() waits for its step: asleep for most of what the last such step took, then awake.
class CudaStepDevice final : public StepDevice {
 public:
  /// `device` was made with step_options(`limits`). Records the graphs. kDriver, kOutOfMemory.
  [[nodiscard]] static Result<std::unique_ptr<CudaStepDevice>> make(
      std::unique_ptr<CudaDevice> device, const DeviceLimits& limits,
      std::vector<TokenId> end_tokens);
  ~CudaStepDevice() override;

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return limits_; }
  void run(const Plan& plan, StepResult& result) override;

  /// For who measures parts of a step.
  [[nodiscard]] CudaDevice& device() noexcept { return *device_; }

 private:
  struct SlotSampler;
  struct Recorded {
    std::int64_t rows = 0;
    OwnedGraph graph;
    Duration took{};
  };

  CudaStepDevice(std::unique_ptr<CudaDevice> device, const DeviceLimits& limits,
                 std::vector<TokenId> end_tokens);

  void take_memory();
  void record();
  void run_step(const Plan& plan, StepResult& result);
  [[noreturn]] void give_up(const Failure& failure);
  void change_rows(const Plan& plan);
  void start(const Plan& plan, const PlanStart& start);
  void encode(const Plan& plan);
  void write_entries(const Plan& plan);
  void fork(const PlanFork& fork);
  void copy_pages(std::span<const PlanCopy> copies);
  Recorded* forward(const Plan& plan);
  void choose();
  void wait(Recorded* recorded);
  void tell(StepResult& result);
  void choose_on_host(std::size_t index, StepResult& result);
  [[nodiscard]] Sampler& sampler_of(std::int32_t slot);
  void upload_settings(std::int32_t slot);
  [[nodiscard]] Recorded* recorded_for(std::int64_t rows);
  [[nodiscard]] std::int64_t bucket(std::int64_t rows);

  std::unique_ptr<CudaDevice> device_;
  const DeviceLimits limits_;
  const std::vector<TokenId> end_tokens_;
  PlanReader reader_;
  std::vector<SlotSampler> samplers_;  // by slot
  OwnedPinned pinned_;
  // In pinned_.
  std::uint64_t* flag_ = nullptr;
  SampleChoice* choices_ = nullptr;     // [rows]
  SampleSettings* settings_ = nullptr;  // [rows], by slot
  SampleLists* lists_ = nullptr;        // [rows], by slot
  float* logits_ = nullptr;             // [V], of a row that is chosen on the host
  std::vector<Recorded> recorded_;
  SamplerScratch scratch_;
  std::vector<PageCopy> copies_;  // of one call of copy_pages()
};

}  // namespace weft::cuda
