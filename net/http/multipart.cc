#include "weft/net/http/multipart.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <cstddef>
#include <optional>
#include <utility>

#include "weft/core/text/trimmed.h"
#include "weft/net/http/header_values.h"

namespace weft {
namespace {

constexpr std::string_view kFormType = "multipart/form-data";
constexpr std::string_view kLineEnd = "\r\n";
/// RFC 2046, section 5.1.1.
constexpr std::size_t kLongestBoundary = 70;

ApiError bad_form(std::string_view why) {
  return {.code = "invalid_form", .message = "the body is no form: " + std::string(why)};
}

/// Takes a token, or a quoted string without its quotes and backslashes, from the front of `text`.
std::string take_value(std::string_view& text) {
  std::string value;
  if (!text.starts_with('"')) {
    const std::size_t end = std::min(text.find(';'), text.size());
    value = trimmed(text.substr(0, end));
    text.remove_prefix(end);
    return value;
  }
  std::size_t at = 1;
  for (; at < text.size() && text[at] != '"'; ++at) {
    // Some browsers send paths of Windows without a second backslash.
    const bool escapes =
        text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\');
    if (escapes) ++at;
    value.push_back(text[at]);
  }
  text.remove_prefix(std::min(at + 1, text.size()));
  return value;
}

/// Returns the parameter of a header's value, such as boundary=; nothing where there is none.
std::optional<std::string> parameter(std::string_view value, std::string_view name) {
  std::size_t at = value.find(';');
  while (at < value.size()) {
    value.remove_prefix(at + 1);
    const std::size_t equals = value.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view found = trimmed(value.substr(0, equals));
    value.remove_prefix(equals + 1);
    std::string text = take_value(value);
    if (boost::beast::iequals(found, name)) return text;
    at = value.find(';');
  }
  return std::nullopt;
}

/// Reads the lines of a part's header.
ApiResult<FormPart> part_of(std::string_view header) {
  FormPart part;
  while (!header.empty()) {
    const std::size_t end = std::min(header.find(kLineEnd), header.size());
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + kLineEnd.size(), header.size()));
    if (!istarts_with(line, "content-disposition:")) continue;
    part.name = parameter(line, "name").value_or(std::string());
    part.filename = parameter(line, "filename").value_or(std::string());
  }
  if (part.name.empty()) return bad_form("a part has no name");
  return part;
}

/// Takes the part at the front of `rest`, which begins behind a boundary, and the boundary behind
/// it.
ApiResult<FormPart> take_part(std::string_view& rest, std::string_view delimiter) {
  const std::size_t line_end = rest.find(kLineEnd);
  if (line_end == std::string_view::npos || !trimmed(rest.substr(0, line_end)).empty())
    return bad_form("a boundary has no line of its own");
  rest.remove_prefix(line_end);  // so that a part without a header begins with an empty line, too
  const std::size_t header_end = rest.find("\r\n\r\n");
  const std::size_t end = rest.find(delimiter, header_end);
  if (header_end == std::string_view::npos || end == std::string_view::npos)
    return bad_form("it does not end with the last boundary");
  if (rest.substr(0, header_end).find(delimiter) != std::string_view::npos)
    return bad_form("no empty line ends a part's header");
  auto part = part_of(header_end == 0 ? std::string_view()
                                      : rest.substr(kLineEnd.size(), header_end - kLineEnd.size()));
  if (!part) return part;
  const std::size_t begin = header_end + 2 * kLineEnd.size();
  part->content = begin > end ? std::string_view() : rest.substr(begin, end - begin);
  rest.remove_prefix(end + delimiter.size());
  return part;
}

}  // namespace

bool is_form(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  return boost::beast::iequals(trimmed(type), kFormType);
}

ApiResult<std::vector<FormPart>> form_parts(std::string_view content_type, std::string_view body) {
  if (!is_form(content_type)) return bad_form("its content type must be multipart/form-data");
  const auto boundary = parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > kLongestBoundary)
    return bad_form("its content type has no boundary");
  // The first boundary may stand at the very beginning.
  const std::string delimiter = "\r\n--" + *boundary;
  const std::string_view first = std::string_view(delimiter).substr(kLineEnd.size());
  const bool begins = body.starts_with(first);
  const std::size_t start = begins ? first.size() : body.find(delimiter);
  if (start == std::string_view::npos) return bad_form("it has no boundary");
  std::string_view rest = body.substr(begins ? start : start + delimiter.size());
  std::vector<FormPart> parts;
  while (!rest.starts_with("--")) {
    if (parts.size() == kMostFormParts) return bad_form("it has too many parts");
    auto part = take_part(rest, delimiter);
    if (!part) return std::move(part).error();
    parts.push_back(*std::move(part));
  }
  return parts;
}

}  // namespace weft
