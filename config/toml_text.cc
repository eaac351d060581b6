#include "weft/config/toml_text.h"

#include <algorithm>
#include <optional>

#include "weft/config/config_error.h"

namespace weft {
namespace {

std::string at_line(std::string_view name, std::size_t line) {
  return std::string(name) + ":" + std::to_string(line);
}

/// Returns the end of the string that begins `text`; the size of `text` when it does not end. Three
/// quotes open a string that three close, and up to two quotes of its own may precede the close.
std::size_t string_length(std::string_view text) {
  const char quote = text.front();
  const std::size_t quotes = std::min(text.find_first_not_of(quote), text.size());
  if (quotes == 2) return 2;  // the empty string
  const std::string_view close = text.substr(0, quotes < 3 ? 1 : 3);
  for (std::size_t at = close.size(); at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text.substr(at).starts_with(close)) {
      const std::string_view rest = text.substr(at);
      const std::size_t run = std::min(rest.find_first_not_of(quote), rest.size());
      return at + (close.size() == 1 ? 1 : std::min<std::size_t>(run, 5));
    } else if (text[at] == '\n' && close.size() == 1) {
      return at;  // unclosed, which toml++ reports
    }
  }
  return text.size();
}

/// Returns the line of a key with too many dots. A run of dots ends where neither a key nor a
/// number goes on.
std::optional<std::size_t> line_of_deep_key(std::string_view text) {
  constexpr std::string_view kEnds = "=,[]{}\n";
  std::size_t line = 1;
  std::size_t dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 1;
    const char c = text[at];
    if (c == '"' || c == '\'') {
      length = string_length(text.substr(at));
    } else if (c == '#') {
      length = std::min(text.find('\n', at), text.size()) - at;
    } else if (c == '.') {
      if (++dots > kMaxTomlKeyDots) return line;
    } else if (kEnds.find(c) != std::string_view::npos) {
      dots = 0;
    }
    line += static_cast<std::size_t>(std::ranges::count(text.substr(at, length), '\n'));
    at += length;
  }
  return std::nullopt;
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, std::string_view name) {
  if (text.size() > kMaxTomlBytes) {
    return Error{ConfigErrc::kBadToml, std::string(name) + ": more than 1 MiB"};
  }
  if (const auto line = line_of_deep_key(text)) {
    return Error{ConfigErrc::kBadToml, at_line(name, *line) + ": a key with more than " +
                                           std::to_string(kMaxTomlKeyDots) + " dots"};
  }
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    return Error{ConfigErrc::kBadToml, at_line(name, error.source().begin.line) + ": " +
                                           std::string(error.description())};
  }
}

std::string place_of(const toml::node& node, std::string_view name) {
  return at_line(name, node.source().begin.line);
}

}  // namespace weft
