#include "weft/text/tokenizer/normalize/bert_normalizer.h"

#include "weft/core/text/utf8.h"
#include "weft/text/unicode/change_each.h"
#include "weft/text/unicode/unicode.h"
#include "weft/text/unicode/unicode_normalization.h"

namespace weft {
namespace {

/// The blocks that BERT counts as Chinese.
bool is_chinese(char32_t c) {
  if (c < 0x3400) return false;
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void clean(std::string& out, char32_t c) {
  if (c > ' ' && c < 0x7F) {
    out += static_cast<char>(c);
  } else if (is_white_space(c)) {
    // Vertical tab and form feed count as control characters here; tab and newlines count as
    // spaces.
    const bool dropped = c == 0x0B || c == 0x0C || c == 0x85;
    if (!dropped) out += ' ';
  } else if (c != 0 && c != kReplacementCharacter && !is_control(c)) {
    append_utf8(out, c);
  }
}

}  // namespace

void normalize_bert(std::string& text, const BertStep& step) {
  if (step.clean_text) {
    change_each(text, [](std::string& out, char32_t c) { clean(out, c); });
  }
  if (step.space_around_chinese) {
    change_each(text, [](std::string& out, char32_t c) {
      if (is_chinese(c)) out += ' ';
      append_utf8(out, c);
      if (is_chinese(c)) out += ' ';
    });
  }
  if (step.strip_accents) {
    normalize_unicode(text, {.compose = false, .compatibility = false});
    if (!is_ascii(text)) {
      change_each(text, [](std::string& out, char32_t c) {
        if (!is_nonspacing_mark(c)) append_utf8(out, c);
      });
    }
  }
  if (step.lowercase) {
    change_each(text, [](std::string& out, char32_t c) { append_lower_case(out, c); });
  }
}

}  // namespace weft
