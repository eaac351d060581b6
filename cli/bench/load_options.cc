#include "weft/cli/bench/load_options.h"

#include <CLI/CLI.hpp>
#include <map>
#include <sstream>

#include "weft/measure/load/trace.h"
#include "weft/measure/measure_error.h"

namespace weft::cli {

using measure::MeasureErrc;
using measure::Process;

namespace {

// The bounds of a rate. With a lower rate nobody would wait for the load's end; with a higher one,
// one machine's generator cannot tell arrivals apart.
constexpr double kLeastRate = 1e-3;
constexpr double kMostRate = 1e6;
constexpr std::size_t kMostRequests = 10'000'000;
constexpr std::int32_t kMostAtOnce = 1'000'000;
constexpr std::size_t kDrawnRequests = 100;

const std::map<std::string, Process>& processes() {
  static const std::map<std::string, Process> names = {{"at-once", Process::kAtOnce},
                                                       {"constant", Process::kConstant},
                                                       {"poisson", Process::kPoisson},
                                                       {"bursty", Process::kBursty}};
  return names;
}

std::string name_of(Process process) {
  for (const auto& [name, one] : processes()) {
    if (one == process) return name;
  }
  return {};
}

Process process_of(const LoadOptions& options) {
  return options.arrivals.value_or(options.rate ? Process::kPoisson : Process::kAtOnce);
}

void add_slo(CLI::App& command, const std::string& flag, double& value, const std::string& of) {
  command.add_option(flag, value, "Counts as good only with at most this " + of)
      ->type_name("MS")
      ->check(CLI::PositiveNumber);
}

std::string short_number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

using Facts = std::vector<std::pair<std::string, std::string>>;

void add_drawn_facts(const LoadOptions& options, Facts& facts) {
  const Process process = process_of(options);
  std::string arrivals = name_of(process);
  if (options.rate) arrivals += ", " + short_number(*options.rate) + " requests a second";
  if (process == Process::kBursty) arrivals += ", burstiness " + short_number(options.burstiness);
  facts.emplace_back("arrivals", arrivals);
  facts.emplace_back("requests", std::to_string(options.requests.value_or(kDrawnRequests)));
  facts.emplace_back("prompt tokens", options.input);
  facts.emplace_back("output tokens", options.output);
}

void add_trace_facts(const LoadOptions& options, Facts& facts) {
  facts.emplace_back("trace", options.trace);
  if (options.requests)
    facts.emplace_back("requests", "the first " + std::to_string(*options.requests));
  facts.emplace_back("time scale", short_number(options.time_scale));
  if (options.max_input > 0) {
    facts.emplace_back("prompt tokens", "at most " + std::to_string(options.max_input));
  }
  if (options.max_output > 0) {
    facts.emplace_back("output tokens", "at most " + std::to_string(options.max_output));
  }
}

Result<measure::Lengths> lengths(const std::string& flag, const std::string& text) {
  auto parsed = measure::Lengths::parse(text);
  if (!parsed) return Error{MeasureErrc::kBadLoad, flag + ": " + parsed.error().detail};
  return parsed;
}

Result<measure::LoadShape> shape_of(const LoadOptions& options) {
  const auto prompt = lengths("--input", options.input);
  if (!prompt) return prompt.error();
  const auto output = lengths("--output", options.output);
  if (!output) return output.error();
  const Process process = process_of(options);
  if (process == Process::kAtOnce && options.rate) {
    return Error{MeasureErrc::kBadLoad, "--arrivals at-once has no --rate"};
  }
  if (process != Process::kAtOnce && !options.rate) {
    return Error{MeasureErrc::kBadLoad, "--arrivals " + name_of(process) + " wants a --rate"};
  }
  return measure::LoadShape{.process = process,
                            .per_second = options.rate.value_or(1),
                            .burstiness = options.burstiness,
                            .requests = options.requests.value_or(kDrawnRequests),
                            .prompt = *prompt,
                            .output = *output};
}

Result<std::vector<measure::Arrival>> arrivals_of(const LoadOptions& options) {
  if (!options.trace.empty()) {
    return measure::read_trace(options.trace, {.time_scale = options.time_scale,
                                               .requests = options.requests.value_or(0),
                                               .most_prompt = options.max_input,
                                               .most_output = options.max_output});
  }
  const auto shape = shape_of(options);
  if (!shape) return shape.error();
  return draw(*shape, options.seed);
}

void add_trace_options(CLI::App& command, LoadOptions& options) {
  auto* const trace = command.add_option(
      "--trace", options.trace,
      "Arrivals and lengths of a trace: Azure's LLM inference CSV, Mooncake's JSON lines");
  trace->type_name("FILE");
  for (const char* const drawn : {"--arrivals", "--rate", "--burstiness", "--input", "--output"}) {
    trace->excludes(drawn);
  }
  command
      .add_option("--time-scale", options.time_scale, "Factor on its times: 0.5 is twice as fast")
      ->check(CLI::Range(1e-6, 1e6))
      ->needs(trace)
      ->capture_default_str();
  command.add_option("--max-input", options.max_input, "Cuts longer prompts of the trace")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->needs(trace);
  command.add_option("--max-output", options.max_output, "Cuts longer outputs of the trace")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->needs(trace);
}

}  // namespace

void add_load_options(CLI::App& command, LoadOptions& options) {
  command
      .add_option("--arrivals", options.arrivals,
                  "How requests come: at-once, constant, poisson (with --rate), bursty")
      ->transform(CLI::CheckedTransformer(processes()).description(""))
      ->type_name("HOW");
  command.add_option("--rate", options.rate, "Requests a second")
      ->type_name("R")
      ->check(CLI::Range(kLeastRate, kMostRate));
  command
      .add_option("--burstiness", options.burstiness, "Of bursty: 1 as poisson, less in clusters")
      ->check(CLI::Range(1e-2, 1e2))
      ->capture_default_str();
  command.add_option("--requests", options.requests, "How many (100; of a trace all)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, kMostRequests));
  command
      .add_option("--input", options.input, "Prompt tokens: 128, 8..64, mean:161 or mean:161..1024")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--output", options.output, "Output tokens, likewise")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--concurrency", options.concurrency,
                  "Most requests under way; further ones wait. 0: no bound")
      ->check(CLI::Range(0, kMostAtOnce))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "The same seed gives the same load")
      ->capture_default_str();
  add_trace_options(command, options);
  add_slo(command, "--slo-first-token", options.slo_first_token, "time to its first token");
  add_slo(command, "--slo-per-token", options.slo_per_token, "time per output token");
  add_slo(command, "--slo-whole", options.slo_whole, "time to its end");
}

