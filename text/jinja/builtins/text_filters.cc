#include <array>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/python_characters.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/format.h"
#include "weft/text/jinja/values/items.h"
#include "weft/text/jinja/values/markup.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/print.h"
#include "weft/text/jinja/values/text_ops.h"
#include "weft/text/unicode/unicode.h"

/// Filters that return strings.
namespace weft::jinja {
namespace {

Value filter_upper(Run& run, const Value& self, const Slots& /*slots*/) {
  return upper(run, to_text(run, self));
}

Value filter_lower(Run& run, const Value& self, const Slots& /*slots*/) {
  return lower(run, to_text(run, self));
}

Value filter_capitalize(Run& run, const Value& self, const Slots& /*slots*/) {
  return capitalize(run, to_text(run, self));
}

bool begins_word(char32_t code_point) {
  return code_point == '-' || code_point == '(' || code_point == '{' || code_point == '[' ||
         code_point == '<' || is_space(code_point);
}

/// Words begin after white space and - ( { [ <. str.title() differs.
Value filter_title(Run& run, const Value& self, const Slots& /*slots*/) {
  const Text text = to_text(run, self);
  if (!run.step_read(text.view.size())) return {};
  TextBuilder out(run);
  bool inside = false;
  for (std::string_view rest = text.view; !rest.empty();) {
    const Utf8Char next = utf8_at(rest);
    const auto append_case = inside ? append_lower_case : append_upper_case;
    if (!out.append_for(rest.substr(0, next.length),
                        [&](std::string& piece) { append_case(piece, next.code); })) {
      break;
    }
    inside = !begins_word(next.code);
    rest.remove_prefix(next.length);
  }
  return out.finish();
}

Value filter_trim(Run& run, const Value& self, const Slots& slots) {
  return strip(run, to_text(run, self), Side::kBoth, slots.get(0, None{}));
}

Value filter_replace(Run& run, const Value& self, const Slots& slots) {
  const auto most = slots.is_none(2) ? std::int64_t{-1} : slots.integer(run, 2, -1);
  if (!most) return {};
  const std::size_t count = *most < 0 ? kAllOccurrences : static_cast<std::size_t>(*most);
  return replace(run, to_text(run, self).view, to_text(run, slots[0]).view,
                 to_text(run, slots[1]).view, count, false);
}

Value filter_string(Run& run, const Value& self, const Slots& /*slots*/) {
  return to_text(run, self);
}

Value filter_safe(Run& run, const Value& self, const Slots& /*slots*/) {
  return Text{to_text(run, self).view, true};
}

Value filter_escape(Run& run, const Value& self, const Slots& /*slots*/) {
  const Text text = to_text(run, self);
  if (text.markup) return text;
  TextBuilder out(run);
  append_html(out, text.view);
  return out.finish(true);
}

Value filter_forceescape(Run& run, const Value& self, const Slots& /*slots*/) {
  TextBuilder out(run);
  append_html(out, to_text(run, self).view);
  return out.finish(true);
}

Value filter_format(Run& run, const Value& self, const Slots& slots) {
  const Arguments& all = slots.all();
  if (!all.positional.empty() && !all.keywords.empty()) {
    return run.fail("can't handle positional and keyword arguments at the same time");
  }
  const Text format = to_text(run, self);
  if (all.keywords.empty()) {
    return format_percent(run, format, run.list(all.positional, List::Type::kTuple));
  }
  Dict* named = run.make<Dict>(run.memory());
  for (const Keyword& keyword : all.keywords) {
    const Value name = Text{keyword.name};
    if (!check_hashable(run, name)) return {};
    named->set(name, keyword.value);
  }
  return format_percent(run, format, static_cast<const Dict*>(named));
}

Value filter_center(Run& run, const Value& self, const Slots& slots) {
  const auto width = slots.integer(run, 0, 80);
  if (!width) return {};
  return center(run, to_text(run, self), *width, " ");
}

void append_quoted(TextBuilder& out, std::string_view text, bool for_query) {
  if (!out.run().step_read(text.size())) return;
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const auto quote = [&](std::string& quoted, char c) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = byte < 0x80 && is_alnum(byte);
    if (letter || c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !for_query)) {
      quoted += c;
    } else if (c == ' ' && for_query) {
      quoted += '+';
    } else {
      quoted += '%';
      quoted += kHex[byte >> 4U];
      quoted += kHex[byte & 0xFU];
    }
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto write = [&](std::string& piece) { quote(piece, text[at]); };
    if (!out.append_for(text.substr(at, 1), write)) return;
  }
}

Value filter_urlencode(Run& run, const Value& self, const Slots& /*slots*/) {
  TextBuilder out(run);
  if (self.text() != nullptr || !Items::exist(self)) {
    append_quoted(out, to_text(run, self).view, false);
    return out.finish();
  }
  const auto pairs =
      self.dict() != nullptr ? Items(View{self.dict(), View::Part::kItems}) : Items::of(run, self);
  for (std::size_t at = 0; pairs && at < pairs->size() && run.step(); ++at) {
    const Value pair = pairs->at(run, at);
    if (pair.list() == nullptr || pair.list()->items.size() != 2) {
      return run.fail("urlencode wants pairs");
    }
    if (at != 0) out.append("&");
    append_quoted(out, to_text(run, pair.list()->items[0]).view, true);
    out.append("=");
    append_quoted(out, to_text(run, pair.list()->items[1]).view, true);
  }
  return out.finish();
}

constexpr std::array kTextFilters = {
    Builtin{"upper", filter_upper, 0, {}},
    Builtin{"lower", filter_lower, 0, {}},
    Builtin{"capitalize", filter_capitalize, 0, {}},
    Builtin{"title", filter_title, 0, {}},
    Builtin{"trim", filter_trim, 0, {"chars"}},
    Builtin{"replace", filter_replace, 2, {"old", "new", "count"}},
    Builtin{"string", filter_string, 0, {}},
    Builtin{"safe", filter_safe, 0, {}},
    Builtin{"escape", filter_escape, 0, {}},
    Builtin{"e", filter_escape, 0, {}},
    Builtin{"forceescape", filter_forceescape, 0, {}},
    Builtin{"format", filter_format, kVariadic, {}},
    Builtin{"center", filter_center, 0, {"width"}},
    Builtin{"urlencode", filter_urlencode, 0, {}},
};

}  // namespace

std::span<const Builtin> text_filters() { return kTextFilters; }

}  // namespace weft::jinja
