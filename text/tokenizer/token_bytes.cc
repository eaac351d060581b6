#include "weft/text/tokenizer/token_bytes.h"

#include <cstddef>
#include <variant>

#include "weft/text/tokenizer/byte_alphabet.h"

namespace weft {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  std::size_t at = 0;
  while ((at = text.find(from, at)) != std::string::npos) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

/// Applies each step to a token that stands alone.
struct ApplyToToken {
  std::string& token;
  bool bytes = false;  ///< the token has become bytes, or a part of one text, so that later steps
                       ///< see no token

  void operator()(const ReplaceStep& step) {
    if (const auto* literal = std::get_if<std::string>(&step.pattern)) {
      return replace_all(token, *literal, step.content);
    }
    std::string replaced;
    std::size_t at = 0;
    const auto replace = [&](TextRange match) {
      replaced.append(token, at, match.begin - at).append(step.content);
      at = match.end;
    };
    // A pattern that gives up has replaced what it could.
    static_cast<void>(std::get<Regex>(step.pattern).for_each_match(token, replace));
    token = replaced.append(token, at);
  }

  void operator()(const ByteLevelDecoderStep& /*step*/) {
    std::string made;
    if (from_byte_alphabet(token, made)) token = made;
    bytes = true;
  }

  void operator()(const ByteFallbackStep& /*step*/) {
    const auto byte = parse_byte_token(token);
    if (!byte) return;
    token.assign(1, static_cast<char>(*byte));
    bytes = true;
  }

  void operator()(const FuseStep& /*step*/) { bytes = true; }

  void operator()(const StripDecoderStep& step) {
    const std::size_t size = step.content.size();
    for (std::size_t i = 0; i < step.start && token.starts_with(step.content); ++i) {
      token.erase(0, size);
    }
    for (std::size_t i = 0; i < step.stop && token.ends_with(step.content); ++i) {
      token.erase(token.size() - size);
    }
  }

  void operator()(const MetaspaceDecoderStep& step) { replace_all(token, step.replacement, " "); }

  void operator()(const WordPieceDecoderStep& step) {
    if (token.starts_with(step.prefix)) {
      token.erase(0, step.prefix.size());
    } else {
      token.insert(token.begin(), ' ');
    }
  }

  void operator()(const BpeDecoderStep& step) { replace_all(token, step.suffix, " "); }

  void operator()(const CtcStep& step) {
    replace_all(token, step.pad, "");
    if (step.cleanup) replace_all(token, step.delimiter, " ");
  }

  void operator()(const JoinStep& /*step*/) {}
};

}  // namespace

void append_token_bytes(const Decoder& decoder, std::string_view token, std::string& out) {
  std::string made(token);
  ApplyToToken apply{made};
  for (const DecoderStep& step : decoder.steps()) {
    if (apply.bytes) break;
    std::visit(apply, step);
  }
  out += made;
}

}  // namespace weft
