#include "weft/cli/chat/prompt_batch.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "weft/cli/text_lines.h"

namespace weft::cli {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMaxPromptTokens = std::numeric_limits<std::int32_t>::max();

/// Walks over the two lists up to the first mistake, which it keeps.
class PromptScanner {
 public:
  PromptScanner(std::string_view line, std::size_t begin) : line_(line), at_(begin) {}

  Parsed<std::vector<BatchPrompt>> scan() {
    scan_list("a list of prompts in brackets belongs here: [\"...\", \"...\"]",
              [this] { scan_prompt(); });
    if (!error_ && prompts_.empty()) fail("the list has no prompts", at_ - 1);
    if (!error_ && !at_end()) {
      const std::size_t lengths_at = at_;
      scan_list("a list of lengths in brackets belongs here, or nothing: [32, 64]",
                [this] { scan_length(); });
      check_lengths(lengths_at);
    }
    if (!error_ && !at_end()) fail("nothing belongs behind the lists", at_);
    if (error_) return *std::move(error_);
    return std::move(prompts_);
  }

 private:
  template <class Item>
  void scan_list(const char* wanted, Item item) {
    if (!take('[')) return fail(wanted, at_);
    if (take(']')) return;
    do {
      skip_space();
      item();
      if (error_) return;
    } while (take(','));
    if (!take(']')) fail("a comma or ] belongs here", at_);
  }

  void scan_prompt() {
    const std::size_t begin = at_;
    if (peek() != '"') return fail("a prompt in double quotes belongs here", at_);
    for (++at_; peek() != '"'; ++at_) {
      if (at_ >= line_.size())
        return fail("the prompt that begins here has no closing quote", begin);
      if (peek() == '\\') check_escape();
      if (error_) return;
    }
    ++at_;
    json::error_code error;
    json::value text = json::parse(line_.substr(begin, at_ - begin), error);
    if (error) return fail("this prompt is no JSON string: " + error.message(), begin);
    if (prompts_.size() == kMaxBatchPrompts) {
      return fail("a batch has at most " + std::to_string(kMaxBatchPrompts) + " prompts", begin);
    }
    prompts_.push_back({.input = std::move(text)});
  }

  /// Checks an escape. Leaves at_ on the last byte that the search for the string's end must skip.
  void check_escape() {
    const std::size_t begin = at_++;
    if (at_ >= line_.size()) return;
    if (std::string_view("\"\\/bfnrtu").find(line_[at_]) == std::string_view::npos) {
      fail("there is no such escape; a backslash is written \\\\", begin);
    }
  }

  void scan_length() {
    std::int64_t value = 0;
    const char* const begin = line_.data() + at_;
    const auto [end, error] = std::from_chars(begin, line_.data() + line_.size(), value);
    if (error != std::errc() || value < 1 || value > kMaxPromptTokens) {
      return fail("a whole number of tokens from 1 to " + std::to_string(kMaxPromptTokens) +
                      " belongs here",
                  at_);
    }
    at_ += static_cast<std::size_t>(end - begin);
    lengths_.push_back(value);
  }

  void check_lengths(std::size_t begin) {
    if (error_) return;
    if (lengths_.size() != prompts_.size()) {
      return fail("there are " + std::to_string(prompts_.size()) + " prompts and " +
                      std::to_string(lengths_.size()) +
                      " lengths; each prompt has one, or none has",
                  begin);
    }
    for (std::size_t i = 0; i < lengths_.size(); ++i) prompts_[i].max_tokens = lengths_[i];
  }

  [[nodiscard]] char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }
  void skip_space() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }
  bool at_end() {
    skip_space();
    return at_ >= line_.size();
  }
  bool take(char wanted) {
    skip_space();
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void fail(std::string what, std::size_t offset) { error_ = InputError{std::move(what), offset}; }

  const std::string_view line_;
  std::size_t at_;
  std::vector<BatchPrompt> prompts_;
  std::vector<std::int64_t> lengths_;
  std::optional<InputError> error_;
};

/// Returns the prompt in one line's JSON, or what is wrong with it.
Parsed<BatchPrompt> prompt_of(const json::value& line) {
  if (line.is_string()) return BatchPrompt{.input = line};
  const json::object* fields = line.if_object();
  if (fields == nullptr) return InputError{"is neither a text nor an object"};
  if (const auto* body = fields->if_contains("body")) {
    fields = body->if_object();
    if (fields == nullptr) return InputError{"has a \"body\" that is no object"};
  }
  BatchPrompt prompt;
  const json::value* const text = fields->if_contains("prompt");
  const json::value* const messages = fields->if_contains("messages");
  if (text != nullptr && text->is_string()) {
    prompt.input = *text;
  } else if (messages != nullptr && messages->is_array()) {
    prompt.input = *messages;
  } else {
    return InputError{"has neither a \"prompt\" that is a text nor a list of \"messages\""};
  }
  const json::value* most = fields->if_contains("max_tokens");
  if (most == nullptr) most = fields->if_contains("max_completion_tokens");
  if (most == nullptr) return prompt;
  json::error_code error;
  prompt.max_tokens = most->to_number<std::int64_t>(error);
  if (error || prompt.max_tokens < 1 || prompt.max_tokens > kMaxPromptTokens) {
    return InputError{"has a \"max_tokens\" that is no number of tokens"};
  }
  return prompt;
}

}  // namespace

Parsed<std::vector<BatchPrompt>> parse_prompts(std::string_view line, std::size_t begin) {
  return PromptScanner(line, begin).scan();
}

Parsed<std::vector<BatchPrompt>> parse_prompt_file(std::string_view text) {
  std::vector<BatchPrompt> prompts;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = take_line(text);
    if (is_blank(line)) continue;
    const std::string place = "line " + std::to_string(number) + " ";
    json::error_code error;
    const json::value value = json::parse(line, error);
    if (error) return InputError{place + "is no JSON: " + error.message()};
    auto prompt = prompt_of(value);
    if (!prompt) return InputError{place + prompt.error().what};
    if (prompts.size() == kMaxBatchPrompts) {
      return InputError{place + "is one too many: a batch has at most " +
                        std::to_string(kMaxBatchPrompts) + " prompts"};
    }
    prompts.push_back(*std::move(prompt));
  }
  if (prompts.empty()) return InputError{"there are no prompts in it"};
  return prompts;
}

}  // namespace weft::cli
