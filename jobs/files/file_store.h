#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
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

/// The files that clients have uploaded, in a folder. A file is a folder of its own with its
/// content and a description, and gets its name when both are on the disk: a process that ends at
/// any moment leaves whole files, and drafts that open() removes. Thread-safe. All functions but
/// list() and find() wait for the disk; none does so under the lock.
class FileStore {
 public:
  struct Bounds {
    std::int64_t file_bytes = 0;
    std::int64_t all_bytes = 0;
    std::size_t files = 0;
  };

  /// Opens a folder, and makes it if need be. kBadFolder naming a file of another version;
  /// FileErrc.
  [[nodiscard]] static Result<FileStore> open(std::filesystem::path folder, const Bounds& bounds);
  FileStore(FileStore&& other) noexcept;
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;
  FileStore& operator=(FileStore&&) = delete;
  ~FileStore() = default;

  /// Keeps a file; `file` has owner, name and purpose. Training data is checked first
  /// (check_training_data()). kFileTooLarge, kFull, kBadFile, FileErrc.
  [[nodiscard]] Result<TrainingFile> add(TrainingFile file, std::string_view content);
  /// kNoSuchFile, also for a file of another owner.
  [[nodiscard]] Result<TrainingFile> find(std::string_view id, std::string_view owner) const;
  /// The owner's files, the newest first.
  [[nodiscard]] std::vector<TrainingFile> list(std::string_view owner) const;
  /// kNoSuchFile; FileErrc.
  [[nodiscard]] Result<std::string> content(std::string_view id, std::string_view owner) const;
  /// kNoSuchFile; FileErrc.
  [[nodiscard]] Result<void> erase(std::string_view id, std::string_view owner);

  /// Returns the path of a file's content; valid until the file is deleted.
  [[nodiscard]] std::filesystem::path path_of(std::string_view id) const;

 private:
  FileStore(std::filesystem::path folder, const Bounds& bounds);

  [[nodiscard]] Result<void> reserve(std::int64_t bytes);
  void give_back(std::int64_t bytes);
  [[nodiscard]] Result<void> write(const TrainingFile& file, std::string_view content) const;

  const std::filesystem::path folder_;
  const Bounds bounds_;
  mutable std::mutex mutex_;                                // guards the rest
  std::map<std::string, TrainingFile, std::less<>> files_;  // by id
  std::int64_t bytes_ = 0;   // of all files, also of files that are being written
  std::size_t writing_ = 0;  // files that are being written
  std::int64_t next_number_ = 0;
};

}  // namespace weft