Result<measure::Load> load_of(const LoadOptions& options) {
  auto arrivals = arrivals_of(options);
  if (!arrivals) return std::move(arrivals).error();
  return measure::Load{.arrivals = *std::move(arrivals), .at_once = options.concurrency};
}

measure::Slo slo_of(const LoadOptions& options) {
  constexpr double kMilliseconds = 1e-3;
  return {.first_token = kMilliseconds * options.slo_first_token,
          .per_token = kMilliseconds * options.slo_per_token,
          .whole = kMilliseconds * options.slo_whole};
}

std::vector<std::pair<std::string, std::string>> load_facts(const LoadOptions& options) {
  std::vector<std::pair<std::string, std::string>> facts;
  if (options.trace.empty()) {
    add_drawn_facts(options, facts);
  } else {
    add_trace_facts(options, facts);
  }
  facts.emplace_back("at once", options.concurrency == 0
                                    ? "whatever comes"
                                    : "at most " + std::to_string(options.concurrency));
  facts.emplace_back("seed", std::to_string(options.seed));
  std::string slo;
  const auto add = [&slo](const char* what, double milliseconds) {
    if (milliseconds <= 0) return;
    slo += (slo.empty() ? "" : ", ") + std::string(what) + " " + short_number(milliseconds) + " ms";
  };
  add("first token", options.slo_first_token);
  add("per token", options.slo_per_token);
  add("whole", options.slo_whole);
  if (!slo.empty()) facts.emplace_back("objective", slo);
  return facts;
}

}  // namespace weft::cli
