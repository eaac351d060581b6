#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::measure {

/// A coordinate in CSS pixels, to a tenth of one.
[[nodiscard]] std::string px(double value);

/// About how wide `text` is at `size` pixels, in the widest of the fonts that charts ask for.
[[nodiscard]] double text_width(std::string_view text, double size);

/// As much of `text` as `width` pixels hold, and an ellipsis where that is not all.
[[nodiscard]] std::string fitted(std::string_view text, double width, double size);

/// `text`, broken between words into lines of `width` pixels; a longer word has a line of its own.
[[nodiscard]] std::vector<std::string> broken(std::string_view text, double width, double size);

/// A <text> element. `where` is its class: how it looks and which end of it stands at `x`.
[[nodiscard]] std::string svg_text(double x, double y, std::string_view where,
                                   std::string_view text);

}  // namespace weft::measure
