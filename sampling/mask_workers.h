#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "weft/sampling/sampler.h"

namespace weft {

/// Threads that make the masks of a step's choices while a device computes the logits, so that the
/// thread that runs the step need not.
///
/// A sampler is lent from prepare() to take_back(); meanwhile only one of these threads touches it.
/// A mask costs what its constraint says (ConstraintState::allowed). If no thread has begun a mask
/// when its choice comes, the choice takes the sampler back and makes the mask itself. So a choice
/// waits for its own mask alone, never for a queue, and the result does not depend on which thread
/// makes the mask. Threads start when there is work; if the system grants none, choices make their
/// masks themselves.
///
/// prepare() and take_back_all() are for the owner, one thread at a time.
class MaskWorkers {
 public:
  /// For at most `samplers` samplers at once, and at most `threads` threads.
  MaskWorkers(std::size_t samplers, std::size_t threads);
  MaskWorkers(const MaskWorkers&) = delete;
  MaskWorkers& operator=(const MaskWorkers&) = delete;
  /// Waits for masks in progress and drops masks that no thread has begun.
  ~MaskWorkers();

  /// Prepares the next choice of a sampler that is not lent. A mask that is only looked up is made
  /// at once; otherwise lends the sampler to a thread. Never waits for a mask.
  void prepare(Sampler& sampler);

  /// Ends the loan of a sampler if it is lent; waits if its mask is in progress. Threads may take
  /// back different samplers concurrently.
  void take_back(const Sampler& sampler) noexcept;
  /// Takes back all samplers, for a step that failed after prepare().
  void take_back_all() noexcept;

 private:
  struct Loan {
    Sampler* sampler = nullptr;
    bool is_begun = false;
  };

  void start_thread() noexcept;
  void work() noexcept;
  [[nodiscard]] Loan* first_waiting() noexcept;
  void end(const Sampler& sampler) noexcept;

  const std::size_t most_threads_;
  std::atomic<std::size_t> lent_{0};  ///< loans_.size(), readable without the lock
  std::mutex mutex_;                  // guards all members below except threads_
  std::condition_variable lent_more_;
  std::condition_variable ended_;
  std::vector<Loan> loans_;  ///< in the order of the choices
  std::size_t idle_ = 0;     ///< threads without work
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft
