#include <array>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/python_characters.h"
#include "weft/text/jinja/values/text_ops.h"
#include "weft/text/unicode/unicode.h"

/// Methods of str that return true or false.
namespace weft::jinja {
namespace {

using Question = bool (*)(char32_t code_point);

/// Whether the text is not empty and `question` holds for every character.
Value all_are(Run& run, const Value& self, Question question) {
  std::string_view rest = self.text()->view;
  if (!run.step_read(rest.size())) return {};
  const bool empty = rest.empty();
  while (!rest.empty()) {
    const Utf8Char next = utf8_at(rest);
    if (!question(next.code)) return false;
    rest.remove_prefix(next.length);
  }
  return !empty;
}

template <bool (*Asked)(char32_t)>
Value every(Run& run, const Value& self, const Slots& /*slots*/) {
  return all_are(run, self, Asked);
}

template <bool (*Asked)(char32_t)>
Value every_cased(Run& run, const Value& self, const Slots& /*slots*/) {
  return all_cased_are(run, self.text()->view, Asked);
}

bool is_ascii(char32_t code_point) { return code_point < 0x80; }

/// Whether every run of cased letters begins in upper or title case and continues in lower case.
Value is_title(Run& run, const Value& self, const Slots& /*slots*/) {
  std::string_view rest = self.text()->view;
  if (!run.step_read(rest.size())) return {};
  bool found = false;
  bool inside = false;
  while (!rest.empty()) {
    const Utf8Char next = utf8_at(rest);
    const bool cased = is_cased(next.code);
    if (cased && inside != is_lower_case(next.code)) return false;
    found = found || cased;
    inside = cased;
    rest.remove_prefix(next.length);
  }
  return found;
}

Value is_ascii_text(Run& run, const Value& self, const Slots& /*slots*/) {
  return self.text()->view.empty() ? Value(true) : all_are(run, self, is_ascii);
}

Value is_printable_text(Run& run, const Value& self, const Slots& /*slots*/) {
  return self.text()->view.empty() ? Value(true) : all_are(run, self, is_printable);
}

Value is_identifier(Run& run, const Value& self, const Slots& /*slots*/) {
  const std::string_view text = self.text()->view;
  if (text.empty()) return false;
  const char32_t first = utf8_at(text).code;
  if (first != '_' && !is_letter(first)) return false;
  return all_are(run, self, is_identifier_part);
}

constexpr std::array kTextQuestions = {
    Builtin{"isalpha", every<is_letter>, 0, {}},
    Builtin{"isdigit", every<is_digit>, 0, {}},
    Builtin{"isdecimal", every<is_decimal_digit>, 0, {}},
    Builtin{"isnumeric", every<is_number>, 0, {}},
    Builtin{"isalnum", every<is_alnum>, 0, {}},
    Builtin{"isspace", every<is_space>, 0, {}},
    Builtin{"isupper", every_cased<is_upper_case>, 0, {}},
    Builtin{"islower", every_cased<is_lower_case>, 0, {}},
    Builtin{"istitle", is_title, 0, {}},
    Builtin{"isascii", is_ascii_text, 0, {}},
    Builtin{"isprintable", is_printable_text, 0, {}},
    Builtin{"isidentifier", is_identifier, 0, {}},
};

}  // namespace

std::span<const Builtin> text_question_methods() { return kTextQuestions; }

}  // namespace weft::jinja
