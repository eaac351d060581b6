#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/text/format/call_reader.h"
#include "weft/text/format/harmony_header.h"
#include "weft/text/format/json_span.h"
#include "weft/text/format/output_reader.h"
#include "weft/text/format/prose.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

// The longest header names a role, a recipient, a channel and a type of content.
constexpr std::size_t kMaxHeader = 1024;

// A single byte is more often text than a part of a tag.
constexpr std::size_t kSureHarmonyTag = 2;

constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kConstrain = "<|constrain|>";
constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kRecipient = " to=";

bool is_one_word(std::string_view text) {
  return text.find_first_of(" \n\t\r") == std::string_view::npos;
}

/// Reads messages in OpenAI's harmony format: header, <|message|>, content and an end tag. The
/// prompt has begun the first header. A malformed header is read as far as possible: its channel
/// counts, so that thoughts stay thoughts, and its other words are content.
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
      if (tag) on_tag(tags_[*tag], fed() - text.size(), out);
    }
    find_place(text);
  }

  void finish(TypedText& out, bool cut) override {
    if (done_) return;
    sink_.write_to(out);
    scanner_.flush([&](std::string_view run) {
      if (!cut || run.size() < kSureHarmonyTag) return add(run, out);
      prose_.drop_spaces();
    });
    if (state_ == State::kHeader) {
      // A single word belongs to an incomplete header.
      if (cut && is_one_word(read_harmony_header(header_).rest)) header_.clear();
      read_content(out);
    }
    if (!begun_ || !cut) add_text(header_, out);
    if (sink_.in_call() && span_.complete())
      end_call();  // the end tag was a token that ends
                   // outputs
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
  enum class State : std::uint8_t {
    kBetween,  ///< before a header; header_ has words that may form a header without tags
    kHeader,
    kBody,
  };

  /// Tells `prose_` its offset in the output; `text` is still to be read. Not called for a header,
  /// because a header may turn out to be prose.
  void find_place(std::string_view text) {
    if (header_.empty()) prose_.go_to(fed() - text.size() - scanner_.held());
  }

  void enter_between() {
    state_ = State::kBetween;
    thinks_ = false;
    if (begun_) prose_.begin(PieceKind::kText);
    tags_.assign(kHarmonyTags.begin(), kHarmonyTags.end());
    tags_.push_back(kRecipient);
    scanner_.watch(tags_);
  }

  /// `end` is the tag's end in the output.
  void enter_header(std::string_view tag, std::size_t end) {
    begun_ = true;
    state_ = State::kHeader;
    prose_.drop_spaces();
    header_ = tag == kStart ? std::string_view{} : tag;
    header_at_ = end - header_.size();
    watch_tags();
  }

  void watch_tags() {
    tags_.assign(kHarmonyTags.begin(), kHarmonyTags.end());
    scanner_.watch(tags_);
  }

  void enter_body(const HarmonyHeader& header) {
    begun_ = true;
    state_ = State::kBody;
    std::string_view function = header.recipient;
    constexpr std::string_view kSpace = "functions.";
    if (function.starts_with(kSpace)) function.remove_prefix(kSpace.size());
    is_answer_ = header.channel == "final";
    // Messages on an unknown channel are not answers.
    thinks_ = !is_answer_ && header.channel != "commentary" && !header.channel.empty();
    if (options_.tools && sink_.begin(function)) {
      thinks_ = false;
      span_ = {};
      prose_.drop_spaces();
    } else {
      prose_.begin(thinks_ ? PieceKind::kReasoning : PieceKind::kText);
    }
    watch_tags();
  }

  /// Called when the header has its end tag, or has none.
  void end_header(bool has_end, TypedText& out) {
    const std::string text = std::exchange(header_, {});
    const HarmonyHeader header = read_harmony_header(text);
    enter_body(header);
    const bool is_type = has_end && (is_one_word(header.rest) || sink_.in_call());
    if (header.rest.empty() || is_type) return;
    if (!sink_.in_call()) {
      prose_.go_to(header_at_ + static_cast<std::size_t>(header.rest.data() - text.data()));
    }
    add(header.rest, out);
    if (has_end && !sink_.in_call()) prose_.end(out);  // the content goes on behind the tag
  }

  /// Reads a header that lacks <|message|>: its other words are content.
  void read_content(TypedText& out) {
    if (read_harmony_header(header_).rest.empty()) {
      header_.clear();
    } else {
      end_header(/*has_end=*/false, out);
    }
  }

  void on_tag(std::string_view tag, std::size_t end, TypedText& out) {
    switch (state_) {
      case State::kBetween:
        return on_tag_between(tag, end, out);
      case State::kHeader:
        return on_tag_in_header(tag, end, out);
      case State::kBody:
        return on_tag_in_body(tag, end, out);
    }
  }

  void on_tag_between(std::string_view tag, std::size_t end, TypedText& out) {
    // In a header a recipient may come first; in a text it may be a word.
    if (tag == kRecipient && !prose_.fresh()) return add_text(tag, out);
    if (tag == kMessage) {
      header_at_ = end - tag.size() - header_.size();
      return end_header(/*has_end=*/true, out);
    }
    if (is_end(tag) && !begun_) prose_.end(out);  // the text goes on behind the tag
    prose_.skip(std::exchange(header_, {}).size());
    if (is_end(tag)) return enter_between();
    enter_header(tag, end);
  }

  void on_tag_in_header(std::string_view tag, std::size_t end, TypedText& out) {
    if (tag == kMessage) return end_header(/*has_end=*/true, out);
    const bool is_part = tag == kChannel || tag == kConstrain;
    if (is_part && read_harmony_header(header_).rest.empty()) {
      header_.append(tag);
      return;
    }
    read_content(out);
    if (state_ == State::kBody) return on_tag_in_body(tag, end, out);
    if (is_end(tag)) return enter_between();
    enter_header(tag, end);
  }

  void on_tag_in_body(std::string_view tag, std::size_t end, TypedText& out) {
    if (options_.whole_answer && is_answer_) return add_text(tag, out);
    if (tag == kMessage || tag == kConstrain) {
      if (!sink_.in_call()) prose_.end(out);  // without a tag, white space belongs to the text
      return;
    }
    if (sink_.in_call()) end_call();
    if (done_) return;
    enter_between();
    if (!is_end(tag)) enter_header(tag, end);
  }

  static bool is_end(std::string_view tag) {
    return tag == "<|end|>" || tag == "<|call|>" || tag == "<|return|>";
  }

  void add(std::string_view run, TypedText& out) {
    if (state_ == State::kHeader) return add_header(run, out);
    if (state_ == State::kBetween) return add_between(run, out);
    if (!sink_.in_call()) return prose_.add(run, out);
    for (const char c : run) span_.push(c);
    sink_.arguments(run);
    prose_.skip(run.size());
  }

  /// Reads text before a header. Words that may form a header without tags are held back.
  void add_between(std::string_view run, TypedText& out) {
    while (!run.empty() && header_.empty() && is_markup_space(run.front())) {
      add_text(run.substr(0, 1), out);
      run.remove_prefix(1);
    }
    if (!prose_.fresh()) return add_text(run, out);
    header_.append(run);
    if (may_be_harmony_header(header_) && header_.size() <= kMaxHeader) return;
    add_text(std::exchange(header_, {}), out);
  }

  void add_header(std::string_view run, TypedText& out) {
    header_.append(run);
    if (header_.size() > kMaxHeader) end_header(/*has_end=*/false, out);
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
  bool begun_ = false;  // a header has begun
  bool thinks_ = false;
  bool is_answer_ = false;  // the message is an answer
  bool done_ = false;
  std::string header_;
  std::size_t header_at_ = 0;  // the header's offset in the output
  Prose prose_;
  TagScanner scanner_;
  std::vector<std::string_view> tags_;  // the tags that the scanner looks for
  CallSink sink_;
  JsonSpan span_;  // the span of the arguments
};

}  // namespace

std::unique_ptr<OutputParser::Reader> make_harmony_reader(ParserOptions options) {
  return std::make_unique<HarmonyReader>(std::move(options));
}

}  // namespace weft
