#pragma once

namespace weft {

/// Returns the double that the reference's reader (serde_json without "float_roundtrip") makes of
/// the digits of `exact`, which was read from JSON to the nearest: the decimal digits as an integer
/// over or times a power of ten, each step rounded. The last bit differs for one score in four, and
/// decides between ways to cut a word whose sums are equal but for rounding. Thread-safe.
[[nodiscard]] double reference_number(double exact) noexcept;

}  // namespace weft
