#include "weft/gpu/host/host_memory.h"

#include <sys/mman.h>

#include <string>
#include <utility>

#include "weft/gpu/device_info.h"

namespace weft {

Result<HostMemory> HostMemory::allocate(std::size_t bytes) {
  HostMemory memory;
  if (bytes == 0) return memory;
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return Error{DeviceErrc::kOutOfMemory, std::to_string(bytes) + " bytes on the host"};
  }
  ::madvise(start, bytes, MADV_HUGEPAGE);  // a wish: without huge pages it is only slower
  memory.bytes_ = {static_cast<std::byte*>(start), bytes};
  return memory;
}

HostMemory::HostMemory(HostMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

HostMemory::~HostMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace weft
