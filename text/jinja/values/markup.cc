#include "weft/text/jinja/values/markup.h"

#include <algorithm>

namespace weft::jinja {
namespace {

std::string_view escape_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '\'':
      return "&#39;";
    default:
      return "&#34;";
  }
}

}  // namespace

void append_html(TextBuilder& out, std::string_view text) {
  if (!out.run().step_read(text.size())) return;
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find_first_of("&<>'\""), text.size());
    if (!out.append(text.substr(0, plain))) return;
    text.remove_prefix(plain);
    if (text.empty()) return;
    const char c = text.front();
    out.append_for(text.substr(0, 1), [&](std::string& piece) { piece = escape_of(c); });
    text.remove_prefix(1);
  }
}

void append_text(TextBuilder& out, const Text& text, bool into_markup) {
  if (into_markup && !text.markup) {
    append_html(out, text.view);
  } else {
    out.append(text.view);
  }
}

}  // namespace weft::jinja
