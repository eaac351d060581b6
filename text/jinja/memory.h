#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>

namespace weft::jinja {

/// Thrown where a rendering would hold more memory than it may. It never leaves the rendering: it
/// ends the running statement, and with it the run (interpreter.cc).
class MemorySpent final : public std::bad_alloc {};

/// Counts the heap bytes of a rendering, and refuses allocations beyond `limit` bytes. Owner
/// only.
class BoundedMemory final : public std::pmr::memory_resource {
 public:
  explicit BoundedMemory(std::size_t limit) : limit_(limit) {}
  BoundedMemory(const BoundedMemory&) = delete;
  BoundedMemory& operator=(const BoundedMemory&) = delete;
  ~BoundedMemory() override = default;

  [[nodiscard]] bool fits(std::size_t bytes) const noexcept { return bytes <= limit_ - held_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::size_t limit_;
  std::size_t held_ = 0;
};

/// Memory for objects that live until the rendering ends. Small objects are cut from blocks that
/// are freed together. A large object has a block of its own size, so that little memory is wasted
/// (the blocks of std::pmr::monotonic_buffer_resource grow with all memory that was ever
/// requested). Owner only.
class Arena final : public std::pmr::memory_resource {
 public:
  explicit Arena(std::pmr::memory_resource& from) : from_(from) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() override;

 private:
  struct Block {
    Block* next;
    std::size_t bytes;  ///< size of the block, this header included
  };

  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* /*memory*/, std::size_t /*bytes*/, std::size_t /*alignment*/) override {}
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
  void* add_block(std::size_t bytes);

  std::pmr::memory_resource& from_;
  Block* blocks_ = nullptr;
  void* at_ = nullptr;  ///< the rest of the block that small objects are cut off
  std::size_t left_ = 0;
  std::size_t next_bytes_ = 1024;
};

}  // namespace weft::jinja
