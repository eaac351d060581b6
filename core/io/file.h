#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"

namespace weft {

/// The errors of a file that do not depend on its format.
enum class FileErrc {
  /// The system refused to open, stat or read it; the detail has the path and the reason.
  kCannotRead = 1,
  /// The path is a folder, a device or a pipe, where a file is needed.
  kNotAFile,
  /// The file is larger than the bound for files of its kind.
  kTooLarge,
  /// Another process has shortened the file since it was opened; the detail has the path and both
  /// sizes.
  kCut,
  /// The system refused to make, write or rename it; the detail has the path and the reason.
  kCannotWrite,
  /// A file or folder of that name exists, and it is not replaced.
  kExists,
};

[[nodiscard]] const TableCategory& file_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(FileErrc code) noexcept;

/// Opens a file to be read in pieces: kCannotRead, kNotAFile. The source keeps the file open, so
/// replacing the file under its name changes nothing. Reading fails with kCut where the file has
/// become shorter, and with kCannotRead. A file is never mapped: if a mapped file is cut, the
/// process ends with SIGBUS.
[[nodiscard]] Result<SharedSource> open_file_source(const std::filesystem::path& path);

/// No bound: for a file that the user of a command named, on the user's own machine.
inline constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();

/// The whole of a small text file such as config.json. kTooLarge above `max_bytes`; errors of
/// open_file_source() and of reading it.
[[nodiscard]] Result<std::string> read_text_file(const std::filesystem::path& path,
                                                 std::size_t max_bytes);

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::FileErrc> : std::true_type {};
