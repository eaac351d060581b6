#pragma once

#include "weft/measure/engine/measured_model.h"

namespace weft::test {

/// A random llama that answers in a fraction of a millisecond: context 256, a vocabulary of bytes
/// and a few words.
inline const measure::MeasuredModel& tiny_model() {
  static const measure::MeasuredModel model = measure::make_random_model(
      "tiny", {.layers = 2, .hidden = 64, .vocabulary = 300, .context = 256});
  return model;
}

}  // namespace weft::test
