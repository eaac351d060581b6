#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/part_reader.h"
#include "weft/kernels/share.h"

namespace weft {
class ThreadTeam;
}

namespace weft::cuda {

/// Loads a model's weights from its files into the device's memory. All threads of a team read
/// weights and write them, in the device's order and type, into one of a few page-locked buffers.
/// Meanwhile the other buffers are copied on a separate stream. A refused call throws Failure. A
/// stop throws as LoadProgress says.
class WeightLoader {
 public:
  WeightLoader(Runtime& runtime, ThreadTeam& team);
  ~WeightLoader();

  /// Loads all weights, tables and constants of `layout`, and waits for their copies. Errors of
  /// reading the files.
  [[nodiscard]] Result<void> load(const Program& program, const Layout& layout,
                                  const DeviceOptions& options, const LoadProgress& progress);

 private:
  /// Writes the share of a piece of bytes; every member of the team calls it.
  using Write = std::function<Result<void>(std::span<std::byte> out, std::size_t at, Share share)>;
  struct Buffer {
    OwnedLoadBuffer memory;
    OwnedEvent copied;
    bool used = false;
  };

  /// Copies `bytes` bytes to `to`, in pieces that are multiples of `grain`; `write` gets each piece
  /// and its offset in the whole. kUnfit: a grain is longer than a buffer.
  Result<void> bring(std::byte* to, std::size_t bytes, std::size_t grain, const Write& write);
  void bring_copy(std::byte* to, std::span<const std::byte> bytes);
  Result<void> matrix(const MatrixPlan& plan, const DeviceMatrix& matrix);
  Result<void> blocks(const MatrixPlan& plan, const DeviceMatrix& matrix);
  Result<void> table(const CheckpointTensor& tensor, const DeviceTable& to);
  void lists(const Layout& layout);
  void rotary(const Program& program, const Layout& layout, std::int64_t positions);
  void page_blocks(const Layout& layout);

  Runtime& runtime_;
  ThreadTeam& team_;
  OwnedStream stream_;
  std::vector<Buffer> buffers_;
  std::vector<PartReader> readers_;  ///< one for each member of the team
  std::size_t next_ = 0;
  LoadProgress progress_;
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
};

}  // namespace weft::cuda
