#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/gpu/sequence_traits.h"

namespace weft {

/// An adapter of a model at one moment.
struct AdapterInfo {
  std::string name{};
  std::string path{};        ///< where it was read; only for the operator
  std::int64_t created = 0;  ///< seconds since 1970 when the name got its content; 0: not read yet
  std::int64_t rank = 0;     ///< the greatest of its matrices; 0: not read yet
  AdapterId id{};            ///< its content; zeros: not read yet
  /// Counts the model's names from 0. A name keeps its number while it is known, and no later name
  /// gets that number.
  std::int64_t number = 0;
};

/// A file of an adapter, as a client sent it.
struct UploadedFile {
  std::string name{};
  std::string_view content{};
};

/// The files of an adapter that a client sent: adapter_config.json and its matrices
/// (adapter_model.safetensors or adapter_model.bin), or one GGUF file.
struct UploadedFiles {
  std::vector<UploadedFile> files{};
  std::shared_ptr<const void> owner{};  ///< keeps the contents
};

/// A change of one of a model's adapters (Engine::async_load_adapter, async_unload_adapter).
struct AdapterChange {
  AdapterChange() = default;  // no aggregate: docs/asio-compliance.md says why
  explicit AdapterChange(std::string name_of_adapter, std::string its_path = {})
      : name(std::move(name_of_adapter)), path(std::move(its_path)) {}

  std::string model{};  ///< its name; "": the first
  std::string name{};   ///< the adapter's
  /// A PEFT folder or a GGUF file, in Config::adapters_folder if relative; empty: the place in that
  /// folder that is called as the adapter.
  std::string path{};
  /// The adapter's files, which are put into Config::adapters_folder under the adapter's name, once
  /// they were read from there. `path` means nothing then. Null: the files are there already.
  std::shared_ptr<const UploadedFiles> files{};
  bool replaces = false;  ///< the name may have an adapter, which requests under way keep
  /// The caller made the adapter: its path may lie anywhere, and its name may be that of a
  /// fine-tuned model (is_tuned_name()). Not for what a client says.
  bool is_own = false;
  bool unloads = false;  ///< removes the name; `path`, `files` and `replaces` mean nothing
  /// With `unloads`: also removes the place in Config::adapters_folder that is called as the
  /// adapter.
  bool erases_files = false;
};

}  // namespace weft
