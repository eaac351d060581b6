#include "weft/text/tokenizer/normalize/normalizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/byte_alphabet.h"
#include "weft/text/tokenizer/normalize/bert_normalizer.h"
#include "weft/text/unicode/change_each.h"
#include "weft/text/unicode/unicode.h"

namespace weft {
namespace {

// No rule of a real tokenizer grows a text more: a space becomes the three bytes of U+2581.
constexpr std::size_t kMaxGrowth = 4;
constexpr std::size_t kGrowthSlack = 1024;

struct Work {
  std::string& text;
  bool& begins_input;
  std::size_t max_size;
};

Error too_large(std::size_t max_size) {
  return {make_error_code(TextErrc::kTextTooLarge),
          "normalization makes more than " + std::to_string(max_size) + " bytes of it"};
}

Result<void> run(NormalizationForm form, Work& work) {
  normalize_unicode(work.text, form);
  return {};
}

Result<void> run(LowercaseStep /*step*/, Work& work) {
  change_each(work.text, [](std::string& out, char32_t c) { append_lower_case(out, c); });
  return {};
}

Result<void> run(StripAccentsStep /*step*/, Work& work) {
  if (is_ascii(work.text)) return {};
  change_each(work.text, [](std::string& out, char32_t c) {
    if (!is_mark(c)) append_utf8(out, c);
  });
  return {};
}

Result<void> run(StripStep step, Work& work) {
  const std::string_view text = work.text;
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (step.left && begin < end) {
    const Utf8Char c = utf8_at(text, begin);
    if (!is_white_space(c.code)) break;
    begin += c.length;
  }
  while (step.right && end > begin) {
    const std::size_t before = utf8_before(text, end);
    if (!is_white_space(utf8_at(text, before).code)) break;
    end = before;
  }
  if (begin > 0) work.begins_input = false;
  work.text.erase(end);
  work.text.erase(0, begin);
  return {};
}

/// Copies a text with replacements, and stops at the bound before it allocates more.
class Replacer {
 public:
  Replacer(const std::string& text, std::string_view content, std::size_t max_size)
      : text_(text), content_(content), max_size_(max_size) {
    out_.reserve(std::min(text.size() + text.size() / 4, max_size));
  }

  void replace(TextRange match) {
    append(std::string_view(text_).substr(at_, match.begin - at_));
    append(content_);
    at_ = match.end;
  }

  /// Returns nothing when the bound was reached.
  std::optional<std::string> finish() {
    append(std::string_view(text_).substr(at_));
    if (full_) return std::nullopt;
    return std::move(out_);
  }

 private:
  void append(std::string_view part) {
    full_ = full_ || part.size() > max_size_ - out_.size();
    if (!full_) out_ += part;
  }

  const std::string& text_;
  std::string_view content_;
  std::size_t max_size_;
  std::string out_;
  std::size_t at_ = 0;
  bool full_ = false;
};

Result<void> run(const ReplaceStep& step, Work& work) {
  Replacer replacer(work.text, step.content, work.max_size);
  const auto on_match = [&](TextRange match) {
    if (match.begin == 0 && step.content.empty()) work.begins_input = false;
    replacer.replace(match);
  };
  if (const auto* regex = std::get_if<Regex>(&step.pattern)) {
    Result<void> done = regex->for_each_match(work.text, on_match);
    if (!done) return done;
  } else {
    const auto& wanted = std::get<std::string>(step.pattern);
    std::size_t at = 0;
    while ((at = work.text.find(wanted, at)) != std::string::npos) {
      on_match({at, at + wanted.size()});
      at += wanted.size();
    }
  }
  std::optional<std::string> out = replacer.finish();
  if (!out) return too_large(work.max_size);
  work.text = std::move(*out);
  return {};
}

Result<void> run(const PrependStep& step, Work& work) {
  if (work.text.empty()) return {};
  if (step.content.size() > work.max_size) return too_large(work.max_size);
  work.text.insert(0, step.content);
  return {};
}

Result<void> run(const BertStep& step, Work& work) {
  normalize_bert(work.text, step);
  return {};
}

Result<void> run(ByteLevelNormalizerStep /*step*/, Work& work) {
  std::string out;
  append_byte_alphabet(out, work.text);
  work.text = std::move(out);
  return {};
}

Result<void> run(NmtStep /*step*/, Work& work) {
  const auto is_dropped = [](char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
           c == 0x8F || c == 0x9F;
  };
  const auto is_space = [](char32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
           (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
           c == 0xFEFF || c == kReplacementCharacter;
  };
  change_each(work.text, [&](std::string& out, char32_t c) {
    if (is_space(c)) {
      out += ' ';
    } else if (!is_dropped(c)) {
      append_utf8(out, c);
    }
  });
  return {};
}

Result<void> run(const PrecompiledStep& step, Work& work) {
  if (!step.charsmap->apply(work.text, work.max_size)) return too_large(work.max_size);
  return {};
}

}  // namespace

Result<void> Normalizer::apply(std::string& text, bool& begins_input) const {
  Work work{text, begins_input, text.size() * kMaxGrowth + kGrowthSlack};
  for (const NormalizerStep& step : steps_) {
    Result<void> done = std::visit([&](const auto& known) { return run(known, work); }, step);
    if (!done) return done;
    if (text.size() > work.max_size) return too_large(work.max_size);
  }
  return {};
}

}  // namespace weft
