#pragma once

#include <functional>
#include <utility>

#include "weft/actors/pipeline_observer.h"
#include "weft/schedule/scheduler.h"

namespace weft::test {

/// Checks the scheduler's invariants after each of its messages, and calls `before`, which may
/// throw, before each message of scheduler and detokenizer.
class CheckingObserver final : public PipelineObserver {
 public:
  explicit CheckingObserver(std::function<void()> before = {}) : before_(std::move(before)) {}

  void before_message() override {
    if (before_) before_();
  }
  void after_message(const Scheduler& scheduler) override { scheduler.check_invariants(); }

 private:
  const std::function<void()> before_;
};

}  // namespace weft::test
