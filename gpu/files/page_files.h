#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/gpu/files/page_folder.h"
#include "weft/gpu/files/page_key.h"
#include "weft/gpu/files/page_memory.h"

namespace weft {

/// Counts of the pages in files.
struct PageFilesStats {
  std::size_t pages = 0;       ///< pages that can be read now
  std::int64_t bytes = 0;      ///< bytes of all files
  std::uint64_t written = 0;   ///< pages written
  std::uint64_t read = 0;      ///< pages read
  std::uint64_t dropped = 0;   ///< pages that were not written because too many waited
  std::uint64_t failures = 0;  ///< failed reads and writes
};

/// Pages to be read one after the other, each into a page of the device.
class PageRead {
 public:
  PageRead(std::vector<PageKey> keys, std::vector<std::int32_t> pages)
      : keys_(std::move(keys)), pages_(std::move(pages)) {}

 private:
  friend class PageFiles;
  const std::vector<PageKey> keys_;
  const std::vector<std::int32_t> pages_;
  std::int32_t done_ = 0;  // how many pages are read so far
  bool over_ = false;      // all pages are read, or the next one cannot be read
  Duration took_{};
};

/// Pages of the KV cache in files: copies of pages of the device's memory, which are read back when
/// a sequence needs them. One thread does all reading and writing; no other thread waits for a
/// disk.
///
/// A page that is to be written must not change until it is written or withdrawn. A page that is
/// read into has no other user until the read is over or cancelled. withdraw() and cancel() wait
/// for at most one page to be copied by the device (PageMemory). The number of pages that wait to
/// be written is bounded, and further pages are dropped; the caller bounds the reads.
///
/// A failure is counted, and reported once until the same operation succeeds again. It has no other
/// effect: the page is computed again.
///
/// Thread-safe.
class PageFiles {
 public:
  static constexpr std::size_t kMostWaiting = 256;  // the most pages that wait to be written
  /// The longest time for which close() still writes waiting pages.
  static constexpr Duration kLastWrites = std::chrono::seconds(5);

  PageFiles(std::unique_ptr<PageFolder> folder, const PageKey& identity,
            std::unique_ptr<PageMemory> memory, std::int32_t pages);
  PageFiles(const PageFiles&) = delete;
  PageFiles& operator=(const PageFiles&) = delete;
  ~PageFiles();

  /// Sets the function that is called for failures: on the files' thread, or at once for an earlier
  /// failure. It must neither throw nor call back.
  void tell_by(std::function<void(const std::string& what)> tell);

  /// Called when a scheduler begins to use the files. Withdraws pages and cancels reads of an
  /// earlier scheduler. Returns true if there was none.
  bool attach();
  /// Writes waiting pages, for a limited time, and ends the thread. Afterwards nothing touches the
  /// device's memory, and no page is found. The device's owner calls it before destroying the
  /// device.
  void close();

  [[nodiscard]] const PageKey& identity() const noexcept { return identity_; }
  [[nodiscard]] bool contains(const PageKey& key) const;
  /// Queues the page to be written; returns false if too many pages wait.
  bool save(std::int32_t page, const PageKey& key);
  /// Withdraws a page from writing: afterwards the page may change.
  void withdraw(std::int32_t page);

  /// Queues pages to be read. There are as many pages as keys.
  void read(const std::shared_ptr<PageRead>& what);
  /// Returns whether the read is over. If so, sets `done` to the number of pages read and `took` to
  /// the time.
  [[nodiscard]] bool is_over(const PageRead& what, std::int32_t& done, Duration& took) const;
  /// Ends a read at once; afterwards its pages are not touched.
  void cancel(PageRead& what);

  [[nodiscard]] PageFilesStats stats() const;

 private:
  struct Save {
    std::int32_t page = 0;
    PageKey key{};
    std::uint64_t order = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  void work();
  void read_one(Lock& lock);
  void save_one(Lock& lock);
  [[nodiscard]] Result<void> copy(Lock& lock, std::int32_t page, bool into_memory);
  void note(Lock& lock, const Result<void>& done, bool& told, const char* what);
  void wait_for_copy(Lock& lock, std::int32_t page);

  const std::unique_ptr<PageFolder> folder_;
  const PageKey identity_;
  std::unique_ptr<PageMemory> memory_;  // used by the thread, until it has ended
  std::vector<std::byte> buffer_;       // the page being copied; used by the thread

  // Guards the following members; not held while files or pages are copied.
  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable copied_;
  std::deque<Save> saves_;
  std::deque<std::shared_ptr<PageRead>> reads_;
  std::vector<std::uint64_t> wanted_;  // by page: the number of its save; 0: not waiting
  std::uint64_t orders_ = 0;
  std::int32_t copying_ = -1;  // the page that is being copied
  std::function<void(const std::string&)> tell_;
  std::vector<std::string> untold_;
  bool told_of_reading_ = false;
  bool told_of_writing_ = false;
  bool attached_ = false;
  bool closing_ = false;
  TimePoint close_by_{};
  PageFilesStats stats_;
  std::thread thread_;  // last, because it uses all members above
};

}  // namespace weft
