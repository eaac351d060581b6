#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// A value with its own behaviour. Belongs to a Run's memory and is never destroyed separately.
class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  /// The name of Python's type, for messages.
  [[nodiscard]] virtual std::string_view type_name() const = 0;
  /// Writes the result of repr(); `depth` is the nesting depth of the value.
  virtual void print(TextBuilder& out, std::size_t depth) const;
  /// Returns nothing when there is no attribute of that name.
  virtual std::optional<Value> attribute(Run& run, std::string_view name);
  [[nodiscard]] virtual std::optional<std::size_t> size() const { return std::nullopt; }
  [[nodiscard]] virtual bool callable() const { return false; }
  virtual Value call(Run& run, const Arguments& arguments);

 protected:
  Object() = default;
  ~Object() = default;
};

/// A method taken from its value, or a global function, whose `self` is undefined.
class BoundBuiltin final : public Object {
 public:
  BoundBuiltin(const Builtin& builtin, const Value& self) : builtin_(builtin), self_(self) {}

  [[nodiscard]] std::string_view type_name() const override { return "builtin_function_or_method"; }
  [[nodiscard]] bool callable() const override { return true; }
  Value call(Run& run, const Arguments& arguments) override {
    return jinja::call(run, builtin_, self_, arguments);
  }

 private:
  const Builtin& builtin_;
  Value self_;
};

/// The result of namespace(), the only value that a template can change.
class Namespace final : public Object {
 public:
  explicit Namespace(Run& run) : attributes_(run.memory()) {}

  [[nodiscard]] std::string_view type_name() const override { return "Namespace"; }
  void print(TextBuilder& out, std::size_t depth) const override;
  std::optional<Value> attribute(Run& run, std::string_view name) override;
  void set(std::string_view name, const Value& value);

 private:
  Dict attributes_;
};

class Cycler final : public Object {
 public:
  explicit Cycler(std::span<const Value> items) : items_(items) {}

  [[nodiscard]] std::string_view type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(Run& run, std::string_view name) override;
  [[nodiscard]] const Value& current() const { return items_[at_]; }
  void advance() { at_ = (at_ + 1) % items_.size(); }
  void reset() { at_ = 0; }

 private:
  std::span<const Value> items_;  ///< Not empty.
  std::size_t at_ = 0;
};

/// Returns nothing at the first call and its separator at every later call.
class Joiner final : public Object {
 public:
  explicit Joiner(const Value& separator) : separator_(separator) {}

  [[nodiscard]] std::string_view type_name() const override { return "Joiner"; }
  [[nodiscard]] bool callable() const override { return true; }
  Value call(Run& run, const Arguments& arguments) override;

 private:
  Value separator_;
  bool used_ = false;
};

/// Returns Python's name of a value's type.
[[nodiscard]] std::string_view type_name(const Value& value);
/// Returns the message for the use of an undefined value: "'x' is undefined".
[[nodiscard]] std::string undefined_message(const Undefined& undefined);

}  // namespace weft::jinja
