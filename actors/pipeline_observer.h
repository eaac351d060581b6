#pragma once

namespace weft {

class Scheduler;

/// Observes the actors of a pipeline from within their turns: to trace them, to check their state,
/// or to make one fail. An exception thrown here counts as the actor's own, and supervision decides
/// what happens.
///
/// The threads of scheduler and detokenizer, of which each replica has one, call it for
/// their own actors, so an observer with state must be thread-safe. Its work delays the
/// tick.
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
