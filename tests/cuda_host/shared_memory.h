#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::cuda_host {

/// The shared memory of a block on sm_90, including the part that the runtime takes.
inline constexpr std::size_t kMostDynamicBytes = std::size_t{227} << 10U;

/// Returns the device's shared memory of a block: kMostDynamicBytes, or WEFT_CUDA_HOST_SHARED_BYTES
/// of the environment for a device with less.
[[nodiscard]] std::size_t most_dynamic_bytes();
inline constexpr std::size_t kBytesOfProcessor = std::size_t{228} << 10U;

/// The shared memory of the block that runs: all `__shared__` variables, which stand in a section
/// of the program, and the memory whose size a launch names. Blocks of a launch run one after the
/// other in the same memory; one that waits for another is copied out of it and back.
///
/// AddressSanitizer guards each variable and both ends of a launch's memory.
class SharedMemory {
 public:
  static SharedMemory& instance();

  /// Before the blocks of a launch. `offset`, a multiple of 16, is where its memory begins: kernels
  /// may count on no more.
  void begin_launch(std::size_t dynamic_bytes, std::size_t offset);

  /// Fills it with NaN, as which a number reads that was never written.
  void forget();

  [[nodiscard]] std::vector<std::byte> save() const;
  void restore(const std::vector<std::byte>& image);

  /// Where the bytes at `pointer` are in an image.
  [[nodiscard]] std::byte* in_image(std::vector<std::byte>& image, const void* pointer) const;

  [[nodiscard]] std::byte* dynamic() const { return dynamic_; }

  /// Shared memory has addresses of its own, from 0 on.
  [[nodiscard]] std::uint32_t address_of(const void* pointer) const;
  [[nodiscard]] std::byte* at(std::uint32_t address) const;

 private:
  SharedMemory();

  std::byte* variables_ = nullptr;
  std::size_t variable_bytes_ = 0;
  std::byte* dynamic_ = nullptr;
  std::size_t dynamic_bytes_ = 0;
};

}  // namespace weft::cuda_host
