#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/text/format/call_reader.h"
#include "weft/text/format/code_fence.h"
#include "weft/text/format/output_reader.h"
#include "weft/text/format/prose.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

// The bytes of a call without a known name after which it becomes text. Before a name come some
// words of markup, or arguments that a model wrote first.
constexpr std::size_t kMaxCallHead = std::size_t{16} << 10;

// The most bytes of thoughts, from a possible call on, that are held back until it is known whether
// the thoughts are closed. A call that is longer counts as a call at once; a shorter call followed
// by as much text is a thought.
constexpr std::size_t kMaxHeldThought = std::size_t{64} << 10;

// A single byte is more often text than a part of a tag.
constexpr std::size_t kSureTag = 2;

/// Whether the text has only characters that occur between calls, and after them.
bool is_between_calls(std::string_view head) {
  return head.find_first_not_of(" \n\t\r,]`") == std::string_view::npos;
}

/// Returns whether a tag in an unexpected place is still a tag. `<think>` is not, because a text
/// may mention it.
bool is_markup(std::string_view tag) { return tag.find('|') != std::string_view::npos; }

bool begins_markup(std::string_view tag) { return tag.starts_with('<') || tag.starts_with('['); }

class TagReader final : public OutputParser::Reader {
 public:
  TagReader(std::shared_ptr<const OutputFormat> format, ParserOptions options)
      : format_(std::move(format)),
        options_(std::move(options)),
        calls_(options_.tools && format_->calls.body != CallBody::kNone),
        bare_(calls_ && format_->calls.open.empty()),
        sink_(options_.tools ? *options_.tools : no_tools, bare_) {
    if (options_.in_thought) {
      prose_.begin(PieceKind::kReasoning);
      enter_thought();
    } else {
      enter_text();
      prose_.restart();  // white space at the beginning belongs to the text, unless a tag follows
    }
  }

  void feed(std::string_view text, TypedText& out) override {
    if (rest_) return feed_rest(text, out);
    sink_.write_to(out);
    while (!text.empty() && !done_ && !rest_) {
      find_place(text);
      read(text, out);
    }
    if (rest_) return feed_rest(text, out);
    find_place(text);
  }

  void finish(TypedText& out, bool cut) override {
    if (rest_) return rest_->finish(out, cut);
    if (done_) return;
    sink_.write_to(out);
    if (state_ == State::kCall) {
      reader_->finish(sink_);
      if (!sink_.in_call() && !(cut && is_unfinished_call())) add_head(out);
    } else if (state_ == State::kHeld) {
      scanner_.flush([&](std::string_view run) {
        if (!cut || !is_half_tag(run)) held_.append(run);
      });
      settle_held(out, /*ended=*/true, cut);
      if (rest_) return;
    } else {
      scanner_.flush([&](std::string_view run) {
        if (!cut || !is_half_tag(run)) return say(run, out);
        prose_.drop_spaces();
      });
      if (!cut) say({}, out);
    }
    prose_.end(out);
  }

  [[nodiscard]] bool done() const noexcept override { return rest_ ? rest_->done() : done_; }
  [[nodiscard]] bool thinks() const noexcept override {
    return rest_ ? rest_->thinks() : state_ == State::kThought || state_ == State::kHeld;
  }
  [[nodiscard]] std::int32_t calls() const noexcept override {
    return sink_.begun() + (rest_ ? rest_->calls() : 0);
  }
  [[nodiscard]] bool in_call() const noexcept override {
    return rest_ ? rest_->in_call() : sink_.in_call();
  }
  [[nodiscard]] std::size_t settled() const noexcept override {
    if (rest_) return rest_->settled();
    return done_ ? fed() : prose_.settled();
  }

 private:
  enum class State : std::uint8_t {
    kStart,  ///< where a call without an opening tag may begin
    kText,
    kThought,
    kHeld,  ///< in thoughts, after a possible call
    kCall,
  };
  enum class Role : std::uint8_t {
    kThoughtOpen,
    kThoughtClose,
    kCallOpen,
    kNameOpen,
    kCallClose,
    kGroupOpen,
    kSilent,
  };

  void read(std::string_view& text, TypedText& out) {
    switch (state_) {
      case State::kStart:
        return read_start(text, out);
      case State::kText:
        return read_text(text, out);
      case State::kThought:
        return read_thought(text, out);
      case State::kHeld:
        return read_held(text, out);
      case State::kCall:
        return read_call(text, out);
    }
  }

  void watch(const std::string& tag, Role role) {
    if (tag.empty()) return;
    tags_.emplace_back(tag);
    roles_.push_back(role);
  }

  void watch_call_begins() {
    if (!calls_) return;
    const CallSyntax& calls = format_->calls;
    watch(calls.open, Role::kCallOpen);
    // Some models forget the outer tag.
    if (calls.body == CallBody::kTagged) watch(calls.name_open, Role::kNameOpen);
  }

  void clear_tags() {
    tags_.clear();
    roles_.clear();
  }

