#include "weft/net/service/body_memory.h"

namespace weft {

BodyMemory::BodyMemory(std::int64_t limit, MetricsRegistry& metrics)
    : limit_(limit),
      bytes_(metrics.gauge("weft_body_bytes", "Bytes of bodies and messages that are being read")),
      refused_(metrics.counter("weft_bodies_refused_total",
                               "Bodies and messages refused for want of max_body_memory")) {}

bool BodyMemory::Share::grow(std::size_t more) noexcept {
  const auto bytes = static_cast<std::int64_t>(more);
  if (memory_->taken_.fetch_add(bytes) + bytes > memory_->limit_) {
    memory_->taken_.fetch_sub(bytes);
    memory_->refused_.add();
    return false;
  }
  memory_->bytes_.add(static_cast<double>(bytes));
  bytes_ += bytes;
  return true;
}

void BodyMemory::Share::clear() noexcept {
  const std::int64_t bytes = std::exchange(bytes_, 0);
  if (bytes == 0) return;
  memory_->taken_.fetch_sub(bytes);
  memory_->bytes_.sub(static_cast<double>(bytes));
}

}  // namespace weft
