#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "weft/core/error/error.h"
#include "weft/gpu/files/page_file.h"
#include "weft/gpu/files/page_key.h"

namespace weft {

/// A folder with a file for each page (PageFile): pages that this process keeps while there is
/// room, and pages of earlier processes. A file's name is its key (`<64 digits>.kv`), so no name
/// comes from outside. A file is written under a hidden name and then renamed, so a process that is
/// killed leaves no partial file. A new folder gets the mode 0700; an existing folder keeps its
/// mode. A file that does not match its name, or belongs to another model or version, stays unread.
/// It takes room, so it is removed like other files: the least recently used first. After a start
/// the files' times decide.
///
/// One object of one process at a time owns the folder (by a lock on its file `lock`).
///
/// Other threads may call contains() while one thread reads and writes.
class PageFolder {
 public:
  /// The most files, however small they are: their names are in memory.
  static constexpr std::size_t kMostFiles = std::size_t{1} << 20U;

  /// Creates the folder if it is missing (but no parent folders), and looks at the files in it.
  /// `page_bytes` is the size of a page, `most_bytes` the limit for all files, `put` is PageFile's.
  /// FileErrc::kCannotWrite naming the folder; kExists if another process has it; kTooLarge if
  /// there is no room for one page.
  static Result<std::unique_ptr<PageFolder>> open(const std::filesystem::path& folder,
                                                  const PageKey& identity, std::size_t page_bytes,
                                                  std::int64_t most_bytes, PageFile::Put put = {});
  PageFolder(const PageFolder&) = delete;
  PageFolder& operator=(const PageFolder&) = delete;
  ~PageFolder();

  [[nodiscard]] bool contains(const PageKey& key) const;
  [[nodiscard]] std::size_t size() const;    ///< pages that can be read
  [[nodiscard]] std::int64_t bytes() const;  ///< bytes of all files
  /// Files that were there at the start and are not read.
  [[nodiscard]] std::size_t foreign() const noexcept { return foreign_; }

  /// Whether the folder's mode lets other users see or change its files.
  [[nodiscard]] bool is_open_to_others() const noexcept { return is_open_to_others_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_; }

  /// Writes a page, unless it is there. If the disk is full, it removes the least recently used
  /// pages, at most two, since another program may take the room. kCannotWrite with the system's
  /// reason.
  [[nodiscard]] Result<void> write(const PageKey& key, std::span<const std::byte> page);
  /// Fills `page` with the written page. kCannotRead; a page that cannot be read is forgotten.
  [[nodiscard]] Result<void> read(const PageKey& key, std::span<std::byte> page);

 private:
  struct Entry {
    PageKey key{};
    std::int64_t bytes = 0;
    bool usable = false;  // false: it only takes room
  };
  using Entries = std::list<Entry>;  // least recently used first

  PageFolder(std::filesystem::path folder, PageFile file, std::int64_t most_bytes, int lock);

  void look_through();
  void add(const Entry& entry);
  void make_room(std::int64_t bytes);
  bool remove_oldest();
  [[nodiscard]] int write_file(const PageKey& key, std::span<const std::byte> page);
  void forget(const PageKey& key);
  [[nodiscard]] std::filesystem::path path_of(const PageKey& key) const;

  const std::filesystem::path folder_;
  const std::int64_t most_bytes_;
  const int lock_;
  bool is_open_to_others_ = false;
  std::size_t foreign_ = 0;
  PageFile file_;

  // Guards the following members; never held while a file is read or written.
  mutable std::mutex mutex_;
  Entries entries_;
  std::unordered_map<PageKey, Entries::iterator, PageKeyHash> by_key_;
  std::int64_t bytes_ = 0;
  std::size_t usable_ = 0;
};

}  // namespace weft
