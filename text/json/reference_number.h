#pragma once

namespace weft {

/// `exact`, a number that was read from JSON to the nearest, as the reference's reader (serde_json
/// without "float_roundtrip") has it: its decimal digits as an integer over or times a power of
/// ten, each of these steps rounded. The last bit differs for one score in four, and decides
/// between ways to cut a word whose sums are equal but for rounding. Thread-safe.
[[nodiscard]] double reference_number(double exact) noexcept;

}  // namespace weft
