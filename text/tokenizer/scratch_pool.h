#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/text/tokenizer/encode_scratch.h"

namespace weft {

/// Lends the memory of encode calls. It grows to as many scratches as were ever in use at once.
/// Thread-safe.
class ScratchPool {
 public:
  using Scratch = std::unique_ptr<EncodeScratch>;

  /// A lent scratch; the destructor gives it back.
  class Loan {
   public:
    explicit Loan(ScratchPool& pool) : pool_(pool), scratch_(pool.take()) {}
    ~Loan() { pool_.give(std::move(scratch_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    EncodeScratch& operator*() const { return *scratch_; }

   private:
    ScratchPool& pool_;
    Scratch scratch_;
  };

 private:
  // The bytes of each buffer that are kept. The buffers of a text of megabytes are freed, because
  // allocating new ones takes only a few percent of such a text's time.
  static constexpr std::size_t kMaxKept = 1U << 20;

  Scratch take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<EncodeScratch>();
    Scratch scratch = std::move(free_.back());
    free_.pop_back();
    return scratch;
  }

  void give(Scratch scratch) {
    drop_large(scratch->pieces.text);
    drop_large(scratch->pieces.ranges);
    drop_large(scratch->symbols);
    drop_large(scratch->list);
    drop_large(scratch->queue);
    drop_large(scratch->paths);
    drop_large(scratch->text);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(scratch));
  }

  template <class Container>
  static void drop_large(Container& container) {
    if (container.capacity() * sizeof(container[0]) > kMaxKept) Container().swap(container);
  }

  std::mutex mutex_;
  std::vector<Scratch> free_;
};

}  // namespace weft
