#pragma once

#include <initializer_list>

#include "weft/core/error/error.h"

namespace weft {

/// A system library that is loaded while the program runs, because it is large and few runs need
/// it. It stays loaded until the process ends, even when this object is gone, because NVIDIA's
/// libraries keep threads and handlers of their own. Cheap to copy; thread-safe.
class SharedLibrary {
 public:
  /// Opens the first of `names` that exists: a file name, searched like the program's linked
  /// libraries, or a path. FileErrc::kCannotRead with the system's message about the first.
  [[nodiscard]] static Result<SharedLibrary> open(std::initializer_list<const char*> names);

  /// Sets `function` to the library's function of that name. The caller vouches for its type, best
  /// taken by decltype from the library's header. FileErrc::kCannotRead with library and name.
  template <class Function>
  [[nodiscard]] Result<void> find(const char* name, Function*& function) const {
    const Result<void*> found = symbol(name);
    if (!found) return found.error();
    function = reinterpret_cast<Function*>(*found);
    return {};
  }

 private:
  explicit SharedLibrary(void* handle) noexcept : handle_(handle) {}
  [[nodiscard]] Result<void*> symbol(const char* name) const;

  void* handle_;
};

}  // namespace weft
