#include <algorithm>
#include <array>
#include <cmath>
#include <memory_resource>
#include <string>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/print.h"

/// tojson in transformers' definition: json.dumps, without escapes for HTML.
namespace weft::jinja {
namespace {

struct JsonStyle {
  bool ascii = false;
  bool sorted = false;
  bool indented = false;
  std::string_view indent;
  std::string_view item_separator = ", ";
  std::string_view key_separator = ": ";
};

void append_unit(std::string& out, char32_t unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) {
    out += kDigits[(unit >> static_cast<unsigned>(shift)) & 0xFU];
  }
}

void append_json_escape(std::string& out, char32_t value) {
  switch (value) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    default:
      break;
  }
  if (value < 0x10000) {
    append_unit(out, value);
  } else {
    append_unit(out, 0xD800 + ((value - 0x10000) >> 10U));
    append_unit(out, 0xDC00 + ((value - 0x10000) & 0x3FFU));
  }
}

/// Returns how many bytes come before the first character that must be escaped.
std::size_t plain_json_bytes(std::string_view text, bool ascii) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Utf8Char next = utf8_at(text.substr(at));
    const bool control = next.code < 0x20 || (ascii && next.code >= 0x7F);
    if (control || next.code == '"' || next.code == '\\') break;
    at += next.length;
  }
  return at;
}

class JsonWriter {
 public:
  JsonWriter(TextBuilder& out, JsonStyle style) : out_(out), run_(out.run()), style_(style) {}

  void write(const Value& value, std::size_t depth) {
    if (depth > kMaxDataDepth) run_.fail_limit("values nested too deep for JSON");
    if (!run_.step()) return;
    switch (value.kind()) {
      case Kind::kNone:
        out_.append("null");
        return;
      case Kind::kBool:
        out_.append(*value.boolean() ? "true" : "false");
        return;
      case Kind::kInteger:
        out_.append(std::to_string(*value.integer()));
        return;
      case Kind::kFloat:
        out_.append(number(*value.real()));
        return;
      case Kind::kText:
        return write_text(value.text()->view);
      case Kind::kList:
        return write_list(value.list()->items, depth);
      case Kind::kDict:
        return write_dict(*value.dict(), depth);
      default:
        run_.fail("Object of type ", type_name(value), " is not JSON serializable");
    }
  }

 private:
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return print_float(value);
  }

  void write_text(std::string_view text) {
    if (!run_.step_read(text.size())) return;
    out_.append("\"");
    while (!text.empty()) {
      const std::size_t plain = plain_json_bytes(text, style_.ascii);
      if (!out_.append(text.substr(0, plain))) return;
      text.remove_prefix(plain);
      if (text.empty()) break;
      const Utf8Char next = utf8_at(text);
      const std::string_view bytes = text.substr(0, next.length);
      out_.append_for(bytes, [&](std::string& piece) { append_json_escape(piece, next.code); });
      text.remove_prefix(next.length);
    }
    out_.append("\"");
  }

  void new_line(std::size_t depth) {
    if (!style_.indented) return;
    out_.append("\n");
    out_.append_repeated(depth, style_.indent);
  }

  void before_item(std::size_t index, std::size_t depth) {
    if (index != 0) out_.append(style_.item_separator);
    new_line(depth + 1);
  }

  void write_list(std::span<const Value> items, std::size_t depth) {
    out_.append("[");
    for (std::size_t at = 0; at < items.size() && !run_.failed(); ++at) {
      before_item(at, depth);
      write(items[at], depth + 1);
    }
    if (!items.empty()) new_line(depth);
    out_.append("]");
  }

  void write_key(const Value& key) {
    if (const Text* text = key.text()) return write_text(text->view);
    const bool allowed = key.is_none() || key.number().has_value();
    if (!allowed) {
      run_.fail("keys must be str, int, float, bool or None, not ", type_name(key));
      return;
    }
    out_.append("\"");
    write(key, 0);
    out_.append("\"");
  }

  void write_dict(const Dict& dict, std::size_t depth) {
    std::pmr::vector<Dict::Entry> entries(dict.entries().begin(), dict.entries().end(),
                                          run_.scratch());
    if (style_.sorted) {
      // sorting needs the same memory again
      if (!run_.has_room(entries.size() * sizeof(Dict::Entry))) return;
      std::ranges::stable_sort(entries, [this](const auto& left, const auto& right) {
        return less(run_, left.key, right.key);
      });
    }
    out_.append("{");
    for (std::size_t at = 0; at < entries.size() && !run_.failed(); ++at) {
      before_item(at, depth);
      write_key(entries[at].key);
      out_.append(style_.key_separator);
      write(entries[at].value, depth + 1);
    }
    if (!entries.empty()) new_line(depth);
    out_.append("}");
  }

  TextBuilder& out_;
  Run& run_;
  JsonStyle style_;
};

bool read_indent(Run& run, const Value& indent, JsonStyle& style) {
  style.indented = true;
  style.item_separator = ",";
  if (const Text* text = indent.text()) {
    style.indent = text->view;
    return true;
  }
  const auto width = indent.integer();
  if (!width) {
    run.fail("the indent of tojson is a number or a string");
    return false;
  }
  const auto spaces = static_cast<std::size_t>(std::max<std::int64_t>(*width, 0));
  TextBuilder text(run);
  text.append(spaces, ' ');
  const Value kept = text.finish();
  if (kept.text() == nullptr) return false;
  style.indent = kept.text()->view;
  return true;
}

bool read_separators(Run& run, const Value& separators, JsonStyle& style) {
  const List* pair = separators.list();
  const bool fits = pair != nullptr && pair->items.size() == 2 &&
                    pair->items[0].text() != nullptr && pair->items[1].text() != nullptr;
  if (!fits) {
    run.fail("the separators of tojson are two strings");
    return false;
  }
  style.item_separator = pair->items[0].text()->view;
  style.key_separator = pair->items[1].text()->view;
  return true;
}

Value tojson(Run& run, const Value& self, const Slots& slots) {
  JsonStyle style;
  style.ascii = slots.truth(0, false);
  style.sorted = slots.truth(3, false);
  if (!slots.is_none(1) && !read_indent(run, slots[1], style)) return {};
  if (!slots.is_none(2) && !read_separators(run, slots[2], style)) return {};
  TextBuilder out(run);
  JsonWriter(out, style).write(self, 0);
  return run.failed() ? Value() : out.finish();
}

constexpr std::array kJsonFilters = {
    Builtin{"tojson", tojson, 0, {"ensure_ascii", "indent", "separators", "sort_keys"}},
};

}  // namespace

std::span<const Builtin> json_filters() { return kJsonFilters; }

}  // namespace weft::jinja
