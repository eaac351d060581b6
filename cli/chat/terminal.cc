#include "weft/cli/chat/terminal.h"

#include <histedit.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cwchar>
#include <iostream>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"

namespace weft::cli {
namespace {

/// The most bytes of one read from a pipe.
constexpr std::size_t kReadBytes = 4096;
constexpr int kHistoryLines = 1000;

/// Goes back to the line's beginning, and erases to the end of the screen.
constexpr std::string_view kBackAndErase = "\r\x1b[J";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kNotDim = "\x1b[22m";

using Complete = std::function<std::vector<std::string>(std::string_view)>;

/// Leaves out the control characters C0, except line ends and tabs, and C1, which UTF-8 writes as
/// C2 80 .. C2 9F.
std::string without_controls(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (byte == 0xC2U && next >= 0x80U && next < 0xA0U) {
      ++i;
    } else if ((byte >= ' ' && byte != 0x7FU) || byte == '\n' || byte == '\t') {
      kept += text[i];
    }
  }
  return kept;
}

std::string common_start(const std::vector<std::string>& words) {
  std::string start = words.front();
  for (const std::string& word : words) {
    const auto [end, other] = std::ranges::mismatch(start, word);
    start.erase(end, start.end());
  }
  return start;
}

}  // namespace

/// libedit's part: a prompt, a history, Tab, and keys that are waited for together with all other
/// events.
class Terminal::Editor {
 public:
  Editor(Terminal& terminal, Complete complete)
      : terminal_(terminal), complete_(std::move(complete)) {
    std::setlocale(LC_CTYPE, "");
    editor_ = el_init("weft", stdin, stdout, stderr);
    history_ = history_init();
    HistEvent event{};
    history(history_, &event, H_SETSIZE, kHistoryLines);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_SIGNAL, 1);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_PROMPT, show_prompt);
    el_set(editor_, EL_HIST, history, history_);
    el_set(editor_, EL_GETCFN, get_character);
    // The wide function is used, because the narrow one copies the names and never frees them.
    el_wset(editor_, EL_ADDFN, L"weft-complete", L"Complete the word", complete_word);
    el_set(editor_, EL_BIND, "^I", "weft-complete", nullptr);
    el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(editor_, nullptr);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;
  ~Editor() {
    history_end(history_);
    el_end(editor_);
  }

  Input read(const std::string& prompt, const Idle& idle, bool remember) {
    prompt_ = prompt;
    idle_ = &idle;
    interrupted_ = false;
    int count = 0;
    const char* const line = el_gets(editor_, &count);
    hide_typing();
    if (interrupted_) {
      el_reset(editor_);
      return {What::kInterrupt, typed_};
    }
    if (line == nullptr || count <= 0) return {What::kEnd};
    std::string text(line, static_cast<std::size_t>(count));
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    HistEvent event{};
    if (remember && !text.empty()) history(history_, &event, H_ENTER, text.c_str());
    return {What::kLine, std::move(text)};
  }

  /// Draws prompt and line again, below the printed text.
  void refresh() { el_set(editor_, EL_REFRESH); }

 private:
  static Editor& of(EditLine* editor) {
    Editor* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *self;
  }

  /// Keeps keys that are typed during an answer from showing up in it; they wait for the next
  /// prompt.
  static void hide_typing() {
    termios mode{};
    if (::tcgetattr(STDIN_FILENO, &mode) != 0) return;
    mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
  }

  static char* show_prompt(EditLine* editor) { return of(editor).prompt_.data(); }

  static int get_character(EditLine* editor, wchar_t* character) {
    return of(editor).next_character(character);
  }

  int next_character(wchar_t* character) {
    std::mbstate_t state{};
    for (;;) {
      const bool readable = terminal_.poll(STDIN_FILENO, terminal_.due_);
      if (Interrupts::take_interrupt()) return interrupt();
      if (!readable) {
        terminal_.run_idle(*idle_);
        continue;
      }
      char byte = 0;
      const auto got = ::read(STDIN_FILENO, &byte, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return static_cast<int>(got);
      const std::size_t length = std::mbrtowc(character, &byte, 1, &state);
      if (length == static_cast<std::size_t>(-2))
        continue;  // an incomplete character: more bytes
                   // follow
      if (length == static_cast<std::size_t>(-1)) {
        state = {};
        continue;
      }
      return 1;
    }
  }

  int interrupt() {
    interrupted_ = true;
    const LineInfo* const line = el_line(editor_);
    typed_.assign(line->buffer, line->lastchar);
    errno = EINTR;
    return -1;
  }

  static unsigned char complete_word(EditLine* editor, int /*key*/) {
    const LineInfo* const line = el_line(editor);
    const std::string_view before(line->buffer, line->cursor);
    Editor& self = of(editor);
    const std::vector<std::string> words = self.complete_(before);
    if (words.empty()) return CC_REFRESH_BEEP;
    const std::string_view word = before.substr(before.rfind(' ') + 1);  // npos + 1 is 0
    std::string start = common_start(words);
    if (words.size() == 1) start += ' ';
    if (start.size() > word.size()) {
      el_insertstr(editor, start.substr(word.size()).c_str());
      return CC_REFRESH;
    }
    std::cout << '\n';
    for (const std::string& one : words) std::cout << one << "  ";
    std::cout << '\n' << std::flush;
    return CC_REDISPLAY;
  }

  Terminal& terminal_;
  const Complete complete_;
  EditLine* editor_ = nullptr;
  History* history_ = nullptr;
  std::string prompt_;
  std::string typed_;
  const Idle* idle_ = nullptr;
  bool interrupted_ = false;
};

