#include "weft/text/tokenizer/decode/decode_stages.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/tokenizer/byte_alphabet.h"

namespace weft {
namespace {

/// Uses `spare` as a buffer, so that nothing is allocated once both are large enough.
void replace_all_from(std::string& text, std::string_view from, std::string_view to,
                      std::string& spare) {
  if (from.empty() || text.find(from) == std::string::npos) return;
  spare.clear();
  std::size_t at = 0;
  for (std::size_t found = 0; (found = text.find(from, at)) != std::string::npos;) {
    spare.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  spare.append(text, at);
  text.swap(spare);
}

/// The rules by which BERT's decoder cleans English text, in their order.
void clean_up(std::string& text, std::string& spare) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRules = {{
      {" .", "."},
      {" ?", "?"},
      {" !", "!"},
      {" ,", ","},
      {" ' ", "'"},
      {" n't", "n't"},
      {" 'm", "'m"},
      {" do not", " don't"},
      {" 's", "'s"},
      {" 've", "'ve"},
      {" 're", "'re"},
  }};
  for (const auto& [from, to] : kRules) replace_all_from(text, from, to, spare);
}

class LastStage final : public DecodeStage {
 public:
  LastStage(std::string& out, std::vector<std::size_t>& ends) : out_(out), ends_(ends) {}

  void text(std::string_view part) override {
    out_ += part;
    size_ += part.size();
  }
  void end_token() override {}
  void boundary(std::size_t ahead) override {
    last_end_ = std::max(last_end_, size_ + ahead);
    ends_.push_back(last_end_);
  }
  void finish() override {}

 private:
  std::string& out_;
  std::vector<std::size_t>& ends_;
  std::size_t size_ = 0;  // size of the whole text
  std::size_t last_end_ = 0;
};

/// A stage that needs whole tokens.
class TokenStage : public DecodeStage {
 public:
  explicit TokenStage(DecodeStage& next) : next_(next) {}

  void text(std::string_view part) final { held_ += part; }
  void end_token() final {
    token(held_);
    held_.clear();
  }
  void boundary(std::size_t ahead) override { next_.boundary(held_.size() + ahead); }
  void finish() override { next_.finish(); }

 protected:
  virtual void token(std::string& token) = 0;

  void pass(std::string_view token) {
    next_.text(token);
    next_.end_token();
  }

  [[nodiscard]] DecodeStage& next() const { return next_; }
  /// A buffer for token(), which keeps its memory from token to token.
  [[nodiscard]] std::string& spare() { return spare_; }

 private:
  DecodeStage& next_;
  std::string held_;
  std::string spare_;
};

class ReplaceStage final : public TokenStage {
 public:
  ReplaceStage(const ReplaceStep& step, DecodeStage& next) : TokenStage(next), step_(step) {}

 private:
  void token(std::string& token) override {
    if (const auto* literal = std::get_if<std::string>(&step_.pattern)) {
      replace_all_from(token, *literal, step_.content, spare());
      return pass(token);
    }
    std::string& out = spare();
    out.clear();
    std::size_t at = 0;
    const auto replace = [&](TextRange match) {
      out.append(token, at, match.begin - at).append(step_.content);
      at = match.end;
    };
    // A pattern that gives up has replaced as much as it could.
    static_cast<void>(std::get<Regex>(step_.pattern).for_each_match(token, replace));
    pass(out.append(token, at));
  }

  const ReplaceStep& step_;
};

class ByteLevelStage final : public TokenStage {
 public:
  explicit ByteLevelStage(DecodeStage& next) : TokenStage(next) {}

  void boundary(std::size_t /*ahead*/) override {
    const std::size_t held = held_bytes();
    if (held == 0) return next().boundary(0);
    ends_.push_back(held);  // the token ends inside a character, which may turn out to be invalid
  }

  void finish() override {
    std::string rest;
    utf8_.finish(rest);
    tell_ends(rest);
    next().text(rest);
    next().end_token();
    next().finish();
  }

