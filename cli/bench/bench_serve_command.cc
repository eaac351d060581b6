#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <charconv>
#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/cli/bench/bench_commands.h"
#include "weft/cli/bench/load_options.h"
#include "weft/cli/bench/load_play.h"
#include "weft/cli/bench/report_files.h"
#include "weft/cli/bench/serve_report.h"
#include "weft/cli/chat/greeting.h"
#include "weft/cli/fail.h"
#include "weft/cli/serve/open_files.h"
#include "weft/core/io/file.h"
#include "weft/measure/measure_error.h"
#include "weft/measure/server/http_load_client.h"
#include "weft/measure/server/websocket_load_client.h"

namespace weft::cli {

using measure::MeasureErrc;
using measure::QuestionOptions;
using measure::ServerApi;

namespace {

constexpr const char* kBenchServeVerb = "bench serve";
// Fields of a request that the load sets itself.
constexpr std::array<const char*, 7> kLoadFields = {
    "prompt", "messages", "input", "max_tokens", "max_output_tokens", "stream", "stream_id"};

struct BenchServeOptions {
  std::string url;
  std::string api_key;
  bool insecure = false;
  std::string model;
  std::string api = "completions";
  std::string prompts;
  std::string ids = "300..999";
  bool no_ignore_eos = false;
  std::string extra = "{}";
  std::size_t streams = 8;
  std::size_t warm_up = 4;
  double timeout = 600;
  LoadOptions load;
  ReportFiles files;
};

Result<std::pair<std::int32_t, std::int32_t>> id_range(const std::string& text) {
  std::pair<std::int32_t, std::int32_t> range;
  const char* const end = text.data() + text.size();
  const auto low = std::from_chars(text.data(), end, range.first);
  const bool dots = low.ec == std::errc() && std::string_view(low.ptr, end).starts_with("..");
  const auto high = std::from_chars(dots ? low.ptr + 2 : end, end, range.second);
  if (!dots || high.ec != std::errc() || high.ptr != end || range.first < 0 ||
      range.second < range.first) {
    return Error{MeasureErrc::kBadLoad, "--ids: \"" + text + "\": two token ids, as 300..999"};
  }
  return range;
}

Result<boost::json::object> extra_fields(const std::string& text) {
  boost::json::error_code error;
  boost::json::value parsed = boost::json::parse(text, error);
  if (error || !parsed.is_object()) {
    return Error{MeasureErrc::kBadLoad, "--extra: no JSON object: " + text};
  }
  for (const char* const name : kLoadFields) {
    if (!parsed.as_object().contains(name)) continue;
    return Error{MeasureErrc::kBadLoad, "--extra: \"" + std::string(name) + "\" is the load's"};
  }
  return {boost::system::in_place_value, std::move(parsed.as_object())};
}

ServerApi api_of(const BenchServeOptions& options) {
  if (options.api == "chat") return ServerApi::kChat;
  return options.api == "responses" ? ServerApi::kResponses : ServerApi::kCompletions;
}

QuestionOptions question_options(const BenchServeOptions& options) {
  QuestionOptions questions{.api = api_of(options),
                            .model = options.model,
                            .ignore_eos = !options.no_ignore_eos,
                            .seed = options.load.seed};
  std::tie(questions.lowest_id, questions.highest_id) =
      value_or_fail(kBenchServeVerb, id_range(options.ids));
  questions.extra = value_or_fail(kBenchServeVerb, extra_fields(options.extra));
  if (!options.prompts.empty()) {
    const std::string text =
        value_or_fail(kBenchServeVerb, read_text_file(options.prompts, kAnySize));
    questions.prompts =
        value_or_fail(kBenchServeVerb, measure::parse_prompts(text, options.prompts));
    value_or_fail(kBenchServeVerb, measure::check_prompts(questions));
  }
  return questions;
}

/// Waits until the server is ready and returns its first model.
std::string served_model(boost::asio::io_context& context,
                         const std::shared_ptr<Connector>& connector) {
  std::optional<Result<std::string>> greeted;
  boost::asio::co_spawn(context,
                        greet(connector, [](const std::string& why) { std::cerr << why << '\n'; }),
                        [&greeted](const std::exception_ptr& failure, Result<std::string> model) {
                          if (failure) std::rethrow_exception(failure);
                          greeted.emplace(std::move(model));
                        });
  context.run();
  return value_or_fail(kBenchServeVerb, *std::move(greeted));
}

std::unique_ptr<measure::LoadClient> make_client(const BenchServeOptions& options,
                                                 std::shared_ptr<Connector> connector,
                                                 const QuestionOptions& questions) {
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(options.timeout));
  if (api_of(options) == ServerApi::kResponses) {
    return std::make_unique<measure::WebSocketLoadClient>(std::move(connector), questions, limit,
                                                          options.streams);
  }
  return std::make_unique<measure::HttpLoadClient>(std::move(connector), questions, limit);
}

/// Raises the process's limit of open files to the number of connections at once, or warns that it
/// cannot.
void allow_connections(const BenchServeOptions& options, const measure::Load& load) {
  std::size_t wanted = load.arrivals.size();
  if (load.at_once > 0) {
    wanted = std::min(wanted, static_cast<std::size_t>(load.at_once));
  }
  if (api_of(options) == ServerApi::kResponses) wanted = wanted / options.streams + 1;
  const std::size_t allowed = connections_at_once(wanted);
  if (allowed == wanted) return;
  std::cerr << "more than " << allowed
            << " connections at once fail: the system allows no more open files\n";
}

/// Sends `count` requests at once without measuring them. They have the lengths of the load's first
/// requests, and other prompts. Fails when none of them is answered.
void warm_up(std::size_t count, measure::Load load, boost::asio::io_context& context,
             measure::LoadClient& client) {
  load.arrivals.resize(std::min(count, load.arrivals.size()));
  if (load.arrivals.empty()) return;
  for (measure::Arrival& arrival : load.arrivals) arrival.at = 0;
  const PlayedLoad played = play_load(context, client, std::move(load), "warm-up");
  if (played.ended_by != 0) throw CLI::RuntimeError(status_after(played.ended_by));
  for (const measure::Outcome& outcome : played.outcomes) {
    if (outcome.error.empty()) return;
  }
  const auto& [kind, words] = *played.words.begin();
  fail(kBenchServeVerb,
       "no warm-up request was answered: " + kind + (words.empty() ? "" : ": " + words));
}

void run_bench_serve(const BenchServeOptions& options) {
  const measure::Load load = value_or_fail(kBenchServeVerb, load_of(options.load));
  QuestionOptions questions = question_options(options);
  const ClientOptions server{.url = value_or_fail(kBenchServeVerb, parse_server_url(options.url)),
                             .api_key = options.api_key,
                             .verify_certificate = !options.insecure};
  check_report_files(kBenchServeVerb, options.files);
  boost::asio::io_context context{1};
  const auto connector = value_or_fail(kBenchServeVerb, Connector::create(context, server));
  const std::string served = served_model(context, connector);
  if (questions.model.empty()) questions.model = served;
  if (questions.model.empty()) fail(kBenchServeVerb, "the server names no model: --model does");
  allow_connections(options, load);
  const auto client = make_client(options, connector, questions);
  warm_up(options.warm_up, load, context, *client);
  const PlayedLoad played = play_load(context, *client, load, kBenchServeVerb);
  const ServedLoad what{.server = server.url.text(),
                        .model = questions.model,
                        .api = questions.api,
                        .prompts = options.prompts,
                        .ids = options.ids,
                        .ignore_eos = questions.ignore_eos,
                        .warm_up = options.warm_up};
  deliver_report(kBenchServeVerb, serve_report(what, options.load, played), options.files);
  if (played.ended_by != 0) throw CLI::RuntimeError(status_after(played.ended_by));
  const bool answered = std::ranges::any_of(
      played.outcomes, [](const measure::Outcome& outcome) { return outcome.error.empty(); });
  if (!answered) fail(kBenchServeVerb, "no request was answered");
}

void add_server_options(CLI::App& command, BenchServeOptions& options) {
  command.add_option("URL", options.url, "A server: http://, https://, ws://, wss://")->required();
  command.add_option("--api-key", options.api_key, "What the server knows you by")
      ->envname("WEFT_API_KEY");
  command.add_flag("--insecure", options.insecure, "Take any certificate of the server's");
  command.add_option("--model", options.model, "Which of the server's models; without: its first")
      ->type_name("NAME");
  command
      .add_option("--api", options.api, "completions and chat over SSE, responses over WebSocket")
      ->check(CLI::IsMember({"completions", "chat", "responses"}).description(""))
      ->type_name("API")
      ->capture_default_str();
  command
      .add_option("--prompts", options.prompts,
                  "Texts, or JSON with \"prompt\" or \"messages\", one a line; else drawn")
      ->type_name("FILE");
  command.add_option("--ids", options.ids, "Token ids that prompts of completions are drawn from")
      ->type_name("LOW..HIGH")
      ->capture_default_str();
  command.add_flag("--no-ignore-eos", options.no_ignore_eos,
                   "Let answers end before their length: for servers without ignore_eos");
  command.add_option("--extra", options.extra, "Fields of every request")->type_name("JSON");
  command.add_option("--streams", options.streams, "Requests at once on a WebSocket (responses)")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--timeout", options.timeout, "For a request, from when it is sent")
      ->type_name("SECONDS")
      ->check(CLI::Range(1e-3, 1e6))
      ->capture_default_str();
  command.add_option("--warm-up", options.warm_up, "Requests before, which are not measured")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
}

}  // namespace

void add_bench_serve(CLI::App& bench) {
  auto* command = bench.add_subcommand("serve", "Load any server that speaks OpenAI's API");
  auto options = std::make_shared<BenchServeOptions>();
  add_server_options(*command, *options);
  add_load_options(*command, options->load);
  add_report_options(*command, options->files);
  command->callback([options] { run_bench_serve(*options); });
}

}  // namespace weft::cli
