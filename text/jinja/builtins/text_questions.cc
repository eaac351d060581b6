#include <array>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/unicode.h"
#include "weft/text/jinja/values/text_ops.h"

/// Methods of str that answer with true or false.
namespace weft::jinja {
namespace {

using Question = bool (*)(char32_t code_point);

/// Not empty, and every character is as asked.
Value all_are(Run& run, const Value& self, Question question) {
  std::string_view rest = self.text()->view;
  if (!run.step_read(rest.size())) return {};
  const bool empty = rest.empty();
  while (!rest.empty()) {
    const CodePoint next = decode(rest);
    if (!question(next.value)) return false;
    rest.remove_prefix(next.bytes);
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

/// Every run of cased letters begins in upper or title case and goes on in lower case.
Value is_title(Run& run, const Value& self, const Slots& /*slots*/) {
  std::string_view rest = self.text()->view;
  if (!run.step_read(rest.size())) return {};
  bool found = false;
  bool inside = false;
  while (!rest.empty()) {
    const CodePoint next = decode(rest);
    const bool cased = is_cased(next.value);
    if (cased && inside != is_lower(next.value)) return false;
    found = found || cased;
    inside = cased;
    rest.remove_prefix(next.bytes);
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
  const char32_t first = decode(text).value;
  if (first != '_' && !is_alpha(first)) return false;
  return all_are(run, self, is_identifier_part);
}

constexpr std::array kTextQuestions = {
    Builtin{"isalpha", every<is_alpha>, 0, {}},
    Builtin{"isdigit", every<is_digit>, 0, {}},
    Builtin{"isdecimal", every<is_decimal>, 0, {}},
    Builtin{"isnumeric", every<is_numeric>, 0, {}},
    Builtin{"isalnum", every<is_alnum>, 0, {}},
    Builtin{"isspace", every<is_space>, 0, {}},
    Builtin{"isupper", every_cased<is_upper>, 0, {}},
    Builtin{"islower", every_cased<is_lower>, 0, {}},
    Builtin{"istitle", is_title, 0, {}},
    Builtin{"isascii", is_ascii_text, 0, {}},
    Builtin{"isprintable", is_printable_text, 0, {}},
    Builtin{"isidentifier", is_identifier, 0, {}},
};

}  // namespace

std::span<const Builtin> text_question_methods() { return kTextQuestions; }

}  // namespace weft::jinja
