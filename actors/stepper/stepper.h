#pragma once

#include <memory>
#include <vector>

#include "weft/actors/adapters/adapter_info.h"
#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/actors/request/request_port.h"
#include "weft/actors/stepper/step_output.h"
#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/core/ids.h"
#include "weft/core/time/clock.h"
#include "weft/gpu/load_progress.h"
#include "weft/gpu/memory/memory_budget.h"
#include "weft/gpu/step_device.h"

namespace weft {

class StepperCore;

struct StepperOptions {
  StepperOptions() = default;  // no aggregate: docs/asio-compliance.md says why

  LoadProgress progress{};  ///< called with how much of the weights is loaded
  /// The budget for the model's memory, for several models on a device; null: the device's free
  /// memory.
  std::shared_ptr<MemoryBudget> memory_budget{};
  std::shared_ptr<const Clock> clock{};  ///< for deadlines and times; null: a SteadyClock
};

/// A language model whose loop the caller owns (Inferflow's AddQuery and Infer, arXiv
/// 2401.08294): each infer() plans one step, runs it on the device and returns its results, all
/// within the call. For game loops, other runtimes, tests and bindings; for streams or threads,
/// use Engine.
///
/// It starts no threads, no actors and takes no executor. The host device's own team of threads is
/// Config::threads, of which 1 is the caller's alone; of a model that is cut (Config::partition)
/// each rank but the first has a thread, and all ranks run the one step. Preprocessing, scheduling,
/// sampling and text are the Engine's code, and so is what comes out: the same tokens and texts,
/// bit for bit on the host, greedy or by the same seed, since a token depends on its own sequence
/// and random numbers are drawn by position, whatever step it is computed in.
///
/// The Engine plans one tick ahead of the device. Here the results of a step are known before the
/// next is planned: a sequence that has ended, also by a stop string, costs no row in the step
/// after it, and the device idles while the caller does other things.
///
/// Owner only: one thread at a time. A process may have any number of steppers. Calls block: add()
/// while it tokenizes the prompt and compiles a grammar, infer() for a step, whose prompts are cut
/// to Config::target_inter_token and the deadline of infer().
class Stepper {
 public:
  /// Loads the model, and blocks meanwhile. Errors: kBadConfig naming the key for what takes more
  /// than one step at a time (replicas, instances), which needs an Engine; those of
  /// Config::validate(), of the model's files and of the device; kInternal without memory.
  [[nodiscard]] static Result<Stepper> create(const Config& config,
                                              const StepperOptions& options = {});
  /// Serves a model on an existing device, which is not null. Of `config` only scheduling, bounds
  /// and Config::cache_share count. Throws std::bad_alloc.
  Stepper(const Config& config, ServedModel model, std::shared_ptr<StepDevice> device,
          const StepperOptions& options = {});

  // One that was moved from can only be assigned and destroyed.
  Stepper(Stepper&&) noexcept;
  Stepper& operator=(Stepper&&) noexcept;
  /// Drops all requests without reporting their ends.
  ~Stepper();

  /// Begins a request, which gets its first step in the next infer(). Reads its adapter where that
  /// is not in memory. Errors, after which nothing has begun: kNoSuchAdapter and kAdapterFailed of
  /// Request::adapter, kBadRequest names the field, kContextLengthExceeded and kNeverFits have the
  /// numbers, kOverloaded says that Config::max_queued_requests or max_queued_prompt_tokens have
  /// not ended, kNotReady that ready() is false; kInternal without memory, after which ready() says
  /// whether it goes on.
  [[nodiscard]] Result<RequestId> add(Request request);

  /// Loads an adapter under a name, or removes a name, and blocks meanwhile; AdapterChange::model
  /// means nothing. Errors as of Engine::async_load_adapter.
  [[nodiscard]] Result<void> change_adapter(const AdapterChange& change);
  /// The adapters that requests can name now; Engine::adapters().
  [[nodiscard]] std::vector<AdapterInfo> adapters() const;

  /// Drops a request; its end, kCancelled, is in the next infer(), which computes nothing for it.
  /// Returns false where the id names no request, or one that was asked to end before.
  bool cancel(RequestId id) noexcept;
  /// Ends a request and keeps its output so far, which ends with FinishReason::kStop.
  bool stop(RequestId id) noexcept;

  /// Runs one step for all requests that there is room for, and returns what is new of each: at
  /// most a token of each output, and the ends of those that were cancelled or whose time is over.
  /// Empty for one that computes a long prompt, without requests, and while
  /// BatchPolicy::kWindow waits for others.
  ///
  /// A step that fails on the device ends requests with rows with kDeviceFailed; waiting requests
  /// continue. If the device is lost, or the scheduler failed, all requests end, and ready() is
  /// false from then on. Throws std::bad_alloc before any change.
  [[nodiscard]] std::vector<StepOutput> infer();

  /// Runs a step as infer() does, which is to end by `deadline`, a moment of StepperOptions::clock.
  /// Prompts are cut into pieces that fit, by the times of earlier steps. Three things are in a
  /// step whatever time is left: a token of each sequence that decodes; 16 tokens of the first
  /// prompt (ChunkPlanner::kLeastChunk), without which it would never begin; the whole input of an
  /// encoder. So a step misses a deadline that is over or too near. The estimate of a step's time
  /// is wrong by 10 % mostly, and by more in the first steps with prompts and on a machine with
  /// other work.
  [[nodiscard]] std::vector<StepOutput> infer(TimePoint deadline);

  /// Whether every request has ended, and its end was returned by infer().
  [[nodiscard]] bool idle() const noexcept;
  /// Whether the stepper can serve requests.
  [[nodiscard]] bool ready() const noexcept;
  /// The present numbers, without a median of times.
  [[nodiscard]] EngineStats stats() const;
  /// The model: tokenizer, chat template, context, vocabulary. It may outlive the stepper.
  [[nodiscard]] std::shared_ptr<const ServedModel> model() const noexcept;

 private:
  std::unique_ptr<StepperCore> core_;
};

}  // namespace weft
