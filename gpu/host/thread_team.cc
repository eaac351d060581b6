#include "weft/gpu/host/thread_team.h"

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <latch>
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
      board_(spin_) {
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
  std::latch placed(pin ? size_ - 1 : 0);
  const auto start = [&](int member) {
    const auto place = static_cast<std::size_t>(member);
    threads_.emplace_back([this, member, pin, &processors, &pinned, &placed, place] {
      name_this_thread("weft-team-" + std::to_string(member));
      ask_for_short_slices();
      if (pin) {
        pinned[place] = pin_this_thread(processors[place % processors.size()]);
        placed.count_down();
      }
      serve(member);
    });
  };
  try {
    for (int member = 1; member < size_; ++member) start(member);
  } catch (...) {
    // Running threads write into objects that the exception would destroy.
    if (pin) placed.count_down(size_ - 1 - static_cast<std::ptrdiff_t>(threads_.size()));
    placed.wait();
    throw;
  }
  placed.wait();
  for (const auto& error : pinned) {
    if (error) throw std::system_error(error.value(), std::system_category(), "pin a thread");
  }
}

void ThreadTeam::stop_threads() noexcept {
  stopping_.store(true, std::memory_order_relaxed);
  run_.fetch_add(1, std::memory_order_release);
  run_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::run_erased(Task task, std::span<const std::int32_t> pieces, int members) {
  task_ = task;
  const int others = std::min(members, size_) - 1;
  if (others < 1) return run_alone(pieces);
  const std::uint32_t run = board_.start(pieces);
  seats_.store(std::uint64_t{run} << 32U | static_cast<std::uint32_t>(others),
               std::memory_order_relaxed);
  run_.store(run, std::memory_order_release);
  if (others == size_ - 1) {
    run_.notify_all();
  } else {
    for (int i = 0; i < others; ++i) run_.notify_one();
  }
  work_on(run, 0);
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadTeam::run_alone(std::span<const std::int32_t> pieces) const {
  for (std::size_t op = 0; op < pieces.size(); ++op) {
    for (std::int32_t i = 0; i < pieces[op]; ++i) {
      task_.call(task_.object, static_cast<std::int32_t>(op),
                 Share{.index = i, .count = pieces[op], .thread = 0});
    }
  }
}

void ThreadTeam::serve(int member) {
  for (std::uint32_t seen = 0;;) {
    if (!spin_until_changed(run_, seen, spin_)) {
      sleepers_.fetch_add(1, std::memory_order_relaxed);
      run_.wait(seen, std::memory_order_acquire);
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
    }
    seen = run_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (take_seat(seen)) work_on(seen, member);
  }
}

bool ThreadTeam::take_seat(std::uint32_t run) noexcept {
  std::uint64_t seats = seats_.load(std::memory_order_relaxed);
  while (seats >> 32U == run && static_cast<std::uint32_t>(seats) != 0) {
    if (seats_.compare_exchange_weak(seats, seats - 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void ThreadTeam::work_on(std::uint32_t run, int member) noexcept {
  while (const auto piece = board_.take(run)) {
    try {
      task_.call(task_.object, piece->op,
                 Share{.index = piece->index, .count = piece->count, .thread = member});
    } catch (...) {
      keep_failure(std::current_exception());
      board_.break_off();
    }
    board_.finish_piece();
  }
}

void ThreadTeam::keep_failure(std::exception_ptr failure) noexcept {
  const std::scoped_lock lock(failure_mutex_);
  if (failure_ == nullptr) failure_ = std::move(failure);
}

}  // namespace weft
