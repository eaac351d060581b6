#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/text/format/call_reader.h"
#include "weft/text/format/json_span.h"
#include "weft/text/format/output_reader.h"
#include "weft/text/format/prose.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

// The longest header names a role, a recipient, a channel and a type of content.
constexpr std::size_t kMaxHeader = 1024;

constexpr std::string_view kRecipient = "to=";
constexpr std::string_view kChannel = "<|channel|>";

/// Returns the word that follows `mark` in a header; empty: there is none.
std::string_view word_after(std::string_view header, std::string_view mark) {
  const std::size_t at = header.find(mark);
  if (at == std::string_view::npos) return {};
  std::string_view word = header.substr(at + mark.size());
  while (!word.empty() && is_markup_space(word.front())) word.remove_prefix(1);
  return word.substr(0, word.find_first_of(" \n\t\r<"));
}

/// Reads messages as OpenAI's harmony has them: header, <|message|>, content and an end tag. The
/// prompt has begun the first header.
class HarmonyReader final : public OutputParser::Reader {
 public:
  explicit HarmonyReader(ParserOptions options)
      : options_(std::move(options)),
        sink_(options_.tools ? *options_.tools : no_tools, /*known_only=*/false) {
    enter_between();
  }

  void feed(std::string_view text, TypedText& out) override {
    sink_.write_to(out);
    while (!text.empty() && !done_) {
      find_place(text);
      const auto plain = [&](std::string_view run) { add(run, out); };
      const auto tag = scanner_.scan(text, plain);
      if (tag) on_tag(tags_[*tag], out);
    }
    find_place(text);
  }

  void finish(TypedText& out) override {
    if (done_) return;
    sink_.write_to(out);
    scanner_.flush([&](std::string_view run) { add(run, out); });
    if (state_ == State::kHeader) add_text(header_, out);
    if (sink_.in_call() && span_.complete()) end_call();  // the end tag was an end token
    prose_.end(out);
  }

  [[nodiscard]] bool done() const noexcept override { return done_; }
  [[nodiscard]] bool thinks() const noexcept override { return thinks_; }
  [[nodiscard]] std::int32_t calls() const noexcept override { return sink_.begun(); }
  [[nodiscard]] bool in_call() const noexcept override { return sink_.in_call(); }
  [[nodiscard]] std::size_t settled() const noexcept override {
    return done_ ? fed() : prose_.settled();
  }

 private:
  enum class State : std::uint8_t { kBetween, kHeader, kBody };

  /// Tells the prose where in the output it is, with `text` still to be read. Not of a header,
  /// which may turn out to be prose.
  void find_place(std::string_view text) {
    if (state_ != State::kHeader) prose_.go_to(fed() - text.size() - scanner_.held());
  }

  void watch(std::vector<std::string_view> tags) {
    tags_ = std::move(tags);
    scanner_.watch(tags_);
  }

  void enter_between() {
    state_ = State::kBetween;
    thinks_ = false;
    if (begun_) prose_.begin(PieceKind::kText);
    watch({"<|start|>", kChannel, " to=", "<|end|>", "<|return|>", "<|call|>"});
  }

  void enter_header(std::string_view begin) {
    begun_ = true;
    state_ = State::kHeader;
    header_ = begin;
    watch({"<|message|>"});
  }

  void enter_body() {
    state_ = State::kBody;
    const std::string_view channel = word_after(header_, kChannel);
    std::string_view function = word_after(header_, kRecipient);
    constexpr std::string_view kSpace = "functions.";
    if (function.starts_with(kSpace)) function.remove_prefix(kSpace.size());
    thinks_ = channel == "analysis";
    is_answer_ = channel == "final";
    if (options_.tools && sink_.begin(function)) {
      thinks_ = false;
      span_ = {};
    } else {
      prose_.begin(thinks_ ? PieceKind::kReasoning : PieceKind::kText);
    }
    watch({"<|end|>", "<|call|>", "<|return|>", "<|start|>", kChannel});
  }

  void on_tag(std::string_view tag, TypedText& out) {
    switch (state_) {
      case State::kHeader:
        return enter_body();
      case State::kBody:
        if (options_.whole_answer && is_answer_) return add_text(tag, out);
        if (sink_.in_call()) end_call();
        enter_between();
        break;
      case State::kBetween:
        // A recipient may come first in a header, and as a word in a text.
        if (tag == " to=" && !prose_.fresh()) return add_text(tag, out);
        break;
    }
    if (!done_ && !is_end(tag)) enter_header(tag);
  }

  static bool is_end(std::string_view tag) {
    return tag == "<|end|>" || tag == "<|call|>" || tag == "<|return|>";
  }

  void add(std::string_view run, TypedText& out) {
    if (state_ == State::kHeader) return add_header(run, out);
    if (!sink_.in_call()) return prose_.add(run, out);
    for (const char c : run) span_.push(c);
    sink_.arguments(run);
    prose_.skip(run.size());
  }

  void add_header(std::string_view run, TypedText& out) {
    header_.append(run);
    if (header_.size() <= kMaxHeader) return;
    const std::string text = std::exchange(header_, {});
    enter_between();
    add_text(text, out);
  }

  void add_text(std::string_view text, TypedText& out) { prose_.add(text, out); }

  void end_call() {
    if (!span_.started()) sink_.arguments("{}");
    sink_.end();
    done_ = options_.one_call;
  }

  inline static const ToolSchemas no_tools{};

  const ParserOptions options_;
  State state_ = State::kBetween;
  bool begun_ = false;  // a header has come
  bool thinks_ = false;
  bool is_answer_ = false;  // the message is
  bool done_ = false;
  std::string header_;
  Prose prose_;
  TagScanner scanner_;
  std::vector<std::string_view> tags_;  // the scanner's
  CallSink sink_;
  JsonSpan span_;  // of the arguments
};

}  // namespace

std::unique_ptr<OutputParser::Reader> make_harmony_reader(ParserOptions options) {
  return std::make_unique<HarmonyReader>(std::move(options));
}

}  // namespace weft
