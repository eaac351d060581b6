#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/text/format/call_reader.h"
#include "weft/text/format/output_reader.h"
#include "weft/text/format/prose.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

// A call whose name is still not known after so many bytes is none: what comes before a name are
// some words of markup, or arguments that a model wrote first.
constexpr std::size_t kMaxCallHead = std::size_t{16} << 10;

/// Whether there is nothing but what stands between calls, and after them.
bool is_between_calls(std::string_view head) {
  return head.find_first_not_of(" \n\t\r,]`") == std::string_view::npos;
}

class TagReader final : public OutputParser::Reader {
 public:
  TagReader(std::shared_ptr<const OutputFormat> format, ParserOptions options)
      : format_(std::move(format)),
        options_(std::move(options)),
        calls_(options_.tools && format_->calls.body != CallBody::kNone),
        bare_(calls_ && format_->calls.open.empty()),
        sink_(options_.tools ? *options_.tools : no_tools, bare_) {
    if (options_.in_thought) {
      enter_thought();
    } else {
      enter_text();
      prose_.restart();  // white space at the beginning is text, unless a tag follows
    }
  }

  void feed(std::string_view text, TypedText& out) override {
    sink_.write_to(out);
    while (!text.empty() && !done_) {
      find_place(text);
      switch (state_) {
        case State::kStart:
          read_start(text, out);
          break;
        case State::kText:
          read_text(text, out);
          break;
        case State::kThought:
          read_thought(text, out);
          break;
        case State::kCall:
          read_call(text, out);
          break;
      }
    }
    find_place(text);
  }

  void finish(TypedText& out) override {
    if (done_) return;
    sink_.write_to(out);
    const auto plain = [&](std::string_view run) { prose_.add(run, out); };
    if (state_ == State::kCall) {
      reader_->finish(sink_);
      if (!sink_.in_call()) add_head(out);
    } else {
      scanner_.flush(plain);
    }
    prose_.end(out);
  }

  [[nodiscard]] bool done() const noexcept override { return done_; }
  [[nodiscard]] bool thinks() const noexcept override { return state_ == State::kThought; }
  [[nodiscard]] std::int32_t calls() const noexcept override { return sink_.begun(); }
  [[nodiscard]] bool in_call() const noexcept override { return sink_.in_call(); }
  [[nodiscard]] std::size_t settled() const noexcept override {
    return done_ ? fed() : prose_.settled();
  }

 private:
  enum class State : std::uint8_t {
    kStart,  ///< where a call without a tag may begin
    kText,
    kThought,
    kCall,
  };
  enum class Role : std::uint8_t { kThoughtOpen, kCallOpen, kNameOpen, kCallClose, kSilent };

  /// Tells the prose where in the output it is, with `text` still to be read. Of a call it is told
  /// once the name is: the call's head may turn out to be prose.
  void find_place(std::string_view text) {
    if (state_ == State::kCall && !head_.empty()) return;
    prose_.go_to(fed() - text.size() - scanner_.held());
  }

  void enter_text() {
    state_ = bare_ ? State::kStart : State::kText;
    prose_.begin(PieceKind::kText);
    roles_.clear();
    std::vector<std::string_view> tags;
    const auto watch = [&](const std::string& tag, Role role) {
      if (tag.empty()) return;
      tags.emplace_back(tag);
      roles_.push_back(role);
    };
    watch(format_->thoughts.open, Role::kThoughtOpen);
    if (calls_) {
      const CallSyntax& calls = format_->calls;
      watch(calls.open, Role::kCallOpen);
      // Some models forget the outer tag.
      if (calls.body == CallBody::kTagged) watch(calls.name_open, Role::kNameOpen);
      watch(calls.close, Role::kCallClose);
    }
    for (const std::string& tag : format_->silent) watch(tag, Role::kSilent);
    tags_ = tags;
    scanner_.watch(std::move(tags));
  }

  void enter_thought() {
    state_ = State::kThought;
    prose_.begin(PieceKind::kReasoning);
    scanner_.watch({format_->thoughts.close, format_->thoughts.open});
  }

  void enter_call(std::string head) {
    state_ = State::kCall;
    head_ = std::move(head);
    reader_ = make_call_reader(format_->calls);
  }

  /// Whether an answer has begun that nothing but its own text can follow.
  [[nodiscard]] bool is_whole_answer() const {
    return options_.whole_answer && sink_.begun() == 0 && !prose_.fresh();
  }

