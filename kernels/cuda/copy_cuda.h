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

/// A page of all layers is copied.
struct PageCopy {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

/// Page tables in a device's memory are written.
struct CudaTableParams {
  const TableWrite* writes = nullptr;  ///< in the device's memory
  std::int32_t write_count = 0;
  const std::int32_t* pages = nullptr;
  std::int32_t* tables = nullptr;
};

[[nodiscard]] Status write_tables(const CudaTableParams& params, Stream stream);

/// A run of equal blocks: block i at data + i * bytes. What is in host memory continues it.
struct PageBlocks {
  std::byte* data = nullptr;  ///< aligned to 16 bytes
  std::int64_t bytes = 0;     ///< of a page
  std::byte* host =
      nullptr;  ///< likewise, page-locked: the pages from CudaPageCopyParams::pages on
};

/// Copies pages in all layers, as if one copy came after the other only where no page is both
/// source and target; the caller splits its list where that is so.
struct CudaPageCopyParams {
  /// Keys and values of each layer; as `copies` in the device's memory, or page-locked.
  const PageBlocks* blocks = nullptr;
  std::int32_t block_count = 0;
  const PageCopy* copies = nullptr;
  std::int32_t copy_count = 0;
  /// Pages from this number on are in host memory.
  std::int32_t pages = std::numeric_limits<std::int32_t>::max();
};

[[nodiscard]] Status copy_pages(const CudaPageCopyParams& params, Stream stream);

}  // namespace weft::cuda
