#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "weft/actors/adapters/adapter_info.h"
#include "weft/core/error/error.h"
#include "weft/core/io/output.h"

namespace weft {

/// The files of an adapter that a client sent, on their way into the folder of adapters. They lie
/// in a hidden place until they have been read, so a broken adapter replaces nothing. Owner only;
/// all calls wait for the disk.
class AdapterUpload {
 public:
  struct Target {
    std::filesystem::path folder{};  ///< Config::adapters_folder; empty: there is none
    std::int64_t folder_bytes = 0;   ///< Config::adapters_upload_bytes
    std::string name{};              ///< the adapter's; is_adapter_name()
    bool replaces = false;           ///< what has the name in the folder is replaced
  };

  /// Writes the files to the hidden place. kBadRequest: uploads are not allowed, the files are not
  /// those of an adapter, the folder has no room for them, the folder has the name in the other
  /// form (a folder for a GGUF file, or the reverse) or as something that is no adapter, or the
  /// place would lie in another adapter; kAdapterLoaded: the folder has the name, and `replaces` is
  /// false; kAdapterFailed: the disk refused.
  [[nodiscard]] static Result<AdapterUpload> write(const Target& target, const AdapterFiles& files);

  /// Returns where the adapter can be read before finish().
  [[nodiscard]] std::filesystem::path place() const { return draft_.place(); }
  /// Moves the files to the name's place in the folder, and returns that. kAdapterLoaded,
  /// kAdapterFailed.
  [[nodiscard]] Result<std::filesystem::path> finish();

 private:
  AdapterUpload(Draft draft, std::filesystem::path path);

  Draft draft_;
  std::filesystem::path path_;
};

/// Checks that erase_adapter_files() may remove a name's place. kBadRequest: uploads are not
/// allowed, the folder has no such place, or the place is no adapter.
[[nodiscard]] Result<void> check_erasable(const AdapterUpload::Target& target);
/// Removes a name's place from the folder of adapters. Errors of check_erasable(); kAdapterFailed:
/// the disk refused.
[[nodiscard]] Result<void> erase_adapter_files(const AdapterUpload::Target& target);

}  // namespace weft
