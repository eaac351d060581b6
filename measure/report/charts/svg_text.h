#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::measure {

/// Writes a coordinate in CSS pixels, to a tenth of a pixel.
[[nodiscard]] std::string px(double value);

/// Estimates how wide `text` is at `size` pixels, in the widest of the fonts that charts ask for.
[[nodiscard]] double text_width(std::string_view text, double size);

/// Returns as much of `text` as fits into `width` pixels, with an ellipsis where it is cut.
[[nodiscard]] std::string fitted(std::string_view text, double width, double size);

/// Breaks `text` between words into lines of `width` pixels; a longer word has a line of its own.
[[nodiscard]] std::vector<std::string> broken(std::string_view text, double width, double size);

/// Writes a <text> element. `where` is its class, which sets its look and the end that is at `x`.
[[nodiscard]] std::string svg_text(double x, double y, std::string_view where,
                                   std::string_view text);

}  // namespace weft::measure
