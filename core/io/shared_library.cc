#include "weft/core/io/shared_library.h"

#include <dlfcn.h>

#include <optional>
#include <string>

#include "weft/core/io/file.h"

namespace weft {
namespace {

// The system keeps the last failure for each thread until it is asked for.
Error last_failure(const char* name) {
  const char* why = ::dlerror();
  return Error{FileErrc::kCannotRead, why != nullptr ? why : name};
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(std::initializer_list<const char*> names) {
  std::optional<Error> first;
  for (const char* name : names) {
    if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
      return SharedLibrary(handle);
    }
    if (!first) first = last_failure(name);
  }
  return first.value_or(Error{FileErrc::kCannotRead, "no name"});
}

Result<void*> SharedLibrary::symbol(const char* name) const {
  void* found = ::dlsym(handle_, name);
  if (found == nullptr) return last_failure(name);
  return found;
}

}  // namespace weft
