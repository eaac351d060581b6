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

// A global, since a signal handler reaches nothing else.
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
  last_signal.store(signal);
  write_one(wake_descriptor.load());
  errno = before;
}

}  // namespace

Interrupts::Interrupts(std::initializer_list<int> others)
    : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  wake_descriptor.store(wake_);
  last_signal.store(0);
  taken_.push_back({SIGINT, std::signal(SIGINT, on_interrupt)});
  for (const int signal : others) taken_.push_back({signal, std::signal(signal, on_interrupt)});
}

Interrupts::~Interrupts() {
  for (const Taken& taken : taken_) std::signal(taken.signal, taken.before);
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
