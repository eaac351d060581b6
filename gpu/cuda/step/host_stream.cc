#include "weft/gpu/cuda/step/host_stream.h"

#include <cstddef>
#include <utility>
#include <variant>

#include "weft/gpu/cuda/layout.h"

namespace weft::cuda {
namespace {

std::size_t bytes_of(std::int64_t numbers) {
  return static_cast<std::size_t>(numbers) * sizeof(float);
}

/// Calls copy(numbers in the buffer, their offset in packed rows, count) for as few pieces as
/// possible.
template <class Copy>
void for_each_piece(const DeviceRows& rows, std::int64_t count, const Copy& copy) {
  auto* const data = static_cast<float*>(rows.data);
  if (rows.stride == rows.width) return copy(data, std::int64_t{0}, count * rows.width);
  for (std::int64_t row = 0; row < count; ++row) {
    copy(data + row * rows.stride, row * rows.width, rows.width);
  }
}

}  // namespace

HostStream::HostStream(Runtime& runtime, HostNeighbours neighbours, std::int64_t numbers)
    : runtime_(runtime), neighbours_(std::move(neighbours)) {
  if (neighbours_.before) received_ = take_pinned(runtime_, bytes_of(numbers));
  if (neighbours_.after) sent_ = take_pinned(runtime_, bytes_of(numbers));
}

std::span<float> HostStream::numbers(const OwnedPinned& memory, std::int64_t count) const {
  return {reinterpret_cast<float*>(memory.get()), static_cast<std::size_t>(count)};
}

void HostStream::receive(const OpList& list, const Layout& layout, std::int64_t rows,
                         Stream stream) {
  const auto* op = list.ops.empty() ? nullptr : std::get_if<ReceiveOp>(&list.ops.front());
  if (op == nullptr || !neighbours_.before) return;
  const DeviceRows& to = layout.buffers[static_cast<std::size_t>(op->out)];
  const std::span<float> from = numbers(received_, rows * to.width);
  neighbours_.link->receive(from);
  for_each_piece(to, rows, [&](float* data, std::int64_t first, std::int64_t count) {
    check(runtime_,
          runtime_.copy_to_device(reinterpret_cast<std::byte*>(data),
                                  reinterpret_cast<const std::byte*>(from.data() + first),
                                  bytes_of(count), stream),
          "receiving the stream");
  });
}

void HostStream::take(const OpList& list, const Layout& layout, std::int64_t rows, Stream stream) {
  const auto* op = list.ops.empty() ? nullptr : std::get_if<SendOp>(&list.ops.back());
  if (op == nullptr || !neighbours_.after) return;
  const DeviceRows& from = layout.buffers[static_cast<std::size_t>(op->in)];
  taken_ = rows * from.width;
  const std::span<float> to = numbers(sent_, taken_);
  for_each_piece(from, rows, [&](float* data, std::int64_t first, std::int64_t count) {
    check(runtime_,
          runtime_.copy_to_host(reinterpret_cast<std::byte*>(to.data() + first),
                                reinterpret_cast<const std::byte*>(data), bytes_of(count), stream),
          "sending the stream");
  });
}

void HostStream::send() {
  if (taken_ == 0) return;
  neighbours_.link->send(numbers(sent_, std::exchange(taken_, 0)));
}

}  // namespace weft::cuda
