#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "weft/sampling/sampler.h"

namespace weft {

/// Threads that make the masks of a step's choices while a device computes their logits, so that
/// the thread that runs the step does not.
///
/// A sampler is lent from prepare() to take_back(), and in between only a thread of these touches
/// it. At most as many are lent as there are samplers; each costs what its constraint says
/// (ConstraintState::allowed), and what no thread has begun when its choice comes is taken back and
/// made there. So a choice waits for its own mask alone and never for a queue, and what is chosen
/// does not depend on who makes the mask. Threads begin when there is something for them; where the
/// system gives none, choices make their masks themselves.
///
/// prepare() and take_back_all() are the owner's, one thread at a time.
class MaskWorkers {
 public:
  /// For so many samplers at once, and at most so many threads.
  MaskWorkers(std::size_t samplers, std::size_t threads);
  MaskWorkers(const MaskWorkers&) = delete;
  MaskWorkers& operator=(const MaskWorkers&) = delete;
  /// Waits for masks under way; those that are not begun are dropped.
  ~MaskWorkers();

  /// Prepares the next choice of a sampler that is not lent: at once where its mask only has to be
  /// looked up, else by a thread, to which it is lent. Never waits for a mask.
  void prepare(Sampler& sampler);

  /// Ends the loan of a sampler, if it is lent: waits if its mask is under way. Threads may take
  /// back different samplers side by side.
  void take_back(const Sampler& sampler) noexcept;
  /// The same of all, as when a step has failed between the two.
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
  std::atomic<std::size_t> lent_{0};  ///< loans_.size(), to be looked at without the lock
  std::mutex mutex_;                  // all below but threads_ is guarded by it
  std::condition_variable lent_more_;
  std::condition_variable ended_;
  std::vector<Loan> loans_;  ///< in the order of the choices
  std::size_t idle_ = 0;     ///< threads
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft
