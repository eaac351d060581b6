#pragma once

#include "weft/actors/request/request.h"
#include "weft/gpu/activation_reader.h"

namespace weft {

/// Makes the result of a request that gets no text, from what the model computes of its prompt. The
/// executor calls read(), and afterwards the detokenizer the rest; the messages between the two
/// order what they write and read.
class ResultReader : public ActivationReader {
 public:
  /// Whether all that the result needs was read; only once nothing reads it any more.
  [[nodiscard]] virtual bool complete() const noexcept = 0;
  /// Whether the model gave no numbers where the result needs some; only of a complete one.
  [[nodiscard]] virtual bool lacks_numbers() const noexcept { return false; }
  /// Puts the result into `finish`, of a prompt that was read. Throws std::bad_alloc.
  virtual void give(Finish& finish) const = 0;
};

}  // namespace weft
