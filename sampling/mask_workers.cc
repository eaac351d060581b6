#include "weft/sampling/mask_workers.h"

#include <algorithm>
#include <exception>

namespace weft {

MaskWorkers::MaskWorkers(std::size_t samplers, std::size_t threads)
    : most_threads_(std::min(samplers, threads)) {
  loans_.reserve(samplers);
  threads_.reserve(most_threads_);
}

MaskWorkers::~MaskWorkers() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  lent_more_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void MaskWorkers::prepare(Sampler& sampler) {
  if (sampler.try_prepare()) return;
  bool wants_thread = false;
  {
    const std::scoped_lock lock(mutex_);
    loans_.push_back({&sampler, false});
    lent_.store(loans_.size(), std::memory_order_relaxed);
    const auto waiting = std::ranges::count(loans_, false, &Loan::is_begun);
    wants_thread = static_cast<std::size_t>(waiting) > idle_ && threads_.size() < most_threads_;
  }
  if (wants_thread) start_thread();
  lent_more_.notify_one();
}

/// If no thread can start, existing threads or the choices themselves make the masks.
void MaskWorkers::start_thread() noexcept {
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::exception&) {  // no memory, or no thread
    return;
  }
}

void MaskWorkers::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    lent_more_.wait(lock, [&] { return is_stopping_ || first_waiting() != nullptr; });
    --idle_;
    if (is_stopping_) return;
    Loan& loan = *first_waiting();
    loan.is_begun = true;
    Sampler& sampler = *loan.sampler;
    lock.unlock();
    sampler.prepare();
    lock.lock();
    end(sampler);
    ended_.notify_all();
  }
}

MaskWorkers::Loan* MaskWorkers::first_waiting() noexcept {
  const auto found = std::ranges::find(loans_, false, &Loan::is_begun);
  return found == loans_.end() ? nullptr : &*found;
}

/// A thread that has seen lent_ at 0 sees all writes to the samplers that were lent.
void MaskWorkers::end(const Sampler& sampler) noexcept {
  std::erase_if(loans_, [&](const Loan& loan) { return loan.sampler == &sampler; });
  lent_.store(loans_.size(), std::memory_order_release);
}

void MaskWorkers::take_back(const Sampler& sampler) noexcept {
  if (lent_.load(std::memory_order_acquire) == 0) return;
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] {
    const auto loan = std::ranges::find(loans_, &sampler, &Loan::sampler);
    return loan == loans_.end() || !loan->is_begun;
  });
  end(sampler);
}

void MaskWorkers::take_back_all() noexcept {
  if (lent_.load(std::memory_order_acquire) == 0) return;
  std::unique_lock lock(mutex_);
  std::erase_if(loans_, [](const Loan& loan) { return !loan.is_begun; });
  ended_.wait(lock, [&] { return loans_.empty(); });
  lent_.store(0, std::memory_order_relaxed);
}

}  // namespace weft
