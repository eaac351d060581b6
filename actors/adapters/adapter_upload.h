#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "weft/actors/adapters/adapter_info.h"
#include "weft/core/error/error.h"
#include "weft/core/io/output.h"

namespace weft {

/// Removes the folders between the folder of adapters and a place in it that are empty at the end.
class EmptyParents {
 public:
  EmptyParents(std::filesystem::path folder, std::filesystem::path place)
      : folder_(std::move(folder)), place_(std::move(place)) {}
  EmptyParents(EmptyParents&& other) noexcept
      : folder_(std::move(other.folder_)), place_(std::exchange(other.place_, {})) {}
  EmptyParents(const EmptyParents&) = delete;
  EmptyParents& operator=(const EmptyParents&) = delete;
  EmptyParents& operator=(EmptyParents&&) = delete;
  ~EmptyParents();

 private:
  std::filesystem::path folder_;
  std::filesystem::path place_;  // empty in an object that was moved from
};

/// The files of an adapter that a client sent, on their way into the folder of adapters. They lie
/// in a hidden place until they have been read, so a broken adapter replaces nothing. Owner only;
/// all calls wait for the disk.
class AdapterUpload {
 public:
  struct Target {
    std::filesystem::path folder{};  ///< Config::adapters_folder; empty: there is none
    std::int64_t folder_bytes = 0;   ///< Config::adapters_upload_bytes
    std::string name{};              ///< the adapter's; is_adapter_name()
    bool replaces = false;           ///< an adapter of this name in the folder is replaced
  };

  /// Writes the files to the hidden place. kBadRequest: uploads are not allowed, the files are not
  /// those of an adapter, the folder has no room for them, the folder has the name in the other
  /// form (a folder for a GGUF file, or the reverse) or as something that is no adapter, or the
  /// place would lie in another adapter; kAdapterLoaded: the folder has the name, and `replaces` is
  /// false; kAdapterFailed: the disk refused.
  [[nodiscard]] static Result<AdapterUpload> write(const Target& target,
                                                   const UploadedFiles& files);

  /// Returns where the adapter can be read before finish().
  [[nodiscard]] std::filesystem::path place() const { return draft_.place(); }
  /// Moves the files to the name's place in the folder, and returns that. kAdapterLoaded,
  /// kAdapterFailed.
  [[nodiscard]] Result<std::filesystem::path> finish();

 private:
  AdapterUpload(EmptyParents parents, Draft draft, std::string name, std::filesystem::path path);

  EmptyParents parents_;  // destroyed after the draft, which may be the last entry of a folder
  Draft draft_;
  std::string name_;
  std::filesystem::path path_;
};

/// Checks that erase_adapter_files() may remove a name's place. kBadRequest: uploads are not
/// allowed, the folder has no such place, or the place is no adapter.
[[nodiscard]] Result<void> check_erasable(const AdapterUpload::Target& target);
/// Removes a name's place from the folder of adapters. Errors of check_erasable(); kAdapterFailed:
/// the disk refused.
[[nodiscard]] Result<void> erase_adapter_files(const AdapterUpload::Target& target);

}  // namespace weft
