#include "weft/cli/serve/heap.h"

#include <malloc.h>

namespace weft::cli {
namespace {

// From here on a block is mapped alone. Of itself glibc raises this to the largest that was freed,
// up to 32 MiB, and twice that stays with each thread's arena: texts of megabytes then leave
// hundreds of megabytes behind. Mapping costs a page fault for 4 KiB, less than reading them from a
// socket.
[[maybe_unused]] constexpr int kLargeBlock = 1 << 18;

// What may stay free at the end of an arena.
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
