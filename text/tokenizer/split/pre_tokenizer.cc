#include "weft/text/tokenizer/split/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/tokenizer/byte_alphabet.h"
#include "weft/text/tokenizer/split/split_behavior.h"
#include "weft/text/unicode/unicode.h"

namespace weft {
namespace {

/// Finds matches in one piece, as ranges of the whole text.
class Matcher {
 public:
  Matcher(std::string_view text, std::vector<TextRange>& matches)
      : text_(text), matches_(matches) {}

  Result<void> operator()(const Regex& regex, TextRange piece) {
    return regex.for_each_match(view(piece), [&](TextRange match) {
      matches_.push_back({piece.begin + match.begin, piece.begin + match.end});
    });
  }

  Result<void> operator()(const SplitScanner& scanner, TextRange piece) {
    scanner.split(view(piece), piece.begin, matches_);
    return {};
  }

  Result<void> operator()(const SplitStep::Literal& literal, TextRange piece) {
    const std::string_view text = text_.substr(0, piece.end);
    std::size_t at = piece.begin;
    while ((at = text.find(literal.text, at)) != std::string_view::npos) {
      matches_.push_back({at, at + literal.text.size()});
      at += literal.text.size();
    }
    return {};
  }

  Result<void> operator()(SplitClass wanted, TextRange piece) {
    for (std::size_t at = piece.begin; at < piece.end;) {
      const Utf8Char c = utf8_at(text_, at);
      if (is_in(wanted, c.code)) matches_.push_back({at, at + c.length});
      at += c.length;
    }
    return {};
  }

  Result<void> operator()(SplitStep::WordRuns /*runs*/, TextRange piece) {
    int last = 0;
    for (std::size_t at = piece.begin; at < piece.end;) {
      const Utf8Char c = utf8_at(text_, at);
      const int kind = is_word(c.code) ? 1 : is_white_space(c.code) ? 0 : 2;
      if (kind != 0 && kind == last) {
        matches_.back().end += c.length;
      } else if (kind != 0) {
        matches_.push_back({at, at + c.length});
      }
      last = kind;
      at += c.length;
    }
    return {};
  }

 private:
  [[nodiscard]] std::string_view view(TextRange piece) const {
    return text_.substr(piece.begin, piece.end - piece.begin);
  }

  static bool is_ascii_word(char32_t code) {
    return (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
  }

  static bool is_in(SplitClass wanted, char32_t code) {
    switch (wanted) {
      case SplitClass::kWhiteSpace:
        return is_white_space(code);
      case SplitClass::kNumber:
        return code < 0x80 ? code >= '0' && code <= '9' : is_number(code);
      case SplitClass::kPunctuation:
        break;
    }
    // In ASCII symbols count, too: every printable character except letters and digits.
    return code < 0x80 ? code > ' ' && code < 0x7F && !is_ascii_word(code) : is_punctuation(code);
  }

  std::string_view text_;
  std::vector<TextRange>& matches_;
};

Result<void> run(const SplitStep& step, Pieces& pieces) {
  std::vector<TextRange> out;
  std::vector<TextRange> matches;
  std::vector<SplitPart> parts;
  Matcher matcher(pieces.text, matches);
  const auto* scanner = std::get_if<SplitScanner>(&step.pattern);
  const bool direct = scanner != nullptr && scanner->covers_all() && !step.invert &&
                      step.behavior == SplitBehavior::kIsolated;
  const std::size_t first = pieces.ranges.empty() ? 0 : pieces.ranges.front().begin;
  if (direct) out.reserve(pieces.text.size() / 4);
  for (const TextRange& piece : pieces.ranges) {
    if (direct) {
      scanner->split(pieces.at(piece), piece.begin, out);
      continue;
    }
    matches.clear();
    parts.clear();
    Result<void> found =
        std::visit([&](const auto& pattern) { return matcher(pattern, piece); }, step.pattern);
    if (!found) return found;
    std::size_t at = piece.begin;
    for (const TextRange& match : matches) {
      if (match.begin > at) parts.push_back({{at, match.begin}, step.invert});
      parts.push_back({match, !step.invert});
      at = match.end;
    }
    if (at < piece.end) parts.push_back({{at, piece.end}, step.invert});
    append_split(parts, step.behavior, out);
  }
  pieces.ranges = std::move(out);
  pieces.begins_input =
      pieces.begins_input && !pieces.ranges.empty() && pieces.ranges.front().begin == first;
  return {};
}

/// Writes every piece again: `rewrite(piece, index, text)` appends its new form.
template <class Rewrite>
void rewrite_each(Pieces& pieces, std::size_t growth, Rewrite rewrite) {
  std::string text;
  text.reserve(pieces.text.size() + pieces.ranges.size() * growth);
  for (std::size_t i = 0; i < pieces.ranges.size(); ++i) {
    const std::size_t begin = text.size();
    rewrite(pieces.at(pieces.ranges[i]), i, text);
    pieces.ranges[i] = {begin, text.size()};
  }
  pieces.text = std::move(text);
}

Result<void> run(PrefixSpaceStep /*step*/, Pieces& pieces) {
  rewrite_each(pieces, 1, [](std::string_view piece, std::size_t /*index*/, std::string& text) {
    if (!piece.starts_with(' ')) text += ' ';
    text += piece;
  });
  return {};
}

Result<void> run(ByteAlphabetStep /*step*/, Pieces& pieces) {
  rewrite_each(pieces, 1, [](std::string_view piece, std::size_t /*index*/, std::string& text) {
    append_byte_alphabet(text, piece);
  });
  return {};
}

Result<void> run(const MetaspaceStep& step, Pieces& pieces) {
  using Prepend = MetaspaceStep::Prepend;
  rewrite_each(pieces, step.replacement.size(),
               [&](std::string_view piece, std::size_t index, std::string& text) {
                 const bool wanted =
                     step.prepend == Prepend::kAlways ||
                     (step.prepend == Prepend::kFirst && index == 0 && pieces.begins_input);
                 const bool has = piece.starts_with(' ') || piece.starts_with(step.replacement);
                 if (wanted && !has) text += step.replacement;
                 for (const char c : piece) {
                   if (c == ' ') {
                     text += step.replacement;
                   } else {
                     text += c;
                   }
                 }
               });
  if (!step.split) return {};
  return run(SplitStep{SplitStep::Literal{step.replacement}, SplitBehavior::kMergedWithNext, false},
             pieces);
}

Result<void> run(const FixedLengthStep& step, Pieces& pieces) {
  std::vector<TextRange> out;
  for (const TextRange& piece : pieces.ranges) {
    std::size_t begin = piece.begin;
    std::size_t count = 0;
    for (std::size_t at = piece.begin; at < piece.end;) {
      at += utf8_length(static_cast<unsigned char>(pieces.text[at]));
      if (++count == step.length || at == piece.end) {
        out.push_back({begin, at});
        begin = at;
        count = 0;
      }
    }
  }
  pieces.ranges = std::move(out);
  return {};
}

}  // namespace

Result<void> PreTokenizer::apply(Pieces& pieces) const {
  for (const PreTokenizerStep& step : steps_) {
    Result<void> done = std::visit([&](const auto& known) { return run(known, pieces); }, step);
    if (!done) return done;
  }
  return {};
}

bool PreTokenizer::drop_final_byte_alphabet() {
  if (steps_.empty() || !std::holds_alternative<ByteAlphabetStep>(steps_.back())) return false;
  steps_.pop_back();
  return true;
}

}  // namespace weft
