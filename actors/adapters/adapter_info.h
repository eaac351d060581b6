#pragma once

#include <cstdint>
#include <string>
#include <utility>

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
  bool replaces = false;  ///< the name may have an adapter, which requests under way keep
  /// The caller made the adapter: its path may lie anywhere, and its name may be that of a
  /// fine-tuned model (is_tuned_name()). Not for what a client says.
  bool is_own = false;
  bool unloads = false;  ///< removes the name; `path` and `replaces` mean nothing
};

}  // namespace weft
