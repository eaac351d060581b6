#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "weft/kernels/cuda/cuda_types.h"

/// An NVIDIA GPU for tests that are plain C++: they copy to and from it and run ops.
namespace weft::cuda::test {

[[nodiscard]] bool has_device();

/// Runs ops in a stream of their own and waits; gives the first error's text, or nothing. The other
/// replays them as a graph, as a device does with a step.
[[nodiscard]] const char* run(const std::function<Status(Stream)>& ops);
[[nodiscard]] const char* run_as_graph(const std::function<Status(Stream)>& ops);

/// A device's memory, aligned to 256 bytes.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes);
  explicit DeviceBytes(std::span<const std::byte> bytes);
  ~DeviceBytes();
  DeviceBytes(DeviceBytes&& other) noexcept;
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void read(std::span<std::byte> to) const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// An array that is on both sides.
template <class T>
class Mirror {
 public:
  explicit Mirror(std::vector<T> values)
      : host(std::move(values)), bytes_(std::as_bytes(std::span(host))) {}

  [[nodiscard]] T* device() const { return reinterpret_cast<T*>(bytes_.data()); }
  [[nodiscard]] std::vector<T> fetch() const {
    std::vector<T> values(host.size());
    bytes_.read(std::as_writable_bytes(std::span(values)));
    return values;
  }

  std::vector<T> host;

 private:
  DeviceBytes bytes_;
};

}  // namespace weft::cuda::test
