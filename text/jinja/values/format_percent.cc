#include <charconv>
#include <cmath>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/values/attribute.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/format.h"
#include "weft/text/jinja/values/markup.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/print.h"

namespace weft::jinja {
namespace {

/// One rendering of a printf format.
class PercentFormat {
 public:
  PercentFormat(Run& run, const Text& format, const Value& arguments)
      : run_(run), rest_(format.view), markup_(format.markup), arguments_(arguments), out_(run) {}

  Value finish() {
    if (!run_.step_read(rest_.size())) return {};
    while (!rest_.empty() && !run_.failed()) {
      const std::size_t plain = std::min(rest_.find('%'), rest_.size());
      out_.append(rest_.substr(0, plain));
      rest_.remove_prefix(plain);
      if (!rest_.empty()) conversion();
    }
    const List* list = arguments_.list();
    const bool tuple = list != nullptr && list->is_tuple();
    const bool left_over = tuple ? next_ < list->items.size() : next_ == 0;
    if (!run_.failed() && left_over && !has_elements()) {
      return run_.fail("not all arguments converted during string formatting");
    }
    return run_.failed() ? Value() : out_.finish(markup_);
  }

 private:
  /// Whether the value has elements by number or key, and is no tuple or string. Python allows such
  /// a value to be left over.
  [[nodiscard]] bool has_elements() const {
    switch (arguments_.kind()) {
      case Kind::kUndefined:
      case Kind::kDict:
      case Kind::kRange:
        return true;
      case Kind::kList:
        return !arguments_.list()->is_tuple();
      default:
        return false;
    }
  }