std::size_t Terminal::columns() noexcept {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

Terminal::Terminal(Complete completions) {
  const bool person = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (person) editor_ = std::make_unique<Editor>(*this, std::move(completions));
}

Terminal::~Terminal() = default;

Terminal::Input Terminal::read(const std::string& prompt, const Idle& idle) {
  return read(prompt, idle, true);
}

Terminal::Input Terminal::ask(const std::string& question, const Idle& idle) {
  if (editor_ != nullptr) ::tcflush(STDIN_FILENO, TCIFLUSH);
  return read(question, idle, false);
}

Terminal::Input Terminal::read(const std::string& prompt, const Idle& idle, bool remember) {
  due_ = idle();
  if (editor_ == nullptr) return read_pipe(idle);
  editing_ = true;
  Input input = editor_->read(prompt, idle, remember);
  editing_ = false;
  if (input.what != What::kLine) std::cout << '\n' << std::flush;
  return input;
}

Terminal::Input Terminal::read_pipe(const Idle& idle) {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return {What::kLine, std::move(line)};
    }
    if (pipe_ended_) {
      if (buffer_.empty()) return {What::kEnd};
      return {What::kLine, std::exchange(buffer_, {})};
    }
    const bool readable = poll(STDIN_FILENO, due_);
    if (Interrupts::take_interrupt()) return {What::kInterrupt};
    if (!readable) {
      run_idle(idle);
      continue;
    }
    const std::size_t before = buffer_.size();
    buffer_.resize(before + kReadBytes);
    const auto got = ::read(STDIN_FILENO, buffer_.data() + before, kReadBytes);
    buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    pipe_ended_ = got == 0 || (got < 0 && errno != EINTR);
  }
}

Terminal::Event Terminal::wait(std::optional<Time> until) {
  static_cast<void>(poll(-1, until));
  const int signal = Interrupts::take_signal();
  if (signal == SIGINT) return Event::kInterrupt;
  if (signal != 0) {
    ended_by_ = signal;
    return Event::kEnded;
  }
  return until && std::chrono::steady_clock::now() >= *until ? Event::kTime : Event::kWoken;
}

bool Terminal::poll(int input, std::optional<Time> until) const {
  int timeout = -1;
  if (until) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*until - std::chrono::steady_clock::now());
    timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
  }
  pollfd descriptors[] = {{interrupts_.descriptor(), POLLIN, 0}, {input, POLLIN, 0}};
  if (::poll(descriptors, 2, timeout) <= 0) return false;
  if (descriptors[0].revents != 0) {
    interrupts_.clear();
    return false;  // news first; the input stays where it is
  }
  return descriptors[1].revents != 0;
}

void Terminal::run_idle(const Idle& idle) {
  due_ = idle();
  if (std::exchange(prompt_gone_, false) && editor_ != nullptr) editor_->refresh();
}

void Terminal::before_output() {
  if (std::exchange(status_shown_, false)) std::cout << kBackAndErase;
  if (!editing_ || std::exchange(prompt_gone_, true)) return;
  std::cout << kBackAndErase;
}

void Terminal::print(std::string_view text) {
  before_output();
  if (interactive()) {
    std::cout << without_controls(text) << std::flush;
  } else {
    std::cout << text << std::flush;
  }
}

void Terminal::aside(std::string_view text) {
  if (!interactive()) return note(text);
  before_output();
  std::cout << kDim << without_controls(text) << kNotDim << '\n' << std::flush;
}

void Terminal::status(std::string_view text) {
  if (!interactive()) return;
  before_output();
  status_shown_ = true;
  std::cout << kDim << cut_utf8(without_controls(text), columns() - 1) << kNotDim << std::flush;
}

void Terminal::note(std::string_view text) {
  before_output();
  std::cout << std::flush;
  std::cerr << (interactive() ? without_controls(text) : std::string(text)) << '\n' << std::flush;
}

}  // namespace weft::cli