 private:
  void token(std::string& token) override {
    const bool in_alphabet = from_byte_alphabet(token, spare());
    ready_.clear();
    const std::string_view bytes = in_alphabet ? spare() : token;
    utf8_.push(bytes, ready_);
    last_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kMostHeld)));
    last_.erase(0, last_.size() - std::min(last_.size(), kMostHeld));
    if (ready_.empty()) return;
    tell_ends(ready_);
    next().text(ready_);
  }

  static constexpr std::size_t kMostHeld = 3;

  /// Returns how many bytes utf8_ holds back, the beginning of a character.
  [[nodiscard]] std::size_t held_bytes() const {
    Utf8Decoder probe = utf8_;
    std::string rest;  // at most one character, so nothing is allocated
    probe.finish(rest);
    return rest.empty() ? 0 : last_.size() - utf8_before(last_, last_.size());
  }

  /// Reports the ends inside the character with which `text` begins. Tokens whose bytes are no
  /// character end after the replacement character.
  void tell_ends(std::string_view text) {
    const bool broken = text.starts_with(kReplacementUtf8);
    for (const std::size_t end : ends_) {
      next().boundary(broken ? kReplacementUtf8.size() : end);
    }
    ends_.clear();
  }

  Utf8Decoder utf8_;
  std::string ready_;
  std::string last_;               // the last bytes that utf8_ got
  std::vector<std::size_t> ends_;  // ends of tokens, in the bytes that utf8_ holds back
};

class ByteFallbackStage final : public TokenStage {
 public:
  explicit ByteFallbackStage(DecodeStage& next) : TokenStage(next) {}

  void boundary(std::size_t ahead) override {
    if (bytes_.empty()) return next().boundary(ahead);
    ends_.push_back(bytes_.size());
  }

  void finish() override {
    pass_bytes();
    next().finish();
  }

 private:
  void token(std::string& token) override {
    if (const auto byte = parse_byte_token(token)) {
      bytes_ += static_cast<char>(*byte);
      return;
    }
    pass_bytes();
    pass(token);
  }

  void pass_bytes() {
    if (bytes_.empty()) return;
    const bool valid = is_utf8(bytes_);
    for (const std::size_t end : ends_)
      next().boundary(valid ? end : end * kReplacementUtf8.size());
    ends_.clear();
    if (valid) {
      pass(bytes_);
    } else {
      for (std::size_t i = 0; i < bytes_.size(); ++i) pass(kReplacementUtf8);
    }
    bytes_.clear();
  }

  std::string bytes_;
  std::vector<std::size_t> ends_;  // ends of tokens, in bytes_
};

class FuseStage final : public DecodeStage {
 public:
  explicit FuseStage(DecodeStage& next) : next_(next) {}

  void text(std::string_view part) override { next_.text(part); }
  void end_token() override {}
  void boundary(std::size_t ahead) override { next_.boundary(ahead); }
  void finish() override {
    next_.end_token();
    next_.finish();
  }

 private:
  DecodeStage& next_;
};

/// Passes text on as it comes, except for text that may still be stripped from the end.
class StripStage final : public DecodeStage {
 public:
  StripStage(const StripDecoderStep& step, DecodeStage& next) : step_(step), next_(next) {}

  void text(std::string_view part) override {
    held_ += part;
    while (at_start_ && stripped_ < step_.start && held_.starts_with(step_.content)) {
      held_.erase(0, step_.content.size());
      for (std::size_t& end : ends_) end -= std::min(end, step_.content.size());
      ++stripped_;
    }
    // The content is one character; text that could still become it is shorter.
    const bool open = at_start_ && stripped_ < step_.start && held_.size() < step_.content.size();
    if (open) return;
    at_start_ = held_.empty() && stripped_ < step_.start;
    pass_settled();
  }

  void end_token() override {
    for (std::size_t i = 0; i < step_.stop && held_.ends_with(step_.content); ++i) {
      held_.erase(held_.size() - step_.content.size());
    }
    for (const std::size_t end : ends_) next_.boundary(std::min(end, held_.size()));
    ends_.clear();
    next_.text(held_);
    next_.end_token();
    held_.clear();
    at_start_ = true;
    stripped_ = 0;
  }

  void boundary(std::size_t ahead) override {
    const bool settled = held_.empty() && ends_.empty() && (ahead == 0 || !at_start_);
    if (settled) return next_.boundary(ahead);
    ends_.push_back(held_.size() + ahead);
  }

  void finish() override { next_.finish(); }
  void go_on(bool one_text) override { at_start_ = !one_text; }

 private:
  void pass_settled() {
    const std::size_t most = step_.stop * step_.content.size();
    const std::size_t settled = held_.size() - std::min(held_.size(), most);
    const auto behind = std::ranges::find_if(ends_, [&](std::size_t end) { return end > settled; });
    std::for_each(ends_.begin(), behind, [&](std::size_t end) { next_.boundary(end); });
    ends_.erase(ends_.begin(), behind);
    for (std::size_t& end : ends_) end -= settled;
    if (settled == 0) return;
    next_.text(std::string_view(held_).substr(0, settled));
    held_.erase(0, settled);
  }

  const StripDecoderStep& step_;
  DecodeStage& next_;
  std::string held_;
  bool at_start_ = true;
  std::size_t stripped_ = 0;
  std::vector<std::size_t> ends_;  // ends of tokens, from the beginning of held_
};

