#pragma once

#include <stdexcept>
#include <string>

#include "weft/core/error/error.h"
#include "weft/gpu/cuda/runtime/runtime.h"

namespace weft::cuda {

/// A call that CUDA refused, or work that failed; the text says which.
class Failure : public std::runtime_error {
 public:
  Failure(Status status, const std::string& what) : std::runtime_error(what), status_(status) {}
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// Throws Failure unless `status` is success. `what` names the call, for people.
void check(const Runtime& runtime, Status status, const char* what);

/// kOutOfMemory or kDriver.
[[nodiscard]] Error error_of(const Failure& failure);

}  // namespace weft::cuda
