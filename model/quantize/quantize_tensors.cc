#include "weft/model/quantize/quantize_tensors.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/encoding/quantize/quantize.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/model_error.h"

namespace weft {
namespace {

// A thread holds a piece of so many numbers in f32, and what they become.
constexpr std::int64_t kPieceNumbers = std::int64_t{1} << 20;
// Between two looks at the progress, and at whether to go on.
constexpr std::chrono::milliseconds kBetweenLooks{50};

/// Some rows of a tensor.
struct Piece {
  std::size_t tensor = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
};

std::int64_t row_of(const CheckpointTensor& tensor) {
  return tensor.shape.empty() ? 1 : tensor.shape.back();
}

std::int64_t bytes_in(DType dtype, std::int64_t numbers) {
  const auto bytes = bytes_of(dtype, numbers);
  if (!bytes) internal_error("write_tensors: rows of a part of a block");
  return *bytes;
}

std::vector<Piece> pieces_of(std::span<const PlannedTensor> tensors) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const CheckpointTensor& source = *tensors[i].source;
    const std::int64_t row = row_of(source);
    if (source.size == 0 || row == 0) continue;
    const std::int64_t rows = static_cast<std::int64_t>(source.size) / bytes_in(source.dtype, row);
    const std::int64_t most = std::max<std::int64_t>(kPieceNumbers / row, 1);
    for (std::int64_t first = 0; first < rows; first += most) {
      pieces.push_back({i, first, std::min(most, rows - first)});
    }
  }
  return pieces;
}

Error cannot_encode(const CheckpointTensor& tensor, DType dtype, std::int64_t row) {
  return {ModelErrc::kCannotQuantize,
          tensor.file() + ": tensor " + in_quotes(tensor.name) + ": row " + std::to_string(row) +
              " has a number that is not finite or too large for " + std::string(to_string(dtype))};
}

/// Turns rows of one tensor into bytes of a type. Owner only: each thread has one.
class RowEncoder {
 public:
  explicit RowEncoder(const ImportanceMap* importance) : importance_(importance) {}

  /// Valid until the next call.
  Result<std::span<const std::byte>> encode(const PlannedTensor& tensor, const Piece& piece) {
    const CheckpointTensor& source = *tensor.source;
    const std::int64_t row = row_of(source);
    bytes_.resize(static_cast<std::size_t>(bytes_in(tensor.dtype, row) * piece.rows));
    if (tensor.dtype == source.dtype) {
      const std::int64_t first = piece.first_row * bytes_in(source.dtype, row);
      if (auto read = source.read(static_cast<std::uint64_t>(first), bytes_); !read)
        return read.error();
      return std::span<const std::byte>(bytes_);
    }
    numbers_.resize(static_cast<std::size_t>(row * piece.rows));
    if (auto read = read_values(source, piece.first_row * row, 1, numbers_); !read)
      return read.error();
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      const auto done = encode_row(tensor, i, row, piece.first_row + i);
      if (!done) return done.error();
      if (!*done) return cannot_encode(source, tensor.dtype, piece.first_row + i);
    }
    return std::span<const std::byte>(bytes_);
  }

 private:
  /// False where a number does not fit.
  /// `number` is the row's in the tensor.
  Result<bool> encode_row(const PlannedTensor& tensor, std::int64_t index, std::int64_t row,
                          std::int64_t number) {
    const float* from = numbers_.data() + index * row;
    std::byte* to = bytes_.data() + index * bytes_in(tensor.dtype, row);
    if (!is_encoded(tensor.dtype))
      return narrow(tensor.dtype, {from, static_cast<std::size_t>(row)}, to);
    const auto importance = importance_for(*tensor.source, row, number);
    if (!importance) return importance.error();
    return !quantize_blocks(
        {tensor.dtype, from, row / block_of(tensor.dtype).elements, *importance}, to);
  }

  static bool narrow(DType dtype, std::span<const float> from, std::byte* to) {
    for (const float number : from) {
      if (dtype == DType::kF32) {
        to = store(number, to);
        continue;
      }
      const std::uint16_t bits = dtype == DType::kF16 ? to_f16(number) : to_bf16(number);
      const float kept = dtype == DType::kF16 ? from_f16(bits) : from_bf16(bits);
      if (!std::isfinite(kept)) return false;
      to = store(bits, to);
    }
    return true;
  }

  template <class T>
  static std::byte* store(T value, std::byte* to) {
    std::memcpy(to, &value, sizeof(value));
    return to + sizeof(value);
  }

  Result<const float*> importance_for(const CheckpointTensor& tensor, std::int64_t row,
                                      std::int64_t number) const {
    if (importance_ == nullptr) return nullptr;
    const auto found = importance_->find(tensor.name);
    if (found == importance_->end()) return nullptr;
    const std::vector<float>& values = found->second;
    if (std::cmp_equal(values.size(), row)) return values.data();
    const bool is_stack = tensor.shape.size() == 3;
    if (is_stack && std::cmp_equal(values.size(), tensor.shape[0] * row))
      return values.data() + number / tensor.shape[1] * row;
    return Error{ModelErrc::kCannotQuantize,
                 "tensor " + in_quotes(tensor.name) + " has " + std::to_string(row) +
                     " inputs and an importance of " + std::to_string(found->second.size())};
  }

  const ImportanceMap* importance_;
  std::vector<float> numbers_;
  std::vector<std::byte> bytes_;
};