class MetaspaceStage final : public TokenStage {
 public:
  MetaspaceStage(const MetaspaceDecoderStep& step, DecodeStage& next)
      : TokenStage(next), step_(step) {}

  void go_on(bool /*one_text*/) override { first_ = false; }

 private:
  void token(std::string& token) override {
    replace_all_from(token, step_.replacement, first_ && step_.drop_first ? "" : " ", spare());
    first_ = false;
    pass(token);
  }

  const MetaspaceDecoderStep& step_;
  bool first_ = true;
};

class WordPieceStage final : public TokenStage {
 public:
  WordPieceStage(const WordPieceDecoderStep& step, DecodeStage& next)
      : TokenStage(next), step_(step) {}

  void go_on(bool /*one_text*/) override { first_ = false; }

 private:
  void token(std::string& token) override {
    if (!first_) {
      if (token.starts_with(step_.prefix)) {
        token.erase(0, step_.prefix.size());
      } else {
        token.insert(token.begin(), ' ');
      }
    }
    first_ = false;
    if (step_.cleanup) clean_up(token, spare());
    pass(token);
  }

  const WordPieceDecoderStep& step_;
  bool first_ = true;
};

/// Holds one token back, because the last token's suffix is dropped.
class BpeStage final : public TokenStage {
 public:
  BpeStage(const BpeDecoderStep& step, DecodeStage& next) : TokenStage(next), step_(step) {}

  void boundary(std::size_t ahead) override {
    if (!has_last_) return next().boundary(ahead);
    ++ends_;
  }

  void finish() override {
    pass_last("");
    next().finish();
  }

 private:
  void token(std::string& token) override {
    pass_last(" ");
    last_ = token;
    has_last_ = true;
  }

  void pass_last(std::string_view suffix) {
    if (!has_last_) return;
    replace_all_from(last_, step_.suffix, suffix, spare());
    pass(last_);
    for (; ends_ > 0; --ends_) next().boundary(0);
    has_last_ = false;
  }

  const BpeDecoderStep& step_;
  std::string last_;
  bool has_last_ = false;
  std::size_t ends_ = 0;  // ends of tokens after the last one
};

class CtcStage final : public TokenStage {
 public:
  CtcStage(const CtcStep& step, DecodeStage& next) : TokenStage(next), step_(step) {}

 private:
  void token(std::string& token) override {
    if (last_ == token) return;
    last_ = token;
    replace_all_from(token, step_.pad, "", spare());
    if (step_.cleanup) {
      clean_up(token, spare());
      replace_all_from(token, step_.delimiter, " ", spare());
    }
    if (!token.empty()) pass(token);
  }

  const CtcStep& step_;
  std::optional<std::string> last_;
};

class JoinStage final : public TokenStage {
 public:
  explicit JoinStage(DecodeStage& next) : TokenStage(next) {}

  void go_on(bool /*one_text*/) override { first_ = false; }

 private:
  void token(std::string& token) override {
    if (!first_) next().text(" ");
    first_ = false;
    pass(token);
  }

  bool first_ = true;
};

struct MakeStage {
  DecodeStage& next;

  using Made = std::unique_ptr<DecodeStage>;
  Made operator()(const ReplaceStep& step) { return std::make_unique<ReplaceStage>(step, next); }
  Made operator()(const ByteLevelDecoderStep& /*step*/) {
    return std::make_unique<ByteLevelStage>(next);
  }
  Made operator()(const ByteFallbackStep& /*step*/) {
    return std::make_unique<ByteFallbackStage>(next);
  }
  Made operator()(const FuseStep& /*step*/) { return std::make_unique<FuseStage>(next); }
  Made operator()(const StripDecoderStep& step) { return std::make_unique<StripStage>(step, next); }
  Made operator()(const MetaspaceDecoderStep& step) {
    return std::make_unique<MetaspaceStage>(step, next);
  }
  Made operator()(const WordPieceDecoderStep& step) {
    return std::make_unique<WordPieceStage>(step, next);
  }
  Made operator()(const BpeDecoderStep& step) { return std::make_unique<BpeStage>(step, next); }
  Made operator()(const CtcStep& step) { return std::make_unique<CtcStage>(step, next); }
  Made operator()(const JoinStep& /*step*/) { return std::make_unique<JoinStage>(next); }
};

}  // namespace

std::unique_ptr<DecodeStage> make_last_stage(std::string& out, std::vector<std::size_t>& ends) {
  return std::make_unique<LastStage>(out, ends);
}

std::unique_ptr<DecodeStage> make_stage(const DecoderStep& step, DecodeStage& next) {
  return std::visit(MakeStage{next}, step);
}

}  // namespace weft
