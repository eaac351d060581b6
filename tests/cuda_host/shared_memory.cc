#include "weft/tests/cuda_host/shared_memory.h"

#include <elf.h>
#include <link.h>
#include <sanitizer/asan_interface.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "weft/core/error/internal_error.h"
#include "weft/tests/cuda_host/machine.h"

namespace weft::cuda_host {
namespace {

constexpr std::size_t kOffsets = 1024;  // of a launch's memory; kernels align it to that
alignas(kOffsets) std::byte arena[kMostDynamicBytes + 2 * kOffsets];
constexpr auto kPoison = std::byte{0xff};

// AddressSanitizer's redzones lie between the variables: these touch them, too. Clang would make
// calls of memcpy and memset of them, which are checked.
#ifdef __clang__
#define WEFT_UNCHECKED __attribute__((no_sanitize("address"), no_builtin))
#else
#define WEFT_UNCHECKED __attribute__((no_sanitize("address")))
#endif
// Many bytes at once: blocks change places after every few turns of their threads.
using ManyBytes [[gnu::vector_size(32), gnu::aligned(1), gnu::may_alias]] = std::uint8_t;

WEFT_UNCHECKED void copy_raw(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + sizeof(ManyBytes) <= bytes; i += sizeof(ManyBytes)) {
    *reinterpret_cast<ManyBytes*>(to + i) = *reinterpret_cast<const ManyBytes*>(from + i);
  }
  for (; i < bytes; ++i) to[i] = from[i];
}
WEFT_UNCHECKED void fill_raw(std::byte* to, std::byte value, std::size_t bytes) {
  const ManyBytes many = ManyBytes{} + std::to_integer<std::uint8_t>(value);
  std::size_t i = 0;
  for (; i + sizeof(ManyBytes) <= bytes; i += sizeof(ManyBytes)) {
    *reinterpret_cast<ManyBytes*>(to + i) = many;
  }
  for (; i < bytes; ++i) to[i] = value;
}

struct Section {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

/// Names of sections that are C identifiers would have symbols at their ends, but AddressSanitizer
/// guards no variables in them.
Section section_of_program(std::string_view name) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const auto read = [&file](auto* to, std::size_t bytes, std::uint64_t at) {
    file.seekg(static_cast<std::streamoff>(at));
    file.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(bytes));
  };
  Elf64_Ehdr header{};
  read(&header, sizeof(header), 0);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  read(sections.data(), sections.size() * sizeof(Elf64_Shdr), header.e_shoff);
  const Elf64_Shdr& at = sections[header.e_shstrndx];
  std::string names(at.sh_size, 0);
  read(names.data(), names.size(), at.sh_offset);
  for (const Elf64_Shdr& one : sections) {
    if (name == names.c_str() + one.sh_name) return {one.sh_addr, one.sh_size};
  }
  return {};
}

std::uintptr_t address_of_program() {
  std::uintptr_t result = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<std::uintptr_t*>(to) = info->dlpi_addr;
        return 1;  // the program is the first
      },
      &result);
  return result;
}

}  // namespace

std::size_t most_dynamic_bytes() {
  static const std::size_t most = [] {
    const char* const bytes = std::getenv("WEFT_CUDA_HOST_SHARED_BYTES");
    return bytes == nullptr ? kMostDynamicBytes : std::strtoull(bytes, nullptr, 10);
  }();
  return most;
}

SharedMemory& SharedMemory::instance() {
  static SharedMemory memory;
  return memory;
}

SharedMemory::SharedMemory() : dynamic_(arena) {
  const Section section = section_of_program(kSharedSection);
  variables_ = reinterpret_cast<std::byte*>(address_of_program() + section.begin);
  variable_bytes_ = section.bytes;
}

void SharedMemory::begin_launch(std::size_t dynamic_bytes, std::size_t offset) {
  if (offset + dynamic_bytes > sizeof(arena)) internal_error("cuda_host: too much shared memory");
  dynamic_ = arena + offset;
  dynamic_bytes_ = dynamic_bytes;
  ASAN_POISON_MEMORY_REGION(arena, sizeof(arena));
  ASAN_UNPOISON_MEMORY_REGION(dynamic_, dynamic_bytes_);
}

void SharedMemory::forget() {
  fill_raw(variables_, kPoison, variable_bytes_);
  fill_raw(dynamic_, kPoison, dynamic_bytes_);
}

std::vector<std::byte> SharedMemory::save() const {
  std::vector<std::byte> image(variable_bytes_ + dynamic_bytes_);
  copy_raw(image.data(), variables_, variable_bytes_);
  copy_raw(image.data() + variable_bytes_, dynamic_, dynamic_bytes_);
  return image;
}

void SharedMemory::restore(const std::vector<std::byte>& image) {
  copy_raw(variables_, image.data(), variable_bytes_);
  copy_raw(dynamic_, image.data() + variable_bytes_, dynamic_bytes_);
}

std::byte* SharedMemory::in_image(std::vector<std::byte>& image, const void* pointer) const {
  const auto* at = static_cast<const std::byte*>(pointer);
  if (at >= variables_ && at < variables_ + variable_bytes_) {
    return &image[static_cast<std::size_t>(at - variables_)];
  }
  if (at >= dynamic_ && at < dynamic_ + dynamic_bytes_) {
    return &image[variable_bytes_ + static_cast<std::size_t>(at - dynamic_)];
  }
  report("no shared memory is at the address of which another block's is asked for");
}

std::uint32_t SharedMemory::address_of(const void* pointer) const {
  return static_cast<std::uint32_t>(static_cast<const std::byte*>(pointer) - arena);
}

std::byte* SharedMemory::at(std::uint32_t address) const {
  return arena + static_cast<std::int32_t>(address);
}

}  // namespace weft::cuda_host
