#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "weft/kernels/cuda/cuda_types.h"

namespace weft::cuda {

/// Entries [first, first + count) of the table at `table` (an index into the tables) become
/// pages[first_page ...].
struct TableWrite {
  std::int64_t table = 0;
  std::int32_t first = 0;
  std::int32_t first_page = 0;
  std::int32_t count = 0;
};

/// Copies one page in all layers.
struct PageCopy {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

/// Writes page tables in a device's memory.
struct CudaTableParams {
  const TableWrite* writes = nullptr;  ///< in the device's memory
  std::int32_t write_count = 0;
  const std::int32_t* pages = nullptr;
  std::int32_t* tables = nullptr;
};

[[nodiscard]] Status write_tables(const CudaTableParams& params, Stream stream);

/// A run of equal blocks: block i is at data + i * bytes. Pages from CudaPageCopyParams::pages on
/// are in host memory.
struct PageBlocks {
  std::byte* data = nullptr;  ///< aligned to 16 bytes
  std::int64_t bytes = 0;     ///< bytes of a page
  std::byte* host =
      nullptr;  ///< likewise, page-locked: the pages from CudaPageCopyParams::pages on
};

/// Copies pages in all layers, in no particular order. No page may be both source and target; the
/// caller splits its list where one is.
struct CudaPageCopyParams {
  /// Keys and values of each layer. `blocks` and `copies` are in device or page-locked memory.
  const PageBlocks* blocks = nullptr;
  std::int32_t block_count = 0;
  const PageCopy* copies = nullptr;
  std::int32_t copy_count = 0;
  /// Pages from this number on are in host memory.
  std::int32_t pages = std::numeric_limits<std::int32_t>::max();
};

[[nodiscard]] Status copy_pages(const CudaPageCopyParams& params, Stream stream);

}  // namespace weft::cuda
