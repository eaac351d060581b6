#include "weft/gpu/memory/memory_budget.h"

#include "weft/core/error/internal_error.h"

namespace weft {

std::shared_ptr<MemoryBudget> MemoryBudget::make(std::int64_t bytes) {
  if (bytes < 0) internal_error("a memory budget below nothing");
  return std::shared_ptr<MemoryBudget>(new MemoryBudget(bytes));
}

std::int64_t MemoryBudget::left() const {
  const std::lock_guard lock(mutex_);
  return left_;
}

Result<MemoryClaim> MemoryBudget::take(
    const std::function<Result<std::int64_t>(std::int64_t left)>& decide) {
  const std::lock_guard lock(mutex_);
  const Result<std::int64_t> wanted = decide(left_);
  if (!wanted) return wanted.error();
  if (*wanted < 0 || *wanted > left_) internal_error("more is taken of a budget than is left");
  left_ -= *wanted;
  return MemoryClaim(shared_from_this(), *wanted);
}

void MemoryBudget::give_back(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  left_ += bytes;
}

}  // namespace weft
