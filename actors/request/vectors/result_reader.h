#pragma once

#include "weft/actors/request/request.h"
#include "weft/gpu/activation_reader.h"

namespace weft {

/// Makes the result of a request without text, from the model's activations of its prompt. The
/// executor calls read(), and afterwards the detokenizer calls the other functions; the messages
/// between the two order their accesses.
class ResultReader : public ActivationReader {
 public:
  /// Whether read() has received everything that the result needs; called after the last read().
  [[nodiscard]] virtual bool complete() const noexcept = 0;
  /// Whether the model gave NaN where the result needs numbers; only for a complete result.
  [[nodiscard]] virtual bool lacks_numbers() const noexcept { return false; }
  /// Puts a complete result into `finish`. Throws std::bad_alloc.
  virtual void give(Finish& finish) const = 0;
};

}  // namespace weft
