#include "weft/gpu/host/thread_team.h"

#include <boost/system/system_error.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "weft/core/defaults.h"
#include "weft/core/thread.h"
#include "weft/gpu/host/host_processors.h"

namespace weft {
namespace {

std::chrono::nanoseconds spin_for(int members) {
  return members <= host_parallelism() ? std::chrono::nanoseconds(defaults::kSpinBeforePark)
                                       : std::chrono::nanoseconds(0);
}

}  // namespace

ThreadTeam::ThreadTeam(Options options)
    : size_(options.threads > 0 ? options.threads : host_parallelism()),
      spin_(spin_for(size_)),
      barrier_(size_, spin_) {
  try {
    start_threads(options.pin);
  } catch (...) {
    stop_threads();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { stop_threads(); }

void ThreadTeam::start_threads(bool pin) {
  const std::vector<int> processors = host_processors();
  std::vector<boost::system::error_code> pinned(static_cast<std::size_t>(size_));
  for (int index = 1; index < size_; ++index) {
    const auto place = static_cast<std::size_t>(index);
    threads_.emplace_back([this, index, pin, &processors, &pinned, place] {
      name_this_thread("weft-team-" + std::to_string(index));
      if (pin) pinned[place] = pin_this_thread(processors[place % processors.size()]);
      serve(index);
    });
  }
  // The first run is here: after it every thread has pinned itself and told.
  run([](Share /*share*/) {});
  for (const auto& error : pinned) {
    if (error) throw std::system_error(error.value(), std::system_category(), "pin a thread");
  }
}

void ThreadTeam::stop_threads() noexcept {
  stopping_ = true;
  run_.fetch_add(1, std::memory_order_release);
  run_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::run_erased(Task task) {
  const int others = size_ - 1;
  task_ = task;
  const std::uint32_t returned = returned_.load(std::memory_order_relaxed);
  working_.store(others, std::memory_order_relaxed);
  if (others != 0) {
    run_.fetch_add(1, std::memory_order_release);
    run_.notify_all();
  }
  do_part(0);
  if (others != 0) wait_until_changed(returned_, returned, spin_);
  if (failure_ != nullptr) {
    barrier_.mend();
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void ThreadTeam::serve(int index) {
  // Nobody starts a run before all have come back from the last one, so the number goes up by one.
  for (std::uint32_t seen = 0;; ++seen) {
    if (!spin_until_changed(run_, seen, spin_)) {
      sleepers_.fetch_add(1, std::memory_order_relaxed);
      run_.wait(seen, std::memory_order_acquire);
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
    }
    if (stopping_) return;
    do_part(index);
    if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      returned_.fetch_add(1, std::memory_order_release);
      returned_.notify_all();
    }
  }
}

void ThreadTeam::do_part(int index) noexcept {
  try {
    task_.call(task_.object, Share{.index = index, .count = size_});
  } catch (const TeamBroken&) {
    // Who broke it up has kept the reason.
  } catch (...) {
    keep_failure(std::current_exception());
    barrier_.break_up();
  }
}

void ThreadTeam::keep_failure(std::exception_ptr failure) noexcept {
  const std::scoped_lock lock(failure_mutex_);
  if (failure_ == nullptr) failure_ = std::move(failure);
}

}  // namespace weft
