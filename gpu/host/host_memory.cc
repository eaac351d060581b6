#include "weft/gpu/host/host_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
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
  ::madvise(start, bytes, MADV_HUGEPAGE);  // only a request: without huge pages it is slower
  memory.bytes_ = {static_cast<std::byte*>(start), bytes};
  return memory;
}

namespace {

Error not_shared(const std::string& name, std::size_t bytes, int number) {
  return {DeviceErrc::kOutOfMemory, std::to_string(bytes) + " bytes of shared memory " + name +
                                        ": " + std::generic_category().message(number)};
}

/// Maps the memory of `descriptor`, and closes it.
Result<std::span<std::byte>> map_shared(int descriptor, const std::string& name,
                                        std::size_t bytes) {
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (start == MAP_FAILED) return not_shared(name, bytes, error);
  return std::span(static_cast<std::byte*>(start), bytes);
}

}  // namespace

Result<HostMemory> HostMemory::create_shared(const std::string& name, std::size_t bytes) {
  const int descriptor = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return not_shared(name, bytes, errno);
  // Memory that is not reserved now could be missing when it is written, which would kill a
  // process.
  if (const int error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)); error != 0) {
    ::close(descriptor);
    remove_shared(name);
    return not_shared(name, bytes, error);
  }
  const auto mapped = map_shared(descriptor, name, bytes);
  if (!mapped) return mapped.error();
  HostMemory memory;
  memory.bytes_ = *mapped;
  return memory;
}

Result<HostMemory> HostMemory::open_shared(const std::string& name, std::size_t bytes) {
  const int descriptor = ::shm_open(name.c_str(), O_RDWR, 0);
  if (descriptor < 0) return not_shared(name, bytes, errno);
  struct stat found{};
  if (::fstat(descriptor, &found) != 0 || std::cmp_not_equal(found.st_size, bytes)) {
    ::close(descriptor);
    return not_shared(name, bytes, EINVAL);
  }
  const auto mapped = map_shared(descriptor, name, bytes);
  if (!mapped) return mapped.error();
  HostMemory memory;
  memory.bytes_ = *mapped;
  return memory;
}

void HostMemory::remove_shared(const std::string& name) noexcept { ::shm_unlink(name.c_str()); }

HostMemory::HostMemory(HostMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

HostMemory::~HostMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace weft