  // White space is passed on to the text, where it is held back.
  void read_start(std::string_view& text, TypedText& out) {
    const char c = text.front();
    const char opens = format_->calls.body == CallBody::kPython ? '[' : '{';
    if (is_markup_space(c)) {
      prose_.add(text.substr(0, 1), out);
      return text.remove_prefix(1);
    }
    if (sink_.ended() > 0 && (c == ';' || c == ',')) return text.remove_prefix(1);
    if (c == opens) return enter_call(prose_.take_spaces());
    state_ = State::kText;
  }

  void read_text(std::string_view& text, TypedText& out) {
    const auto plain = [&](std::string_view run) { prose_.add(run, out); };
    const auto tag = scanner_.scan(text, plain);
    if (!tag) return;
    if (is_whole_answer()) return prose_.add(tags_[*tag], out);
    switch (roles_[*tag]) {
      case Role::kThoughtOpen:
        if (prose_.fresh()) return enter_thought();
        return prose_.add(format_->thoughts.open, out);
      case Role::kCallOpen:
        return enter_call(prose_.take_spaces() + format_->calls.open);
      case Role::kNameOpen:
        enter_call(prose_.take_spaces());
        for (const char c : format_->calls.name_open) push_call(c, out);
        return;
      case Role::kCallClose:
        if (prose_.fresh() && sink_.ended() > 0) return enter_text();
        return prose_.add(format_->calls.close, out);
      case Role::kSilent:
        return enter_text();
    }
  }

  void read_thought(std::string_view& text, TypedText& out) {
    const auto plain = [&](std::string_view run) { prose_.add(run, out); };
    const auto tag = scanner_.scan(text, plain);
    if (!tag) return;
    if (*tag == 0) return enter_text();
    // The prompt has opened it, and so has the model; later it is a text.
    if (!prose_.fresh()) prose_.add(format_->thoughts.open, out);
  }

  void read_call(std::string_view& text, TypedText& out) {
    while (!text.empty() && state_ == State::kCall && !done_) {
      if (push_call(text.front(), out)) text.remove_prefix(1);
      find_place(text);
    }
  }

  /// Returns whether the byte was taken.
  bool push_call(char c, TypedText& out) {
    const std::int32_t ended = sink_.ended();
    const CallReader::Step step = reader_->push(c, sink_);
    const bool told = sink_.in_call() || sink_.ended() > ended;
    if (told) head_.clear();
    if (is_last_call()) return true;
    switch (step) {
      case CallReader::Step::kMore:
        if (told) return true;
        head_.push_back(c);
        if (head_.size() > kMaxCallHead) give_up(out);
        return true;
      case CallReader::Step::kDone:
        enter_text();
        return true;
      case CallReader::Step::kDoneBefore:
        enter_text();
        return false;
      case CallReader::Step::kBroken:
        give_up(out);
        return false;
    }
    return true;
  }

  bool is_last_call() {
    done_ = options_.one_call && sink_.ended() > 0;
    return done_;
  }

  /// What comes is no call, or no more of one.
  void give_up(TypedText& out) {
    const bool told = sink_.in_call();
    if (told) sink_.end();
    enter_text();
    if (is_last_call() || told) return;
    state_ = State::kText;
    add_head(out);
  }

  /// What was read of a call that has not begun is text.
  void add_head(TypedText& out) {
    if (sink_.ended() > 0 && is_between_calls(head_)) return;
    prose_.restart();
    prose_.add(head_, out);
  }

  inline static const ToolSchemas no_tools{};

  const std::shared_ptr<const OutputFormat> format_;
  const ParserOptions options_;
  const bool calls_;
  const bool bare_;
  State state_ = State::kText;
  Prose prose_;
  TagScanner scanner_;
  std::vector<std::string_view> tags_;  // the scanner's
  std::vector<Role> roles_;             // of them
  CallSink sink_;
  std::unique_ptr<CallReader> reader_;
  std::string head_;  // what has been read of a call that has not begun
  bool done_ = false;
};

}  // namespace

std::unique_ptr<OutputParser::Reader> make_tag_reader(std::shared_ptr<const OutputFormat> format,
                                                      ParserOptions options) {
  return std::make_unique<TagReader>(std::move(format), std::move(options));
}

}  // namespace weft
