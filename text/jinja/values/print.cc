#include "weft/text/jinja/values/print.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/python_characters.h"
#include "weft/text/jinja/values/object.h"

namespace weft::jinja {
namespace {

void repr(TextBuilder& out, const Value& value, std::size_t depth);

void append_hex(std::string& out, char32_t value, int digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += kDigits[(value >> static_cast<unsigned>(shift)) & 0xFU];
  }
}

bool is_printed_as_it_is(char32_t code_point, char quote) {
  return code_point != '\\' && code_point != static_cast<unsigned char>(quote) &&
         is_printable(code_point);
}

std::size_t plain_repr_bytes(std::string_view text, char quote) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Utf8Char next = utf8_at(text.substr(at));
    if (!is_printed_as_it_is(next.code, quote)) break;
    at += next.length;
  }
  return at;
}

void append_escaped(std::string& out, char32_t code_point, char quote) {
  switch (code_point) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\\':
      out += "\\\\";
      return;
    default:
      break;
  }
  if (code_point == static_cast<unsigned char>(quote)) {
    out += '\\';
    out += quote;
  } else if (code_point < 0x100) {
    out += "\\x";
    append_hex(out, code_point, 2);
  } else if (code_point < 0x10000) {
    out += "\\u";
    append_hex(out, code_point, 4);
  } else {
    out += "\\U";
    append_hex(out, code_point, 8);
  }
}

void repr_text(TextBuilder& out, std::string_view text) {
  if (!out.run().step_read(text.size())) return;
  const bool single = text.find('\'') != std::string_view::npos;
  const char quote = single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out.append(1, quote);
  while (!text.empty()) {
    const std::size_t plain = plain_repr_bytes(text, quote);
    if (!out.append(text.substr(0, plain))) return;
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Utf8Char next = utf8_at(text);
    const std::string_view bytes = text.substr(0, next.length);
    out.append_for(bytes, [&](std::string& piece) { append_escaped(piece, next.code, quote); });
    text.remove_prefix(next.length);
  }
  out.append(1, quote);
}

void repr_list(TextBuilder& out, const List& list, std::size_t depth) {
  out.append(list.is_tuple() ? "(" : "[");
  for (std::size_t at = 0; at < list.items.size() && !out.run().failed(); ++at) {
    if (at != 0) out.append(", ");
    repr(out, list.items[at], depth + 1);
  }
  if (list.is_tuple() && list.items.size() == 1) out.append(",");
  out.append(list.is_tuple() ? ")" : "]");
}

void repr_dict(TextBuilder& out, const Dict& dict, std::size_t depth) {
  out.append("{");
  bool first = true;
  for (const Dict::Entry& entry : dict.entries()) {
    if (out.run().failed()) return;
    if (!first) out.append(", ");
    first = false;
    repr(out, entry.key, depth + 1);
    out.append(": ");
    repr(out, entry.value, depth + 1);
  }
  out.append("}");
}

void repr_range(TextBuilder& out, const Range& range) {
  out.append(concat({"range(", std::to_string(range.start), ", ", std::to_string(range.stop)}));
  if (range.step != 1) out.append(concat({", ", std::to_string(range.step)}));
  out.append(")");
}

void repr_view(TextBuilder& out, const View& view, std::size_t depth) {
  constexpr std::array<std::string_view, 3> kNames = {"dict_keys", "dict_values", "dict_items"};
  out.append(kNames[static_cast<std::size_t>(view.part)]);
  out.append("([");
  bool first = true;
  for (const Dict::Entry& entry : view.dict->entries()) {
    if (out.run().failed()) return;
    if (!first) out.append(", ");
    first = false;
    const std::array pair = {entry.key, entry.value};
    if (view.part == View::Part::kItems) {
      repr_list(out, List{pair, List::Type::kTuple}, depth + 1);
    } else {
      repr(out, view.part == View::Part::kKeys ? entry.key : entry.value, depth + 1);
    }
  }
  out.append("])");
}

void repr_markup(TextBuilder& out, std::string_view text) {
  out.append("Markup(");
  repr_text(out, text);
  out.append(")");
}

void repr(TextBuilder& out, const Value& value, std::size_t depth) {
  Run& run = out.run();
  if (depth > kMaxDataDepth) run.fail_limit("values nested too deep to print");
  if (!run.step()) return;
  switch (value.kind()) {
    case Kind::kUndefined:
      out.append("Undefined");
      return;
    case Kind::kNone:
      out.append("None");
      return;
    case Kind::kBool:
      out.append(*value.boolean() ? "True" : "False");
      return;
    case Kind::kInteger:
      out.append(std::to_string(*value.integer()));
      return;
    case Kind::kFloat:
      out.append(print_float(*value.real()));
      return;
    case Kind::kText: {
      const Text& text = *value.text();
      return text.markup ? repr_markup(out, text.view) : repr_text(out, text.view);
    }
    case Kind::kList:
      return repr_list(out, *value.list(), depth);
    case Kind::kDict:
      return repr_dict(out, *value.dict(), depth);
    case Kind::kRange:
      return repr_range(out, *value.range());
    case Kind::kView:
      return repr_view(out, *value.view(), depth);
    case Kind::kIterator:
      out.append("<generator object>");
      return;
    case Kind::kObject:
      return value.object()->print(out, depth);
  }
}

}  // namespace

std::string print_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // Python switches to an exponent outside of 1e-4 .. 1e16; to_chars switches where that is
  // shorter.
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  std::array<char, 64> digits{};
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, format).ptr;
  std::string out(digits.data(), end);
  if (plain && out.find('.') == std::string::npos) out += ".0";
  return out;
}

void print(TextBuilder& out, const Value& value) {
  if (value.is_undefined()) return;
  if (const Text* text = value.text()) {
    out.append(text->view);
  } else {
    repr(out, value, 0);
  }
}

void print_repr(TextBuilder& out, const Value& value, std::size_t depth) {
  repr(out, value, depth);
}

Text to_text(Run& run, const Value& value) {
  if (const Text* text = value.text()) return *text;
  TextBuilder out(run);
  print(out, value);
  const Value made = out.finish();
  return *made.text();
}

}  // namespace weft::jinja