/// The pieces, which threads take one after the other, and what came of them.
class PieceQueue {
 public:
  explicit PieceQueue(const QuantizeJob& job) : job_(job), pieces_(pieces_of(job.tensors)) {
    for (const PlannedTensor& tensor : job.tensors) {
      total_ += static_cast<std::int64_t>(tensor.source->size);
    }
  }

  /// Takes pieces until there are none or the work ends.
  void work() {
    RowEncoder encoder(job_.importance);
    while (!ended_.load(std::memory_order_relaxed)) {
      const std::size_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= pieces_.size()) break;
      if (const auto done = write_piece(encoder, pieces_[index]); !done) fail(done.error());
    }
    const std::lock_guard lock(mutex_);
    ++finished_;
    changed_.notify_one();
  }

  /// Waits for `threads` threads, and lets the caller watch, once more when they have finished.
  Result<bool> wait(int threads) {
    bool stopped = false;
    std::unique_lock lock(mutex_);
    for (bool finished = false; !finished;) {
      finished = changed_.wait_for(lock, kBetweenLooks, [&] { return finished_ == threads; });
      if (stopped || !job_.progress) continue;
      lock.unlock();
      stopped = !job_.progress(done_.load(std::memory_order_relaxed), total_);
      if (stopped) ended_.store(true, std::memory_order_relaxed);
      lock.lock();
    }
    if (error_) return *error_;
    return !stopped;
  }

 private:
  Result<void> write_piece(RowEncoder& encoder, const Piece& piece) {
    const PlannedTensor& tensor = job_.tensors[piece.tensor];
    const auto bytes = encoder.encode(tensor, piece);
    if (!bytes) return bytes.error();
    const std::int64_t row = row_of(*tensor.source);
    const auto offset = job_.layout->offsets[piece.tensor] +
                        static_cast<std::uint64_t>(piece.first_row * bytes_in(tensor.dtype, row));
    if (auto written = job_.file->write(offset, *bytes); !written) return written;
    done_.fetch_add(piece.rows * bytes_in(tensor.source->dtype, row), std::memory_order_relaxed);
    return {};
  }

  void fail(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    ended_.store(true, std::memory_order_relaxed);
  }

  const QuantizeJob& job_;
  std::vector<Piece> pieces_;
  std::int64_t total_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::int64_t> done_{0};
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  int finished_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<bool> write_tensors(const QuantizeJob& job) {
  if (auto sized = job.file->resize(job.layout->size); !sized) return sized.error();
  if (auto written = job.file->write(0, job.layout->header); !written) return written.error();
  const int wanted =
      job.threads > 0 ? job.threads : static_cast<int>(std::thread::hardware_concurrency());
  const int threads = std::max(wanted, 1);
  PieceQueue queue(job);
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back([&queue] { queue.work(); });
  return queue.wait(threads);
}

}  // namespace weft
