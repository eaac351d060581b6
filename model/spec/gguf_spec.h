#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

class Checkpoint;
class Spec;
class SpecScope;

/// Whether the spec's [gguf] table names the file's general.architecture and its `where` is true.
[[nodiscard]] bool claims_gguf(const Spec& spec, const Checkpoint& checkpoint);

/// Returns the keys of `spec` for a GGUF file, and sets in `scope` the fields that replace
/// config.json's. Keys that all GGUF files share are in config/gguf.toml and replace the spec's
/// own. Then the spec's own [gguf.config] and [gguf.override] apply. A spec without [gguf] is
/// returned unchanged.
[[nodiscard]] boost::json::object apply_gguf(const Spec& spec, SpecScope& scope);

/// The [gguf] tables for writing a model that `spec` reads: its own, or those of the built-in spec
/// that claims the architecture in gguf.write_as.
struct GgufTarget {
  std::string architecture;      ///< general.architecture
  const Spec* reader = nullptr;  ///< reads such files
};

/// `spec` outlives the result. kUnsupportedFormat if the spec has no [gguf], or write_as is null.
[[nodiscard]] Result<GgufTarget> gguf_target(const Spec& spec, SpecScope& scope);

/// Returns the keys of `spec` with each tensor's name from `reader`, as in a GGUF file.
[[nodiscard]] boost::json::object gguf_naming(const Spec& spec, const Spec& reader);

/// Returns the metadata from [gguf.metadata] of gguf.toml, then of `reader`, then of `spec`: keys
/// without the architecture's name in front. Expressions are computed for each of `layers`, an
/// object that they see as `model`; null values are skipped. If all layers agree the result is one
/// value, else a list.
[[nodiscard]] boost::json::object gguf_metadata(const Spec& spec, const Spec& reader,
                                                SpecScope& scope,
                                                const std::vector<boost::json::object>& layers);

}  // namespace weft
