#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace weft {

/// Memory for numbers of a training step. Memory that was given back is taken again by the next
/// request of its size, so that a step like the one before it needs no further blocks. Owner only.
class FloatPool {
 public:
  /// Numbers that go back to their pool in the end. The pool must live longer.
  class Floats {
   public:
    Floats() noexcept = default;
    Floats(Floats&& other) noexcept { swap(other); }
    Floats& operator=(Floats&& other) noexcept {
      Floats moved(std::move(other));
      swap(moved);
      return *this;
    }
    Floats(const Floats&) = delete;
    Floats& operator=(const Floats&) = delete;
    ~Floats();

    [[nodiscard]] bool empty() const noexcept { return numbers_ == nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] float* data() const noexcept { return numbers_.get(); }

   private:
    friend class FloatPool;
    Floats(FloatPool& pool, std::unique_ptr<float[]> numbers, std::size_t size) noexcept
        : pool_(&pool), numbers_(std::move(numbers)), size_(size) {}
    void swap(Floats& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(numbers_, other.numbers_);
      std::swap(size_, other.size_);
    }

    FloatPool* pool_ = nullptr;
    std::unique_ptr<float[]> numbers_;
    std::size_t size_ = 0;
  };

  FloatPool() = default;
  FloatPool(const FloatPool&) = delete;
  FloatPool& operator=(const FloatPool&) = delete;

  /// Returns `size` numbers, of no certain values.
  [[nodiscard]] Floats take(std::size_t size);

  /// The bytes that the pool holds, in use or not.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Gives memory that is not in use back to the system.
  void trim() noexcept;

 private:
  struct Block {
    std::unique_ptr<float[]> numbers;
    std::size_t size = 0;
  };
  void put(std::unique_ptr<float[]> numbers, std::size_t size) noexcept;

  std::vector<Block> free_;  ///< has room for all blocks, so put() allocates nothing
  std::size_t blocks_ = 0;
  std::size_t bytes_ = 0;
};

using Floats = FloatPool::Floats;

}  // namespace weft
