#include "weft/text/bert_normalizer.h"

#include <utility>

#include "weft/text/unicode.h"
#include "weft/text/unicode_normalization.h"

namespace weft {
namespace {

/// The blocks that BERT takes for Chinese.
bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void clean(std::string& out, char32_t c) {
  if (is_white_space(c)) {
    // Vertical tab and form feed are control characters here; tab and newlines are spaces.
    const bool dropped = c == 0x0B || c == 0x0C || c == 0x85;
    if (!dropped) out += ' ';
  } else if (c != 0 && c != kReplacementCharacter && !is_control(c)) {
    append_utf8(out, c);
  }
}

template <class Change>
void change_each(std::string& text, Change change) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    change(out, c.code);
    at += c.length;
  }
  text = std::move(out);
}

}  // namespace

void normalize_bert(std::string& text, const BertStep& step) {
  if (step.clean_text) change_each(text, clean);
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
  if (step.lowercase) change_each(text, append_lower_case);
}

}  // namespace weft