  /// Tells `prose_` its offset in the output; `text` is still to be read. In a call this happens
  /// once the name is known, because the head of a call, like other held text, may turn out to be
  /// prose.
  void find_place(std::string_view text) {
    const bool holds = state_ == State::kHeld || (state_ == State::kCall && !head_.empty());
    if (holds || !pending_.empty()) return;
    prose_.go_to(fed() - behind_ - text.size() - scanner_.held());
  }

  void enter_text() {
    state_ = bare_ ? State::kStart : State::kText;
    prose_.begin(PieceKind::kText);
    clear_tags();
    watch(format_->thoughts.open, Role::kThoughtOpen);
    watch(format_->thoughts.close, Role::kThoughtClose);
    watch_call_begins();
    if (calls_) {
      const CallSyntax& calls = format_->calls;
      watch(calls.close, Role::kCallClose);
      if (calls.body_close != calls.close) watch(calls.body_close, Role::kCallClose);
    }
    for (const std::string& tag : format_->silent) watch(tag, Role::kSilent);
    scanner_.watch(tags_);
  }

  void enter_thought() {
    state_ = State::kThought;
    clear_tags();
    watch(format_->thoughts.close, Role::kThoughtClose);
    watch(format_->thoughts.open, Role::kThoughtOpen);
    if (!bare_) watch_call_begins();
    if (calls_) watch(format_->calls.group_open, Role::kGroupOpen);
    scanner_.watch(tags_);
  }

  void enter_held(const std::string& tag) {
    state_ = State::kHeld;
    held_ = prose_.take_spaces() + tag;
    scanner_.watch({format_->thoughts.close});
  }

  void enter_call(std::string head) {
    in_thought_ = state_ == State::kThought;
    stray_close_ = false;
    state_ = State::kCall;
    prose_.skip(std::exchange(pending_, {}).size());
    head_ = std::move(head);
    reader_ = make_call_reader(format_->calls);
  }

  /// Whether an answer has begun that must go on to the output's end.
  [[nodiscard]] bool is_whole_answer() const {
    return options_.whole_answer && sink_.begun() == 0 && !prose_.fresh();
  }

  [[nodiscard]] bool is_fresh() const { return prose_.fresh() && pending_.empty(); }

  /// Adds a run of text or thoughts, after a doubled tag that was held back.
  void say(std::string_view run, TypedText& out) {
    if (!pending_.empty()) {
      const std::string tag = std::exchange(pending_, {});
      prose_.restart();
      prose_.add(tag, out);
    }
    if (state_ != State::kThought) fence_.add(run);
    prose_.add(run, out);
  }

