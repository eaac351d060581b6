#include "weft/model/quantize/quantize_tensors.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

// Numbers of a piece. A thread holds it in f32, and its result.
constexpr std::int64_t kPieceNumbers = std::int64_t{1} << 20;
// Time between two calls of the progress function, which may also end the work.
constexpr std::chrono::milliseconds kBetweenLooks{50};

/// Some rows of a tensor.
struct Piece {
  std::size_t tensor = 0;
  RowRange rows;
};

std::vector<Piece> pieces_of(std::span<const PlannedTensor> tensors) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const CheckpointTensor& source = *tensors[i].source;
    const std::int64_t row = row_numbers(source);
    if (source.size == 0 || row == 0) continue;
    const std::int64_t rows =
        static_cast<std::int64_t>(source.size) / row_bytes(source, source.dtype);
    const std::int64_t most = std::max<std::int64_t>(kPieceNumbers / row, 1);
    for (std::int64_t first = 0; first < rows; first += most) {
      pieces.push_back({i, {first, std::min(most, rows - first)}});
    }
  }
  return pieces;
}

/// The pieces, which threads take one after the other, and the results of writing them.
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
    std::vector<std::byte> bytes;
    while (!ended_.load(std::memory_order_relaxed)) {
      const std::size_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= pieces_.size()) break;
      if (const auto done = write_piece(encoder, bytes, pieces_[index]); !done) fail(done.error());
    }
    const std::lock_guard lock(mutex_);
    ++finished_;
    changed_.notify_one();
  }

  /// Waits for `threads` threads. Meanwhile and at the end it calls the caller's progress function.
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
  Result<void> write_piece(RowEncoder& encoder, std::vector<std::byte>& bytes, const Piece& piece) {
    const PlannedTensor& tensor = job_.tensors[piece.tensor];
    const std::int64_t row = row_bytes(*tensor.source, tensor.dtype);
    bytes.resize(static_cast<std::size_t>(row * piece.rows.count));
    if (auto encoded = encoder.encode(tensor, piece.rows, bytes); !encoded) return encoded;
    const auto offset =
        job_.layout->offsets[piece.tensor] + static_cast<std::uint64_t>(piece.rows.first * row);
    if (auto written = job_.file->write(offset, bytes); !written) return written;
    done_.fetch_add(piece.rows.count * row_bytes(*tensor.source, tensor.source->dtype),
                    std::memory_order_relaxed);
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
