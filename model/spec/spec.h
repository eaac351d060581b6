#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

class Checkpoint;

/// A model family as data: which checkpoints it claims, and how their config determines blocks,
/// sizes and tensor names. docs/model-specs.md explains every key. Immutable.
class Spec {
 public:
  /// Parses TOML and checks that every key is known. `file` is for messages. kBadSpec.
  [[nodiscard]] static Result<Spec> parse(std::string_view toml, std::string file);

  [[nodiscard]] static Result<Spec> load(const std::filesystem::path& path);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }

  /// Returns the keys as JSON; strings that begin with "=" are expressions.
  [[nodiscard]] const boost::json::object& tree() const noexcept { return tree_; }

  /// Whether a checkpoint with this config belongs to the family: by claims.model_type, then
  /// claims.architectures; a GGUF file by gguf.architectures and gguf.where.
  [[nodiscard]] bool claims(const Checkpoint& checkpoint) const;

 private:
  friend Result<Spec> unwrap_spec(const Spec& spec, const Checkpoint& checkpoint);

  Spec(std::string name, std::string file, boost::json::object tree)
      : name_(std::move(name)), file_(std::move(file)), tree_(std::move(tree)) {}

  std::string name_;
  std::string file_;
  boost::json::object tree_;
};

/// Returns the specs that come with Weft (config/models), by name. Parsed once, thread-safe.
[[nodiscard]] std::span<const Spec> builtin_specs();

/// Returns the spec for a checkpoint: weft.toml in the model's folder (for a file, NAME.weft.toml
/// beside it) if it exists, else the built-in spec that claims the checkpoint. kUnknownModel naming
/// model_type and architectures.
[[nodiscard]] Result<Spec> find_spec(const Checkpoint& checkpoint);

/// Reads the spec in this file, for a checkpoint. Like find_spec(), it resolves `wraps`.
[[nodiscard]] Result<Spec> spec_from(const std::filesystem::path& path,
                                     const Checkpoint& checkpoint);

/// Returns `base` with the keys of `over` instead of its own, table by table.
[[nodiscard]] boost::json::object merge_tables(const boost::json::object& base,
                                               const boost::json::object& over);

/// One table of a spec and its possible keys; for checks and for the documentation's test.
struct SpecTable {
  std::string_view name;
  std::span<const std::string_view> keys;
};
[[nodiscard]] std::span<const SpecTable> spec_schema() noexcept;

}  // namespace weft
