#pragma once

#include <algorithm>
#include <memory_resource>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// The names of one block, with its parent's names behind them. A macro keeps the scope of its
/// definition. Belongs to a Run's memory; names belong to the template.
class Scope {
 public:
  Scope(Run& run, const Scope* parent) : parent_(parent), bindings_(run.memory()) {}

  void set(Run& run, std::string_view name, const Value& value) {
    if (!run.step_look(bindings_.size())) return;
    const auto found = std::ranges::find(bindings_, name, &Binding::first);
    if (found != bindings_.end()) {
      found->second = value;
    } else {
      bindings_.emplace_back(name, value);
    }
  }

  /// Returns null when no scope has the name.
  [[nodiscard]] const Value* find(Run& run, std::string_view name) const {
    std::size_t looked = 0;
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
      looked += 1 + scope->bindings_.size();
      if (looked >= kLooksPerStep && !run.step_look(std::exchange(looked, 0))) return nullptr;
      const auto found = std::ranges::find(scope->bindings_, name, &Binding::first);
      if (found != scope->bindings_.end()) return &found->second;
    }
    return nullptr;
  }

  void clear() { bindings_.clear(); }

 private:
  using Binding = std::pair<std::string_view, Value>;

  const Scope* parent_;
  std::pmr::vector<Binding> bindings_;
};

}  // namespace weft::jinja
