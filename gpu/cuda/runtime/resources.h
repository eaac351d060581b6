#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "weft/gpu/cuda/runtime/failure.h"
#include "weft/gpu/cuda/runtime/runtime.h"

/// Resources of a runtime, which their owner's destructor frees. The runtime outlives them all.
namespace weft::cuda {

namespace detail {

struct Release {
  Runtime* runtime = nullptr;
  template <class Handle>
  void operator()(Handle* handle) const noexcept {
    runtime->release(handle);
  }
};

struct ReleasePinned {
  Runtime* runtime = nullptr;
  void operator()(std::byte* memory) const noexcept { runtime->release_pinned(memory); }
};

struct GiveBackLoadBuffer {
  Runtime* runtime = nullptr;
  void operator()(std::byte* memory) const noexcept { runtime->give_back_load_buffer(memory); }
};

}  // namespace detail

using OwnedMemory = std::unique_ptr<std::byte, detail::Release>;
using OwnedPinned = std::unique_ptr<std::byte, detail::ReleasePinned>;
using OwnedLoadBuffer = std::unique_ptr<std::byte, detail::GiveBackLoadBuffer>;
using OwnedStream = std::unique_ptr<std::remove_pointer_t<Stream>, detail::Release>;
using OwnedEvent = std::unique_ptr<std::remove_pointer_t<Event>, detail::Release>;
using OwnedGraph = std::unique_ptr<std::remove_pointer_t<Graph>, detail::Release>;

[[nodiscard]] inline OwnedMemory take_memory(Runtime& runtime, std::size_t bytes) {
  std::byte* memory = nullptr;
  check(runtime, runtime.allocate(memory, bytes), "taking the device's memory");
  return OwnedMemory(memory, {&runtime});
}

[[nodiscard]] inline OwnedPinned take_pinned(Runtime& runtime, std::size_t bytes) {
  std::byte* memory = nullptr;
  check(runtime, runtime.allocate_pinned(memory, bytes), "taking page-locked memory");
  return OwnedPinned(memory, {&runtime});
}

[[nodiscard]] inline OwnedLoadBuffer take_load_buffer(Runtime& runtime) {
  std::byte* memory = nullptr;
  check(runtime, runtime.take_load_buffer(memory), "taking page-locked memory");
  return OwnedLoadBuffer(memory, {&runtime});
}

[[nodiscard]] inline OwnedStream make_stream(Runtime& runtime) {
  Stream stream = nullptr;
  check(runtime, runtime.make_stream(stream), "making a stream");
  return OwnedStream(stream, {&runtime});
}

[[nodiscard]] inline OwnedEvent make_event(Runtime& runtime) {
  Event event = nullptr;
  check(runtime, runtime.make_event(event), "making an event");
  return OwnedEvent(event, {&runtime});
}

[[nodiscard]] inline OwnedEvent make_timing_event(Runtime& runtime) {
  Event event = nullptr;
  check(runtime, runtime.make_timing_event(event), "making an event");
  return OwnedEvent(event, {&runtime});
}

/// Hands out pieces of one block of memory from the front. Without memory it only counts, so the
/// same code first counts the bytes and then cuts the block up.
class Arena {
 public:
  /// The alignment of every piece: enough for tensor maps and 16-byte vectors.
  static constexpr std::size_t kAlignment = 256;

  Arena() = default;
  explicit Arena(std::byte* memory) : memory_(memory) {}

  /// Returns null if the arena only counts.
  template <class T = std::byte>
  [[nodiscard]] T* take(std::size_t count) {
    const std::size_t at = used_;
    used_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + at);
  }

  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace weft::cuda
