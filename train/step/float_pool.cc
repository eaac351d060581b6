#include "weft/train/step/float_pool.h"

#include <algorithm>
#include <limits>

namespace weft {

FloatPool::Floats::~Floats() {
  if (numbers_ != nullptr) pool_->put(std::move(numbers_), size_);
}

Floats FloatPool::take(std::size_t size) {
  std::unique_ptr<float[]> numbers;
  if (const auto found = std::ranges::find(free_, size, &Block::size); found != free_.end()) {
    numbers = std::move(found->numbers);
    *found = std::move(free_.back());
    free_.pop_back();
  } else {
    free_.reserve(blocks_ + 1);
    numbers = std::make_unique_for_overwrite<float[]>(size);
    ++blocks_;
    bytes_ += size * sizeof(float);
  }
#ifdef WEFT_SANITIZED
  // An op that reads what nobody wrote then gives NaN.
  std::fill_n(numbers.get(), size, std::numeric_limits<float>::quiet_NaN());
#endif
  return {*this, std::move(numbers), size};
}

void FloatPool::put(std::unique_ptr<float[]> numbers, std::size_t size) noexcept {
  free_.push_back({std::move(numbers), size});
}

void FloatPool::trim() noexcept {
  for (const Block& block : free_) bytes_ -= block.size * sizeof(float);
  blocks_ -= free_.size();
  free_.clear();
}

}  // namespace weft
