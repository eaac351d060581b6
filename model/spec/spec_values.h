#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/spec/expression.h"

namespace weft {

class Checkpoint;
struct CheckpointTensor;

/// The names that a spec's expressions see: variables first (`let`, `layer`, ...), then the
/// checkpoint's config. Keeps the first error, so that a whole spec is read without a check after
/// each value. Owner only; borrows the checkpoint.
class SpecScope final : public ExpressionScope {
 public:
  explicit SpecScope(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  [[nodiscard]] const boost::json::value* find(std::string_view name) const override;
  [[nodiscard]] bool states(std::string_view name) const override;
  [[nodiscard]] std::vector<std::int64_t> shape_of(std::string_view tensor) const override;
  [[nodiscard]] Result<boost::json::value> numbers_of(std::string_view tensor) const override;

  void set(std::string_view name, boost::json::value value);
  /// Names are searched in this object before the config itself (a nested text_config).
  void set_root(const boost::json::object* root) { root_ = root; }
  /// Sets the names that a GGUF spec computed in place of config.json.
  void set_config(boost::json::object config) { config_ = std::move(config); }
  /// Tensors may have one of these prefixes before their names, or none.
  void set_prefixes(std::vector<std::string> prefixes) { prefixes_ = std::move(prefixes); }

  /// Tensors whose names begin with one of these count as present: they are tensors of a file that
  /// is still to be written.
  void assume_tensors(std::vector<std::string> beginnings) { assumed_ = std::move(beginnings); }

  /// Keeps the first error.
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  [[nodiscard]] const Checkpoint& checkpoint() const { return checkpoint_; }
  /// Returns the tensors whose numbers expressions have read.
  [[nodiscard]] const std::vector<std::string>& tensors_read() const { return tensors_read_; }

  /// Returns a literal unchanged; evaluates a string that begins with "=".
  [[nodiscard]] boost::json::value evaluate(const boost::json::value& value,
                                            const std::string& where);

 private:
  /// Returns the objects in which names are searched, in this order; null if there is none.
  [[nodiscard]] std::array<const boost::json::object*, 4> places() const;
  /// Returns the tensor of this name, with the layer's number for "{layer}"; null if there is none.
  [[nodiscard]] const CheckpointTensor* tensor(std::string_view name) const;

  const Checkpoint& checkpoint_;
  boost::json::object variables_;
  boost::json::object config_;
  const boost::json::object* root_ = nullptr;
  std::vector<std::string> prefixes_;
  std::vector<std::string> assumed_;
  mutable std::vector<std::string> tensors_read_;
  std::optional<Error> error_;
};

/// Reads one table of a spec key by key, in a scope. An absent table gives all defaults.
class SpecTableReader {
 public:
  SpecTableReader(SpecScope& scope, const boost::json::object* fields, std::string path)
      : scope_(scope), fields_(fields), path_(std::move(path)) {}

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] bool present() const { return fields_ != nullptr; }
  [[nodiscard]] SpecTableReader table(std::string_view key) const;
  [[nodiscard]] boost::json::value value(std::string_view key) const;
  [[nodiscard]] bool flag(std::string_view key, bool otherwise) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view otherwise) const;
  /// Returns a list of strings; a single string is a list of one.
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;

  /// Returns a finite number in [low, high]; without `otherwise` the key is required.
  [[nodiscard]] double number(std::string_view key, std::optional<double> otherwise, double low,
                              double high) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::optional<std::int64_t> otherwise,
                                     std::int64_t low, std::int64_t high) const;

  /// Returns one of `choices` by its name; the first if the key is absent.
  template <class Enum>
  [[nodiscard]] Enum choice(
      std::string_view key,
      std::initializer_list<std::pair<std::string_view, Enum>> choices) const {
    const std::string chosen = text(key, choices.begin()->first);
    std::string known;
    for (const auto& [name, value] : choices) {
      if (name == chosen) return value;
      known.append(known.empty() ? "" : ", ").append(name);
    }
    fail(key, "'" + chosen + "' is not one of " + known);
    return choices.begin()->second;
  }

  void fail(std::string_view key, const std::string& what) const;
  [[nodiscard]] SpecScope& scope() const { return scope_; }
  [[nodiscard]] const boost::json::object* fields() const { return fields_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] std::string path_of(std::string_view key) const;

  SpecScope& scope_;
  const boost::json::object* fields_;
  std::string path_;
};

}  // namespace weft