  // White space is passed to the text, which holds it back.
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
    const auto tag = scanner_.scan(text, [&](std::string_view run) { say(run, out); });
    if (!tag) return;
    if (is_whole_answer() || fence_.open()) return say(tags_[*tag], out);
    on_tag(roles_[*tag], tags_[*tag], out);
  }

  void on_tag(Role role, std::string_view tag, TypedText& out) {
    switch (role) {
      case Role::kThoughtOpen:
        if (!is_fresh() && !is_markup(tag)) return say(tag, out);
        say({}, out);
        prose_.begin(PieceKind::kReasoning);
        return enter_thought();
      case Role::kThoughtClose:
        if (is_fresh()) return enter_text();
        if (!is_markup(tag)) return say(tag, out);
        say({}, out);
        return prose_.end(out);  // the text goes on behind the tag
      case Role::kCallOpen:
        return enter_call(prose_.take_spaces() + format_->calls.open);
      case Role::kNameOpen:
        return enter_body(out);
      case Role::kCallClose:
        if (!stray_close_ && (!prose_.fresh() || sink_.ended() == 0)) return say(tag, out);
        stray_close_ = false;
        say({}, out);
        return enter_text();
      case Role::kGroupOpen:
      case Role::kSilent:
        say({}, out);
        return enter_text();
    }
  }

  void enter_body(TypedText& out) {
    enter_call(prose_.take_spaces());
    for (const char c : format_->calls.name_open) push_call(c, out);
  }

  void read_thought(std::string_view& text, TypedText& out) {
    const auto tag = scanner_.scan(text, [&](std::string_view run) { say(run, out); });
    if (!tag) return;
    const Role role = roles_[*tag];
    switch (role) {
      case Role::kThoughtClose:
        return enter_text();
      case Role::kThoughtOpen:
        // The prompt or the model has opened thoughts already, so a later tag is a text.
        if (!prose_.fresh()) say(tags_[*tag], out);
        return;
      default:
        if (!format_->thoughts.ended_by_call) return enter_held(std::string(tags_[*tag]));
        return on_tag(role, tags_[*tag], out);
    }
  }

  void read_held(std::string_view& text, TypedText& out) {
    const auto tag = scanner_.scan(text, [&](std::string_view run) { held_.append(run); });
    if (tag) {
      prose_.add(std::exchange(held_, {}), out);
      return enter_text();
    }
    if (held_.size() <= kMaxHeldThought) return;
    scanner_.flush([&](std::string_view run) { held_.append(run); });
    settle_held(out, /*ended=*/false, /*cut=*/false);
  }

  /// Called when the thoughts were never closed: the held-back text is a call if it reads like one.
  void settle_held(TypedText& out, bool ended, bool cut) {
    const std::string held = std::exchange(held_, {});
    TypedText trial;
    const auto read = read_alone(held, ended, cut, trial);
    if (ended ? read->calls() > 0 : read->in_call()) {
      rest_ = read_alone(held, ended, cut, out);
      return;
    }
    if (!cut || !trial.empty()) prose_.add(held, out);
    if (!ended) enter_thought();
  }

  [[nodiscard]] std::unique_ptr<TagReader> read_alone(const std::string& held, bool ended, bool cut,
                                                      TypedText& out) const {
    ParserOptions options = options_;
    options.in_thought = false;
    auto reader = std::make_unique<TagReader>(format_, std::move(options));
    reader->note_text(prose_.settled() + held.size());
    reader->feed(held, out);
    if (ended) reader->finish(out, cut);
    return reader;
  }

  void feed_rest(std::string_view text, TypedText& out) {
    rest_->note_text(text.size());
    rest_->feed(text, out);
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

  /// Ends the attempt to read a call: the text is none, or its rest is malformed.
  void give_up(TypedText& out) {
    const bool told = sink_.in_call();
    if (told) {
      sink_.end();
      stray_close_ = true;
      enter_text();
      static_cast<void>(is_last_call());
      return;
    }
    if (in_thought_) {
      enter_thought();
      return prose_.add(std::exchange(head_, {}), out);
    }
    enter_text();
    state_ = State::kText;
    add_head(out);
  }

  /// Adds the head of a call that has not begun as text.
  void add_head(TypedText& out) {
    const std::string head = std::exchange(head_, {});
    if (in_thought_) return prose_.add(head, out);
    if (sink_.ended() > 0 && is_between_calls(head)) return prose_.skip(head.size());
    if (state_ == State::kText && holds_tag(head)) return add_tag(head, out);
    fence_.add(head);
    prose_.restart();
    prose_.add(head, out);
  }

  /// Returns whether the head consists of the tag that opens calls and at most a few more bytes.
  [[nodiscard]] bool holds_tag(std::string_view head) const {
    const std::string_view open = format_->calls.open;
    const std::size_t begin = head.find_first_not_of(" \n\t\r");
    return !open.empty() && begin != std::string_view::npos &&
           head.substr(begin).starts_with(open) && head.size() - begin - open.size() <= open.size();
  }

  /// Holds back the tag, because some models write it twice. The bytes after it are read again.
  void add_tag(std::string_view head, TypedText& out) {
    const std::size_t begin = head.find(format_->calls.open) + format_->calls.open.size();
    const std::size_t end = std::min(head.find_first_not_of(" \n\t\r", begin), head.size());
    pending_ = head.substr(0, end);
    std::string_view rest = head.substr(end);
    behind_ = fed() - (prose_.settled() + head.size());
    while (!rest.empty() && !done_) read(rest, out);
    behind_ = 0;
  }

  /// Returns whether the text held back at the end is a part of a tag rather than text.
  [[nodiscard]] bool is_half_tag(std::string_view held) const {
    const bool after_call = sink_.ended() > 0 && is_fresh();
    return begins_markup(held) && (held.size() >= kSureTag || after_call);
  }

  /// Returns whether the head that was read can only be the beginning of a call.
  [[nodiscard]] bool is_unfinished_call() const {
    const std::string_view open = format_->calls.open;
    const std::string_view tag = open.empty() ? std::string_view(format_->calls.name_open) : open;
    return begins_markup(tag);
  }

  inline static const ToolSchemas no_tools{};

  const std::shared_ptr<const OutputFormat> format_;
  const ParserOptions options_;
  const bool calls_;
  const bool bare_;
  State state_ = State::kText;
  Prose prose_;
  CodeFence fence_;
  TagScanner scanner_;
  std::vector<std::string_view> tags_;  // the tags that the scanner looks for
  std::vector<Role> roles_;             // role of each tag
  CallSink sink_;
  std::unique_ptr<CallReader> reader_;
  std::string head_;          // the bytes of a call that has not begun
  std::string pending_;       // a tag that opens calls, while no call follows it
  std::size_t behind_ = 0;    // number of bytes after the text that is read again
  std::string held_;          // text of thoughts from a possible call on
  bool in_thought_ = false;   // the call is inside thoughts
  bool stray_close_ = false;  // a call was malformed, so its closing tag may still come
  bool done_ = false;
  std::unique_ptr<TagReader> rest_;  // reads the output after thoughts that a call has ended
};

}  // namespace

std::unique_ptr<OutputParser::Reader> make_tag_reader(std::shared_ptr<const OutputFormat> format,
                                                      ParserOptions options) {
  return std::make_unique<TagReader>(std::move(format), std::move(options));
}

}  // namespace weft
