#pragma once

#include <functional>
#include <utility>

#include "weft/actors/pipeline_observer.h"
#include "weft/schedule/scheduler.h"

namespace weft::test {

/// Checks the scheduler's invariants after each of its messages, and then calls `after`; and calls
/// `before`, which may throw, before each message of scheduler and detokenizer.
class CheckingObserver final : public PipelineObserver {
 public:
  explicit CheckingObserver(std::function<void()> before = {},
                            std::function<void(const Scheduler&)> after = {})
      : before_(std::move(before)), after_(std::move(after)) {}

  void before_message() override {
    if (before_) before_();
  }
  void after_message(const Scheduler& scheduler) override {
    scheduler.check_invariants();
    if (after_) after_(scheduler);
  }

 private:
  const std::function<void()> before_;
  const std::function<void(const Scheduler&)> after_;
};

}  // namespace weft::test
