#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/request/active_request.h"
#include "weft/actors/request/request.h"
#include "weft/actors/stepper/step_output.h"

namespace weft {

/// The outputs of a Stepper's requests since the last take(). Owner only.
class StepOutputs {
 public:
  /// Begins a step, with room for so many requests, so that adding one allocates nothing.
  void begin(std::size_t requests) {
    all_ = {};
    all_.reserve(requests);
    ++step_;
    open_ = true;
  }
  /// Ends the step; output until the next begin() is dropped.
  [[nodiscard]] std::vector<StepOutput> take() noexcept {
    open_ = false;
    return std::move(all_);
  }

  [[nodiscard]] bool open() const noexcept { return open_; }
  [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
  std::size_t add(RequestId id) noexcept {
    all_.push_back({.id = id});
    return all_.size() - 1;
  }
  [[nodiscard]] StepOutput& at(std::size_t place) noexcept { return all_[place]; }

 private:
  std::vector<StepOutput> all_;
  std::uint64_t step_ = 0;
  bool open_ = false;
};

/// Puts a request's output into the step's outputs.
class StepSink final : public RequestSink {
 public:
  /// `outputs` outlives the sink.
  StepSink(RequestId id, StepOutputs& outputs) : id_(id), outputs_(outputs) {}

  /// Sets the request, which owns this sink and is not owned by it.
  void set_request(const std::shared_ptr<ActiveRequest>& request) noexcept { request_ = request; }

  void let_pass(std::shared_ptr<const std::vector<std::string>> not_enforced) noexcept override {
    not_enforced_ = std::move(not_enforced);
  }
  void deliver(const DeltaView& delta) noexcept override;
  void finish(Finish&& finish) noexcept override;

 private:
  [[nodiscard]] StepOutput& mine() noexcept;

  const RequestId id_;
  StepOutputs& outputs_;
  std::weak_ptr<ActiveRequest> request_;
  std::shared_ptr<const std::vector<std::string>> not_enforced_;
  std::uint64_t step_ = 0;  // the step that place_ belongs to
  std::size_t place_ = 0;
  bool lost_ = false;  // a delta could not be kept, so later ones are dropped
};

}  // namespace weft
