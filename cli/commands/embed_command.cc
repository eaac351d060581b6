#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/cli/backend_options.h"
#include "weft/cli/batch/open_backend.h"
#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/retry.h"
#include "weft/cli/server_refusal.h"
#include "weft/cli/text_lines.h"

namespace weft::cli {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr const char* kEmbedVerb = "embed";
// Texts of one request. As many as fill a step, and few enough that vectors are printed soon after
// they are made.
constexpr std::size_t kTextsAtOnce = 64;
constexpr unsigned kAnswered = 200;
constexpr std::array<unsigned, 2> kFullStatus = {429, 503};

struct EmbedOptions {
  BackendOptions backend;
  std::vector<std::string> texts;
  std::string file;
  std::int64_t dimensions = 0;
  std::int64_t truncate = 0;
};

/// The texts one after the other: arguments, or the lines of a file.
class EmbedTexts {
 public:
  explicit EmbedTexts(const EmbedOptions& options) : texts_(options.texts) {
    if (!texts_.empty() && !options.file.empty()) {
      fail(kEmbedVerb, "give the texts either as TEXT or by --file");
    }
    if (!texts_.empty()) return;
    lines_ = &std::cin;
    if (options.file.empty() || options.file == "-") return;
    file_.open(options.file, std::ios::binary);
    if (!file_) fail(kEmbedVerb, options.file + ": the file cannot be read");
    lines_ = &file_;
  }

  /// Returns the next texts, at most kTextsAtOnce. Stops at a blank line, which mistake() then
  /// reports.
  std::vector<std::string> next() {
    std::vector<std::string> texts;
    std::string text;
    while (texts.size() < kTextsAtOnce && mistake_.empty() && take(text)) {
      ++taken_;
      if (is_blank(text)) {
        mistake_ = (lines_ == nullptr ? "text " : "line ") + std::to_string(taken_) + " is blank";
      } else {
        texts.push_back(std::move(text));
      }
    }
    return texts;
  }
  [[nodiscard]] const std::string& mistake() const noexcept { return mistake_; }

 private:
  bool take(std::string& text) {
    if (lines_ != nullptr) {
      if (!std::getline(*lines_, text)) return false;
      if (text.ends_with('\r')) text.pop_back();
      return true;
    }
    if (taken_ == texts_.size()) return false;
    text = texts_[taken_];
    return true;
  }

  const std::vector<std::string> texts_;
  std::ifstream file_;
  std::istream* lines_ = nullptr;
  std::size_t taken_ = 0;
  std::string mistake_;
};

std::string body_of(const EmbedOptions& options, const std::string& model,
                    const std::vector<std::string>& texts) {
  json::object body;
  if (!model.empty()) body["model"] = model;
  body["input"] = json::array(texts.begin(), texts.end());
  if (options.dimensions > 0) body["dimensions"] = options.dimensions;
  if (options.truncate != 0) body["truncate_prompt_tokens"] = options.truncate;
  return json::serialize(body);
}

void print_vector(std::size_t index, const json::array& vector) {
  std::string line = R"({"index":)" + std::to_string(index) + R"(,"embedding":[)";
  std::array<char, 32> digits{};
  for (std::size_t i = 0; i < vector.size(); ++i) {
    if (i > 0) line += ',';
    const auto number = static_cast<float>(vector[i].to_number<double>());
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    line.append(digits.data(), end);
  }
  std::cout << line << "]}\n";
}

/// Prints the vectors of `count` texts, the first of which is number `first`. False where the
/// answer has another form.
bool print_vectors(const std::string& answer, std::size_t first, std::size_t count) {
  boost::system::error_code error;
  const json::value body = json::parse(answer, error);
  const json::object* const whole = body.if_object();
  const json::value* const data = whole == nullptr ? nullptr : whole->if_contains("data");
  const json::array* const list = data == nullptr ? nullptr : data->if_array();
  if (error || list == nullptr || list->size() != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const json::object* const one = (*list)[i].if_object();
    const json::value* const vector = one == nullptr ? nullptr : one->if_contains("embedding");
    if (vector == nullptr || !vector->is_array()) return false;
    for (const json::value& number : vector->get_array()) {
      if (!number.is_number()) return false;
    }
    print_vector(first + i, vector->get_array());
  }
  std::cout.flush();
  return true;
}

/// Asks for the vectors of all texts, one request after the other, and prints them.
class Embedder {
 public:
  Embedder(const EmbedOptions& options, BatchBackend& backend, std::string model, EmbedTexts& texts)
      : options_(options), backend_(backend), model_(std::move(model)), texts_(texts) {}

  /// Runs to the end; returns why it failed, or nothing.
  asio::awaitable<std::string> run() {
    std::size_t done = 0;
    for (;;) {
      const std::vector<std::string> some = texts_.next();
      if (some.empty()) co_return texts_.mistake();
      const Result<HttpAnswer> answer = co_await ask(body_of(options_, model_, some));
      if (!answer) co_return to_string(answer.error());
      if (answer->status != kAnswered) co_return words_of(*answer);
      if (!print_vectors(answer->body, done, some.size())) {
        co_return "the answer has no embeddings of these texts";
      }
      done += some.size();
    }
  }

 private:
  /// Asks a server; asks again for as long as it is full.
  asio::awaitable<Result<HttpAnswer>> ask(std::string body) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    Retry retry;
    for (;;) {
      Result<HttpAnswer> answer = co_await backend_.ask("/v1/embeddings", body);
      const bool is_full =
          answer && std::ranges::find(kFullStatus, answer->status) != kFullStatus.end();
      if (!is_full || refusal_for_good(*answer)) co_return answer;
      const auto pause = retry.after(Retry::Cause::kRefused, answer->retry_after);
      if (!pause) co_return answer;
      timer.expires_after(*pause);
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  const EmbedOptions& options_;
  BatchBackend& backend_;
  const std::string model_;
  EmbedTexts& texts_;
};

/// A signal ends the process at once, since the verb leaves nothing behind.
void run_embed(const EmbedOptions& options) {
  EmbedTexts texts(options);
  asio::io_context context{1};
  std::string model;
  const auto backend = open_backend(kEmbedVerb, options.backend, context, model);
  std::string failure;
  Embedder embedder(options, *backend, std::move(model), texts);
  asio::co_spawn(context, embedder.run(),
                 [&failure](const std::exception_ptr& thrown, std::string why) {
                   if (thrown) std::rethrow_exception(thrown);
                   failure = std::move(why);
                 });
  context.run();
  if (!failure.empty()) fail(kEmbedVerb, failure);
}

}  // namespace

void add_embed_command(CLI::App& app) {
  auto* command = app.add_subcommand("embed", "Print the embeddings of texts, as JSON lines");
  auto options = std::make_shared<EmbedOptions>();
  add_backend_options(*command, options->backend);
  command->add_option("TEXT", options->texts, "Texts; without: each line of standard input is one");
  command->add_option("--file", options->file, "Each line of FILE is a text; - is standard input");
  command->add_option("--dimensions", options->dimensions, "The first so many numbers of each")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31));
  command
      ->add_option("--truncate", options->truncate,
                   "Cut longer texts to so many tokens; -1: to as many as the model takes")
      ->check(CLI::Range(std::int64_t{-1}, std::int64_t{1} << 31));
  command->callback([options] { run_embed(*options); });
}

}  // namespace weft::cli
