#pragma once

namespace weft {

class Scheduler;

/// Watches the actors of a pipeline from within their turns: to trace them, to check what they
/// keep, or to let one fail. An exception that is thrown here counts as the actor's own, and
/// supervision decides what becomes of it.
///
/// The scheduler's and the detokenizer's threads call it, each for its own actor, so an observer
/// that keeps state must be thread-safe; several replicas have one of each.
/// What it does delays the tick.
class PipelineObserver {
 public:
  PipelineObserver() = default;
  PipelineObserver(const PipelineObserver&) = delete;
  PipelineObserver& operator=(const PipelineObserver&) = delete;
  virtual ~PipelineObserver() = default;

  /// Called when a scheduler or a detokenizer is about to handle a message.
  virtual void before_message() {}
  /// Called when a scheduler has handled a message and made its next plans.
  virtual void after_message(const Scheduler& /*scheduler*/) {}
};

}  // namespace weft