  char take() {
    if (rest_.empty()) {
      run_.fail("incomplete format");
      return 0;
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  Value next() {
    const List* list = arguments_.list();
    const bool tuple = list != nullptr && list->is_tuple();
    if (tuple ? next_ < list->items.size() : next_ == 0) {
      ++next_;
      return tuple ? list->items[next_ - 1] : arguments_;
    }
    return run_.fail("not enough arguments for format string");
  }

  /// Returns the value of %(name).
  Value named() {
    const std::size_t end = rest_.find(')');
    if (end == std::string_view::npos) return run_.fail("incomplete format key");
    if (arguments_.dict() == nullptr) return run_.fail("format requires a mapping");
    const std::string_view name = rest_.substr(1, end - 1);
    if (!check_hashable(run_, Text{name})) return {};
    const Value* value = arguments_.dict()->find(name);
    rest_.remove_prefix(end + 1);
    return value != nullptr ? *value : run_.fail("format names a key that is not there");
  }

  void flags(FormatSpec& spec) {
    while (!rest_.empty()) {
      switch (rest_.front()) {
        case '-':
          spec.align = '<';
          break;
        case '+':
          spec.sign = '+';
          break;
        case ' ':
          if (spec.sign == 0) spec.sign = ' ';
          break;
        case '#':
          spec.alternate = true;
          break;
        case '0':
          zero_ = true;
          break;
        default:
          return;
      }
      rest_.remove_prefix(1);
    }
  }

  std::int64_t count() {
    if (rest_.starts_with('*')) {
      rest_.remove_prefix(1);
      const auto value = next().integer();
      if (!value) run_.fail("* wants int");
      return value.value_or(0);
    }
    std::int32_t value = 0;
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (read.ec == std::errc::result_out_of_range) run_.fail_limit("width too big");
    rest_.remove_prefix(static_cast<std::size_t>(read.ptr - rest_.data()));
    return value;
  }

  void conversion() {
    if (!run_.step()) return;
    take();
    if (rest_.starts_with('%')) {
      rest_.remove_prefix(1);
      out_.append("%");
      return;
    }
    FormatSpec spec;
    zero_ = false;
    std::optional<Value> value;
    if (rest_.starts_with('(')) value = named();
    flags(spec);
    const std::int64_t width = count();
    if (width < -INT32_MAX || width > INT32_MAX) run_.fail_limit("width too big");
    if (run_.failed()) return;
    if (width < 0) spec.align = '<';
    spec.width = static_cast<std::size_t>(std::abs(width));
    if (rest_.starts_with('.')) {
      rest_.remove_prefix(1);
      spec.precision = static_cast<int>(std::clamp<std::int64_t>(count(), 0, INT32_MAX));
    }
    while (!rest_.empty() &&
           std::string_view("hlL").find(rest_.front()) != std::string_view::npos) {
      rest_.remove_prefix(1);
    }
    spec.type = take();
    if (!value) value = next();
    if (!run_.failed()) convert(spec, *value);
  }

  void convert(FormatSpec spec, const Value& value) {
    switch (spec.type) {
      case 's':
        return text(spec, to_text(run_, value));
      case 'r':
      case 'a': {
        TextBuilder repr(run_);
        print_repr(repr, value);
        const Value made = repr.finish();
        return text(spec, *made.text());
      }
      case 'c':
        if (const Text* character = value.text()) {
          if (count_code_points(character->view) != 1) run_.fail("%c requires int or char");
          return text(spec, {character->view, true});
        }
        break;
      case 'i':
      case 'u':
        spec.type = 'd';
        break;
      default:
        break;
    }
    number(spec, value);
  }

  void text(FormatSpec spec, const Text& text) {
    if (spec.align == 0) spec.align = '>';
    if (!markup_ || text.markup) return format_text(out_, spec, text.view);
    TextBuilder escaping(run_);
    append_html(escaping, text.view);
    const Value escaped = escaping.finish();
    format_text(out_, spec, escaped.text()->view);
  }

  void number(FormatSpec spec, Value value) {
    constexpr std::string_view kWhole = "dxXo";
    constexpr std::string_view kReal = "eEfFgG";
    const bool whole = kWhole.find(spec.type) != std::string_view::npos;
    const bool real = kReal.find(spec.type) != std::string_view::npos;
    if (!whole && !real && spec.type != 'c') {
      run_.fail("unsupported format character '", std::string(1, spec.type), "'");
      return;
    }
    if (!value.number() || (spec.type != 'd' && whole && !value.integer())) {
      run_.fail("%", std::string(1, spec.type), " format: a number is required, not ",
                type_name(value));
      return;
    }
    if (spec.type == 'd' && value.real() != nullptr) value = truncated(*value.real());
    if (whole && spec.precision) {
      integer_with_digits(spec, value);
      return;
    }
    if (zero_ && spec.align != '<') {
      spec.align = '=';
      spec.fill = "0";
    }
    if (!run_.failed() && !format_number(out_, spec, value)) run_.fail("the format does not fit");
  }

  /// %.5d: at least that many digits.
  void integer_with_digits(const FormatSpec& spec, const Value& value) {
    FormatSpec digits = spec;
    digits.precision.reset();
    digits.align = '=';
    digits.fill = "0";
    const bool sign = spec.sign != 0 || value.integer().value_or(0) < 0;
    digits.width = static_cast<std::size_t>(*spec.precision) + (sign ? 1 : 0);
    TextBuilder text(run_);
    format_number(text, digits, value);
    FormatSpec around = spec;
    around.precision.reset();
    if (around.align == 0) around.align = '>';
    format_text(out_, around, text.view());
  }

  Value truncated(double value) {
    // 2^63, the first double that an int64 cannot hold.
    constexpr double kLimit = 9223372036854775808.0;
    if (!(std::fabs(value) < kLimit)) return run_.fail("the number does not fit into 64 bits");
    return static_cast<std::int64_t>(value);
  }

  Run& run_;
  std::string_view rest_;
  bool markup_;
  const Value& arguments_;
  TextBuilder out_;
  std::size_t next_ = 0;
  bool zero_ = false;
};

}  // namespace

Value format_percent(Run& run, const Text& format, const Value& arguments) {
  return PercentFormat(run, format, arguments).finish();
}

}  // namespace weft::jinja
