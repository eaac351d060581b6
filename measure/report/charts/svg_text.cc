#include "weft/measure/report/charts/svg_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "weft/core/text/utf8.h"
#include "weft/core/words.h"
#include "weft/measure/server/visible_text.h"

namespace weft::measure {
namespace {

// Returns the widths of DejaVu Sans, the widest of the fonts, as fractions of its size.
double letter_width(std::string_view letter) {
  constexpr std::string_view kNarrow = " .,:;'|!()[]/-fijlrtI";
  constexpr std::string_view kWide = "mwMW@%";
  if (letter.size() > 1) return static_cast<double>(columns_of(letter)) * 0.65;
  if (kNarrow.find(letter) != std::string_view::npos) return 0.4;
  if (kWide.find(letter) != std::string_view::npos) return 0.98;
  return letter.front() >= 'A' && letter.front() <= 'Z' ? 0.72 : 0.63;
}

constexpr std::string_view kEllipsis = "\u2026";

}  // namespace

std::string px(double value) {
  std::array<char, 32> digits{};  // a coordinate on a page or near it
  const double tenths = std::round(value * 10) / 10 + 0.0;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), tenths).ptr;
  return {digits.data(), end};
}

double text_width(std::string_view text, double size) {
  const std::string shown = visible(text);
  double width = 0;
  for (std::size_t at = 0; at < shown.size();) {
    const std::string_view letter = std::string_view(shown).substr(at, utf8_at(shown, at).length);
    width += letter_width(letter);
    at += letter.size();
  }
  return width * size;
}

std::string fitted(std::string_view text, double width, double size) {
  std::string shown = visible(text);
  if (text_width(shown, size) <= width) return shown;
  while (!shown.empty() && text_width(shown, size) + text_width(kEllipsis, size) > width) {
    shown.resize(utf8_before(shown, shown.size()));
  }
  return shown.append(kEllipsis);
}

std::vector<std::string> broken(std::string_view text, double width, double size) {
  std::vector<std::string> lines;
  const std::string shown = visible(text);
  std::string_view rest = shown;
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
    std::string longer = lines.empty() ? "" : lines.back() + " ";
    longer += word;
    if (lines.empty() || text_width(longer, size) > width) {
      lines.emplace_back(word);
    } else {
      lines.back() = std::move(longer);
    }
  }
  return lines;
}

std::string svg_text(double x, double y, std::string_view where, std::string_view text) {
  std::string element = "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\" class=\"";
  return element.append(where).append("\">").append(escaped(text)).append("</text>");
}

}  // namespace weft::measure
