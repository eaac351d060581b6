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
std::atomic<bool> interrupted{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void write_one(int descriptor) noexcept {
  const std::uint64_t one = 1;
  // A write fails when the counter is full; the descriptor is readable then anyway.
  [[maybe_unused]] const auto written = ::write(descriptor, &one, sizeof(one));
}

void on_interrupt(int /*signal*/) {
  const int before = errno;
  interrupted.store(true);
  write_one(wake_descriptor.load());
  errno = before;
}

}  // namespace

Interrupts::Interrupts() : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), before_(SIG_DFL) {
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  wake_descriptor.store(wake_);
  interrupted.store(false);
  before_ = std::signal(SIGINT, on_interrupt);
}

Interrupts::~Interrupts() {
  std::signal(SIGINT, before_);
  wake_descriptor.store(-1);
  ::close(wake_);
}

void Interrupts::wake() const noexcept { write_one(wake_); }

void Interrupts::clear() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_, &count, sizeof(count));
}

bool Interrupts::take_interrupt() noexcept { return interrupted.exchange(false); }

}  // namespace weft::cli
