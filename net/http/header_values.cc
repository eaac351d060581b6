#include "weft/net/http/header_values.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <charconv>

#include "weft/core/text/hex_value.h"
#include "weft/core/text/trimmed.h"
#include "weft/text/json/base64.h"

namespace weft {
namespace {

bool percent_decode(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0 || high * 16 + low == 0) return false;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return true;
}

/// Returns a path without empty segments.
std::string without_empty_segments(std::string_view path) {
  std::string plain;
  plain.reserve(path.size());
  for (const char c : path) {
    if (c != '/' || !plain.ends_with('/')) plain.push_back(c);
  }
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

}  // namespace

std::string warning_value(const std::vector<std::string>& places) {
  std::string value;
  for (const std::string& place : places) {
    value += value.empty() ? "not enforced: " : ", ";
    for (const char c : place) {
      const bool is_plain = c >= ' ' && c <= '~' && c != ',' && c != '%' && c != '"';
      if (is_plain) {
        value += c;
      } else {
        value += fmt::format("%{:02X}", static_cast<unsigned char>(c));
      }
    }
  }
  return value;
}

bool istarts_with(std::string_view text, std::string_view start) noexcept {
  return text.size() >= start.size() && boost::beast::iequals(text.substr(0, start.size()), start);
}

std::vector<std::string_view> list_items(std::string_view list) {
  std::vector<std::string_view> items;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (const auto item = trimmed(list.substr(0, comma)); !item.empty()) items.push_back(item);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return items;
}

bool split_target(std::string_view target, std::string& path, std::string& query) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!istarts_with(target, scheme)) continue;
    const auto slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  if (!target.starts_with('/')) return false;
  const auto mark = target.find('?');
  if (mark != std::string_view::npos) query = target.substr(mark + 1);
  return percent_decode(without_empty_segments(target.substr(0, mark)), path);
}

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    std::string value;
    if (pair.substr(0, equals) != name) continue;
    const bool decodable = percent_decode(pair.substr(std::min(equals + 1, pair.size())), value);
    return decodable ? value : std::string();
  }
  return {};
}

bool is_listed_origin(std::string_view origin, std::string_view origins) {
  const auto listed = list_items(origins);
  return origins == "*" || std::ranges::find(listed, origin) != listed.end();
}

bool is_request_id(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._:-").find(c) != std::string_view::npos;
  });
}

std::string password_of_basic(std::string_view credentials) {
  const auto text = decode_base64(credentials);
  if (!text) return {};
  const auto colon = text->find(':');
  return colon == std::string::npos ? std::string() : text->substr(colon + 1);
}

ApiResult<std::chrono::milliseconds> timeout_of(
    const boost::beast::http::request_header<>& header) {
  const std::string_view given = header[kTimeoutHeader];
  if (given.empty()) return std::chrono::milliseconds(0);
  constexpr std::int64_t kDay = std::int64_t{24} * 3600 * 1000;
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(given.begin(), given.end(), value);
  if (failed != std::errc() || end != given.end() || value < 1 || value > kDay) {
    return bad_field(kTimeoutHeader, "must be a number of milliseconds from 1 to a day");
  }
  return std::chrono::milliseconds(value);
}

}  // namespace weft
