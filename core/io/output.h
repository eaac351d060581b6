#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "weft/core/error/error.h"

namespace weft {

/// A file or folder that is being made. It is built in a hidden folder beside its final path and
/// moved there once it is whole, so no reader sees a part of it. Owner only.
class Draft {
 public:
  enum class Kind : std::uint8_t { kFile, kFolder };
  /// Says whether finish() may replace a file or folder at the final path. The destructor removes
  /// the replaced file or folder.
  enum class Existing : std::uint8_t { kRefused, kReplaced };

  /// Makes the hidden folder. FileErrc::kExists where something of the name is there already and
  /// is not to be replaced, kCannotWrite.
  [[nodiscard]] static Result<Draft> make(const std::filesystem::path& named, Kind kind,
                                          Existing existing = Existing::kRefused);

  Draft(Draft&& other) noexcept;
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  Draft& operator=(Draft&&) = delete;
  /// Removes an unfinished draft.
  ~Draft();

  /// The path to write to: a folder that exists, or a file that does not yet.
  [[nodiscard]] std::filesystem::path place() const;

  /// Moves the draft to its final path, once its contents are on the disk. Whoever opens the path
  /// finds the old or the new content, except for folders on a file system that cannot exchange
  /// two names (NFS): there the path is missing for a moment. kExists where another process made
  /// something of that name meanwhile, kCannotWrite.
  [[nodiscard]] Result<void> finish();

 private:
  Draft(std::filesystem::path path, std::filesystem::path hidden, Kind kind, Existing existing);

  std::filesystem::path path_;
  std::filesystem::path hidden_;  // empty in an object that was moved from
  Kind kind_;
  Existing existing_;
};

/// A new file that is written piece by piece at any offset. Writing is thread-safe.
class OutputFile {
 public:
  /// kExists, kCannotWrite.
  [[nodiscard]] static Result<OutputFile> create(const std::filesystem::path& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// kCannotWrite with the system's reason, such as no space left.
  [[nodiscard]] Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) const;

  /// Sets the file's size; bytes that were never written are zeros. kCannotWrite.
  [[nodiscard]] Result<void> resize(std::uint64_t size) const;

  /// Returns once the whole file is on the disk. kCannotWrite.
  [[nodiscard]] Result<void> sync() const;

 private:
  OutputFile(std::filesystem::path path, int descriptor);

  std::filesystem::path path_;
  int descriptor_;
};

/// Writes a new file, and returns once it is on the disk. kExists, kCannotWrite; then a part of the
/// file may be left.
[[nodiscard]] Result<void> write_new_file(const std::filesystem::path& path, std::string_view text);

/// Removes the drafts in a folder that were begun before `before` and whose owners ended without
/// removing them. Returns how many there were.
std::size_t remove_left_drafts(const std::filesystem::path& folder,
                               std::filesystem::file_time_type before);

/// Writes a small file in place of the one at `path`, if there is one. If the process or the
/// machine stops meanwhile, the file has either its earlier content or all of the new content. It
/// is written as `path` + ".new", which replaces what an ended process has left there. One writer
/// at a time. kCannotWrite.
[[nodiscard]] Result<void> replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace weft
