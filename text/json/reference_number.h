#pragma once

namespace weft {

/// Returns the double that the reference's reader (serde_json without "float_roundtrip") makes of a
/// number's digits. `exact` is the number read from JSON to the nearest. The reference takes the
/// decimal digits as an integer, and divides or multiplies it by a power of ten, with a rounding in
/// each step. The last bit differs for one score in four, and decides between cuts of a word whose
/// sums are equal except for rounding. Thread-safe.
[[nodiscard]] double reference_number(double exact) noexcept;

}  // namespace weft
