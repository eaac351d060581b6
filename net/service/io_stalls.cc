#include "weft/net/service/io_stalls.h"

#include <exception>

#include "weft/net/defaults.h"

namespace weft {

IoStalls::Step::Step(IoStalls* stalls) noexcept
    : stalls_(stalls != nullptr && !stalls->in_step_ ? stalls : nullptr) {
  if (stalls_ == nullptr) return;
  stalls_->in_step_ = true;
  began_ = std::chrono::steady_clock::now();
}

IoStalls::Step::~Step() {
  if (stalls_ == nullptr) return;
  stalls_->in_step_ = false;
  const auto took = std::chrono::steady_clock::now() - began_;
  if (took >= net_defaults::kCountedStall) stalls_->tell(took);
}

void IoStalls::tell(Seconds took) noexcept {
  if (report_.seconds != nullptr) report_.seconds->observe(took.count());
  if (took < net_defaults::kLoggedStall || !report_.on_long_stall) return;
  try {
    report_.on_long_stall(took);
  } catch (const std::exception&) {
    // No memory for the line; the histogram still has the stall.
  }
}

}  // namespace weft
