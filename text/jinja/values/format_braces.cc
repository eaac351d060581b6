#include <algorithm>
#include <charconv>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/values/attribute.h"
#include "weft/text/jinja/values/format.h"
#include "weft/text/jinja/values/markup.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/print.h"

namespace weft::jinja {
namespace {

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

/// Takes the number at the start of `text`; returns nothing when there is none.
std::optional<int> take_number(Run& run, std::string_view& text) {
  int value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc::result_out_of_range) run.fail_limit("width too big");
  if (read.ec != std::errc{} || text.starts_with('-')) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// [[fill]align][sign][#][0][width][,][.precision][type]
std::optional<FormatSpec> parse_spec(Run& run, std::string_view text) {
  FormatSpec spec;
  const std::size_t first = text.empty() ? 0 : utf8_at(text).length;
  if (first < text.size() && is_align(text[first])) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (!text.empty() && is_align(text.front())) {
    spec.align = text.front();
    text.remove_prefix(1);
  }
  for (const char sign : {'+', '-', ' '}) {
    if (take(text, sign)) spec.sign = sign == '-' ? '\0' : sign;
  }
  spec.alternate = take(text, '#');
  if (take(text, '0') && spec.align == 0) {
    spec.align = '=';
    spec.fill = "0";
  }
  spec.width = static_cast<std::size_t>(take_number(run, text).value_or(0));
  for (const char grouping : {',', '_'}) {
    if (take(text, grouping)) spec.grouping = grouping;
  }
  if (take(text, '.')) {
    spec.precision = take_number(run, text);
    if (!spec.precision) return std::nullopt;
  }
  if (text.size() > 1) return std::nullopt;
  if (!text.empty()) spec.type = text.front();
  return spec;
}

/// One rendering of a format with fields in braces.
class BraceFormat {
 public:
  BraceFormat(Run& run, const Text& format, const Arguments& arguments)
      : run_(run), markup_(format.markup), arguments_(arguments) {}

  /// Appends `format`. Fields inside a field's specification are one level deeper, and the deepest.
  void format(TextBuilder& out, std::string_view format, int level) {
    while (!format.empty() && run_.step()) {
      const std::size_t plain = std::min(format.find_first_of("{}"), format.size());
      out.append(format.substr(0, plain));
      format.remove_prefix(plain);
      if (format.empty()) return;
      if (format.starts_with("{{") || format.starts_with("}}")) {
        out.append(format.substr(0, 1));
        format.remove_prefix(2);
        continue;
      }
      const std::size_t end = field_end(format);
      if (end == std::string_view::npos) {
        run_.fail("a brace of the format string has no other");
        return;
      }
      field(out, format.substr(1, end - 1), level);
      format.remove_prefix(end + 1);
    }
  }

 private:
  static std::size_t field_end(std::string_view format) {
    if (!format.starts_with('{')) return std::string_view::npos;
    std::size_t open = 0;
    for (std::size_t at = 0; at < format.size(); ++at) {
      if (format[at] == '{') ++open;
      if (format[at] == '}' && --open == 0) return at;
    }
    return std::string_view::npos;
  }

  /// name!conversion:spec
  void field(TextBuilder& out, std::string_view field, int level) {
    if (level > 1) {
      run_.fail("max string recursion exceeded");
      return;
    }
    const std::size_t name_end = std::min(field.find_first_of("!:"), field.size());
    Value value = lookup(field.substr(0, name_end));
    field.remove_prefix(name_end);
    if (take(field, '!')) {
      if (field.empty()) {
        run_.fail("the conversion of a field is missing");
        return;
      }
      value = converted(value, field.front());
      field.remove_prefix(1);
    }
    TextBuilder spec_text(run_);
    if (take(field, ':')) format(spec_text, field, level + 1);
    const Value spec = spec_text.finish();
    if (!run_.failed()) append(out, value, spec.text()->view);
  }

  Value converted(const Value& value, char how) {
    if (how == 's') return to_text(run_, value);
    if (how != 'r' && how != 'a') return run_.fail("unknown conversion specifier");
    TextBuilder repr(run_);
    print_repr(repr, value);
    return repr.finish();
  }

  Value argument(std::string_view name) {
    if (name.empty()) name = automatic();
    std::size_t index = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), index);
    if (read.ec == std::errc{} && read.ptr == name.data() + name.size()) {
      if (index < arguments_.positional.size()) return arguments_.positional[index];
      return run_.fail("replacement index out of range for positional args tuple");
    }
    const Keyword* found = find_keyword(run_, arguments_, name);
    if (found != nullptr) return found->value;
    return run_.fail("the format names '", name, "', which is not there");
  }

  std::string_view automatic() {
    automatic_ = std::to_string(next_++);
    return automatic_;
  }

  /// name.attribute[key]
  Value lookup(std::string_view path) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, end));
    path.remove_prefix(end);
    while (!path.empty() && run_.step()) {
      if (take(path, '.')) {
        const std::size_t size = std::min(path.find_first_of(".["), path.size());
        value = attribute(run_, value, path.substr(0, size));
        path.remove_prefix(size);
        continue;
      }
      const std::size_t close = path.find(']');
      if (!path.starts_with('[') || close == std::string_view::npos) {
        return run_.fail("a field of the format string is malformed");
      }
      const std::string_view key = path.substr(1, close - 1);
      std::int64_t index = 0;
      const auto read = std::from_chars(key.data(), key.data() + key.size(), index);
      const bool number =
          read.ec == std::errc{} && read.ptr == key.data() + key.size() && !key.starts_with('-');
      value = item(run_, value, number ? Value(index) : Value(Text{key}));
      path.remove_prefix(close + 1);
    }
    return value;
  }

  void append(TextBuilder& out, const Value& value, std::string_view spec_text) {
    const auto spec = parse_spec(run_, spec_text);
    const Text* text = value.text();
    const bool plain = spec_text.empty();
    const bool number = value.number().has_value() && (value.boolean() == nullptr || !plain);
    bool fits = spec.has_value();
    if (fits && number) {
      fits = format_number(out, *spec, value);
    } else if (fits && (text != nullptr || plain)) {
      fits = spec->type == 0 || spec->type == 's';
      append_as_text(out, *spec, to_text(run_, value));
    } else {
      fits = false;
    }
    if (!fits) {
      run_.fail("the format specification does not fit a '", type_name(value), "'");
    }
  }

  void append_as_text(TextBuilder& out, const FormatSpec& spec, const Text& text) {
    if (!markup_ || text.markup) return format_text(out, spec, text.view);
    TextBuilder escaping(run_);
    append_html(escaping, text.view);
    const Value escaped = escaping.finish();
    format_text(out, spec, escaped.text()->view);
  }

  Run& run_;
  bool markup_;
  const Arguments& arguments_;
  std::size_t next_ = 0;
  std::string automatic_;
};

}  // namespace

Value format_braces(Run& run, const Text& format, const Arguments& arguments) {
  if (!run.step_read(format.view.size())) return {};
  TextBuilder out(run);
  BraceFormat(run, format, arguments).format(out, format.view, 0);
  return run.failed() ? Value() : out.finish(format.markup);
}

}  // namespace weft::jinja
