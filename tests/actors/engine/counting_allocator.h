#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace weft::test {

/// The allocations of one handler's allocators.
struct AllocationLog {
  std::size_t live = 0;
  std::size_t total = 0;
};

/// An allocator with a log, which takes nothing from operator new.
template <class T>
class CountingAllocator {
 public:
  using value_type = T;

  explicit CountingAllocator(AllocationLog& log) noexcept : log_(&log) {}
  template <class U>
  explicit(false) CountingAllocator(const CountingAllocator<U>& other) noexcept
      : log_(other.log()) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    void* const memory = std::malloc(count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    ++log_->live;
    ++log_->total;
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t /*count*/) noexcept {
    --log_->live;
    std::free(memory);
  }
  [[nodiscard]] AllocationLog* log() const noexcept { return log_; }
  friend bool operator==(const CountingAllocator&, const CountingAllocator&) noexcept = default;

 private:
  AllocationLog* log_;
};

}  // namespace weft::test
