#include "weft/cli/serve/interrupts.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

namespace weft::cli {
namespace {

// A global, because a signal handler has no argument for it.
std::atomic<int> wake_descriptor{-1};
std::atomic<int> last_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void write_one(int descriptor) noexcept {
  const std::uint64_t one = 1;
  // A write fails when the counter is full; the descriptor is readable then anyway.
  [[maybe_unused]] const auto written = ::write(descriptor, &one, sizeof(one));
}

void on_interrupt(int signal) {
  const int before = errno;
  int none = 0;
  if (signal == SIGINT) {
    last_signal.compare_exchange_strong(none, signal);
  } else {
    last_signal.store(signal);
  }
  write_one(wake_descriptor.load());
  errno = before;
}

int make_wake_descriptor() {
  const int wake = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  wake_descriptor.store(wake);
  last_signal.store(0);
  return wake;
}

}  // namespace

TakenSignals::TakenSignals(std::initializer_list<int> signals) {
  for (const int signal : signals) {
    struct sigaction now{};
    const bool known = ::sigaction(signal, nullptr, &now) == 0;
    if (known && now.sa_handler == SIG_IGN && signal != SIGINT) continue;
    taken_.push_back({signal, std::signal(signal, on_interrupt)});
  }
}

TakenSignals::~TakenSignals() {
  for (const Taken& taken : taken_) std::signal(taken.signal, taken.before);
}

Interrupts::Interrupts(std::initializer_list<int> others)
    : wake_(make_wake_descriptor()), interrupt_({SIGINT}), others_(others) {}

Interrupts::~Interrupts() {
  wake_descriptor.store(-1);
  ::close(wake_);
}

void Interrupts::wake() const noexcept { write_one(wake_); }

void Interrupts::clear() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_, &count, sizeof(count));
}

int Interrupts::take_signal() noexcept { return last_signal.exchange(0); }

}  // namespace weft::cli
