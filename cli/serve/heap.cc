#include "weft/cli/serve/heap.h"

#include <malloc.h>

namespace weft::cli {
namespace {

// A block of this size or more is mapped alone. By default glibc raises this bound to the largest
// freed block, up to 32 MiB, and keeps twice that size in each thread's arena. Texts of megabytes
// then leave hundreds of megabytes behind. Mapping costs a page fault for each 4 KiB, which is less
// than reading 4 KiB from a socket.
[[maybe_unused]] constexpr int kLargeBlock = 1 << 18;

// The bytes that may stay free at the end of an arena.
[[maybe_unused]] constexpr int kKeptFree = 1 << 20;

}  // namespace

void return_large_blocks() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  ::mallopt(M_TRIM_THRESHOLD, kKeptFree);
#endif
}

void return_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace weft::cli
