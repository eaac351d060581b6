#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// What a file is for, in OpenAI's words.
inline constexpr std::string_view kFineTunePurpose = "fine-tune";
inline constexpr std::string_view kFineTuneResultsPurpose = "fine-tune-results";

/// A file as its owner sees it.
struct TrainingFile {
  std::string id{};
  std::string owner{};  ///< the name of the API key; empty: there are no keys
  std::string name{};   ///< the name that the client gave
  std::string purpose{};
  std::int64_t bytes = 0;
  std::int64_t created = 0;  ///< seconds since 1970
  std::int64_t number = 0;   ///< counts the store's files
};

/// A file that a job needs, perhaps after the file was deleted.
struct HeldFile {
  std::string id{};
  std::string owner{};
  std::int64_t bytes = 0;
};

/// The files that clients have uploaded, in a folder. A file is a folder of its own with its
/// content and a description, and gets its name when both are on the disk: a process that ends at
/// any moment leaves whole files, and drafts that open() removes. Thread-safe. All functions but
/// list() and find() wait for the disk; none does so under the lock.
class FileStore {
 public:
  /// The bounds of a file and of all files. An owner may have share_of() the latter two.
  struct Bounds {
    std::int64_t file_bytes = 0;
    std::int64_t all_bytes = 0;
    std::size_t files = 0;
  };
  /// What files take, also while they are written or removed.
  struct Use {
    std::int64_t files = 0;
    std::int64_t bytes = 0;
  };

  /// Opens a folder, and makes it if need be. kBadFolder naming a file of another version;
  /// FileErrc.
  [[nodiscard]] static Result<FileStore> open(std::filesystem::path folder, const Bounds& bounds);
  FileStore(FileStore&& other) noexcept;
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;
  FileStore& operator=(FileStore&&) = delete;
  ~FileStore() = default;

  /// Asks `held` from now on for the files that jobs need. The bytes of deleted ones count as well,
  /// since they are on the disk. `held` must not call the store. To be called before add().
  void count_held(std::function<std::vector<HeldFile>()> held) { held_ = std::move(held); }
  /// The files of all owners, with the bytes of held ones.
  [[nodiscard]] Use use() const;

  /// Keeps a file; `file` has owner, name and purpose, and gets an id if it has none. Training data
  /// is checked first (check_training_data()). kFileTooLarge, kFull, kBadFile, FileErrc.
  [[nodiscard]] Result<TrainingFile> add(TrainingFile file, std::string_view content);
  /// kNoSuchFile, also for a file of another owner.
  [[nodiscard]] Result<TrainingFile> find(std::string_view id, std::string_view owner) const;
  /// The owner's files, the newest first.
  [[nodiscard]] std::vector<TrainingFile> list(std::string_view owner) const;
  /// kNoSuchFile; FileErrc.
  [[nodiscard]] Result<std::string> content(std::string_view id, std::string_view owner) const;
  /// kNoSuchFile; FileErrc: what is left of the file still counts, and a file that is whole can be
  /// deleted again.
  [[nodiscard]] Result<void> erase(std::string_view id, std::string_view owner);

  /// Returns the path of a file's content; valid until the file is deleted.
  [[nodiscard]] std::filesystem::path path_of(std::string_view id) const;

 private:
  FileStore(std::filesystem::path folder, const Bounds& bounds);

  [[nodiscard]] Result<void> reserve(const std::string& owner, std::int64_t bytes);
  void give_back(const std::string& owner, std::int64_t bytes);
  [[nodiscard]] std::vector<HeldFile> held() const;
  [[nodiscard]] Use use_locked(const std::vector<HeldFile>& held, const std::string* owner) const;
  [[nodiscard]] Result<void> write(const TrainingFile& file, std::string_view content) const;

  const std::filesystem::path folder_;
  const Bounds bounds_;
  std::function<std::vector<HeldFile>()> held_{};           // called without the mutex
  mutable std::mutex mutex_;                                // guards the rest
  std::map<std::string, TrainingFile, std::less<>> files_;  // by id
  std::map<std::string, Use> uses_;                         // by owner
  std::int64_t next_number_ = 0;
};

}  // namespace weft
