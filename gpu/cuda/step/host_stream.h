#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/ranks/rank_link.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

struct Layout;

/// A GPU rank's exchanges with ranks on the host, which bypass NCCL.
struct HostNeighbours {
  std::shared_ptr<RankLink> link;  ///< null: no exchanges
  bool before = false;             ///< the previous stage is on the host
  bool after = false;              ///< the next stage is on the host
  bool tokens = false;             ///< chosen tokens are sent or received through the link
};

/// A GPU rank's end of the streams from and to ranks on the host: page-locked memory between the
/// link and the GPU's buffers. A step receives before its ops are launched and sends when they are
/// done, because a recorded step cannot wait for the host. Owner only. A lost rank throws
/// ActorFailure(kDeviceLost); a refused CUDA call throws Failure.
class HostStream {
 public:
  /// `numbers` is the most numbers in a step's stream.
  HostStream(Runtime& runtime, HostNeighbours neighbours, std::int64_t numbers);

  [[nodiscard]] const HostNeighbours& neighbours() const noexcept { return neighbours_; }

  /// Waits for the stream of `rows` tokens that `list` begins with, if it comes from the host, and
  /// enqueues its copy in `stream`. The copy of the previous receive() must have ended.
  void receive(const OpList& list, const Layout& layout, std::int64_t rows, Stream stream);
  /// Enqueues a copy of the stream that `list` ends with, if it goes to the host.
  void take(const OpList& list, const Layout& layout, std::int64_t rows, Stream stream);
  /// Sends the numbers of the last take(), after `stream` has copied them.
  void send();

 private:
  [[nodiscard]] std::span<float> numbers(const OwnedPinned& memory, std::int64_t count) const;

  Runtime& runtime_;
  const HostNeighbours neighbours_;
  OwnedPinned received_, sent_;
  std::int64_t taken_ = 0;  // numbers that send() has to send
};

}  // namespace weft::cuda
