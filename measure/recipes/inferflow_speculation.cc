// Measures the gain of speculation on three kinds of output, beside the cost that Inferflow's
// section 8 states (equation 9).

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/loading/loaded_model.h"
#include "weft/actors/request/request.h"
#include "weft/actors/stepper/stepper.h"
#include "weft/measure/engine/measured_model.h"
#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/recipes/recipes.h"
#include "weft/measure/recipes/rounds.h"

namespace weft::measure {
namespace {

constexpr std::int32_t kTraceOutput = 192;
/// In an edit's prediction, one of this many words differs from the output.
constexpr std::size_t kEditedWord = 12;

/// A kind of output.
struct GuessTrace {
  std::string_view name;
  std::string_view what;
  std::string_view prompt;
  float temperature = 0;
  bool predicts = false;  ///< the request predicts its output, up to some words
};

constexpr std::array kGuessTraces = {
    GuessTrace{"edit", "a text of which one word in 12 changes; the request predicts the old text",
               "Once upon a time", 0.8F, true},
    GuessTrace{"repeat", "a text that repeats itself, greedily",
               "A fox saw a red stone. A fox saw a red stone. A fox saw a", 0, false},
    GuessTrace{"chat", "a story, which repeats little", "Tell me a story about a brave dog.", 0.8F,
               false},
};

/// One run of a trace.
struct TraceRun {
  std::string text;
  double tokens = 0;
  double steps = 0;  ///< that gave tokens
  double seconds = 0;
  double accepted = 0;
  double rejected = 0;

  [[nodiscard]] double guessed() const noexcept { return accepted + rejected; }
  [[nodiscard]] double per_step() const noexcept { return tokens / steps; }
  [[nodiscard]] double step_seconds() const noexcept { return seconds / steps; }
};

/// A trace without guesses and with them, in the same round.
struct TracePair {
  TraceRun plain, guessed;
  /// A step of the draft model by itself on the same trace; 0 for look-ups, which take next to
  /// nothing.
  double draft_seconds = 0;

  /// The acceptance: the part of the guesses that was right. NaN where nothing was guessed.
  [[nodiscard]] double r() const noexcept { return guessed.accepted / guessed.guessed(); }
  /// Guesses in a step, on average.
  [[nodiscard]] double k() const noexcept { return guessed.guessed() / guessed.steps; }
  [[nodiscard]] double gain() const noexcept { return plain.seconds / guessed.seconds; }
  /// The paper's t_draft K + t_target in seconds.
  [[nodiscard]] double step_by_paper() const noexcept {
    return draft_seconds * k() + plain.step_seconds();
  }
  /// The paper's N / (r (K + 1)) * (t_draft K + t_target) in seconds. NaN where no guess was right.
  [[nodiscard]] double by_paper() const noexcept {
    const double tokens_a_step = r() * (k() + 1);
    if (!(tokens_a_step > 0)) return std::numeric_limits<double>::quiet_NaN();
    return plain.tokens / tokens_a_step * step_by_paper();
  }
  /// Returns the same time from the 1 + r K tokens that a step gives if right and wrong guesses are
  /// counted.
  [[nodiscard]] double by_count() const noexcept {
    return plain.tokens / guessed.per_step() * step_by_paper();
  }
};

/// The figures of a trace, with guesses from one source.
struct MeasuredTrace {
  std::string name;
  Rounds<TracePair> rounds{};
};

/// Where the guesses of a stepper come from.
enum class Guesses : std::uint8_t { kNone, kLookUps, kDraftModel };

Stepper stepper_of(const RecipeSetup& setup, const MeasuredModel& model, Guesses guesses) {
  Config config = with_policy(setup, BatchPolicy::kFusion);
  config.max_rows = 1;
  const bool looks_up = guesses == Guesses::kLookUps;
  config.speculation = looks_up ? SpeculationKind::kSuffix : SpeculationKind::kOff;
  config.speculation_prediction = looks_up;
  if (guesses != Guesses::kDraftModel) config.speculation_model.clear();
  config.speculation_recent_tokens = 0;  // a round would find the output of the one before
  auto loaded = load_served(model.opened, model.tokenizer, config).value();
  return Stepper(config, std::move(loaded.model), loaded.devices.front().front());
}

/// What guesses, and how long its guesses take.
struct Guesser {
  Stepper guessing;
  std::optional<Stepper> draft{};  ///< the draft model by itself; none for look-ups
};

Guesser look_ups_of(const RecipeSetup& setup) {
  return {stepper_of(setup, setup.model, Guesses::kLookUps)};
}

/// Throws the errors of opening the draft model (Config::speculation_model).
Guesser draft_of(const RecipeSetup& setup) {
  const MeasuredModel draft = open_measured_model(setup.config.speculation_model, {}).value();
  return {stepper_of(setup, setup.model, Guesses::kDraftModel),
          stepper_of(setup, draft, Guesses::kNone)};
}

Request trace_request(const RecipeSetup& setup, const GuessTrace& trace) {
  Request request;
  request.prompt = trace.prompt;
  request.max_tokens = scaled(setup, kTraceOutput, 16);
  request.clip_max_tokens = true;
  request.sampling.temperature = trace.temperature;
  request.sampling.seed = setup.seed;
  request.sampling.ignore_eos = true;
  return request;
}

/// Runs a step and takes what it gives.
void step_trace(Stepper& stepper, TraceRun& measured) {
  for (const StepOutput& output : stepper.infer()) {
    for (const Delta& delta : output.deltas) {
      measured.text += delta.text;
      measured.tokens += static_cast<double>(delta.tokens.size());
    }
    if (!output.end) continue;
    measured.accepted = output.end->usage.accepted_guesses;
    measured.rejected = output.end->usage.rejected_guesses;
  }
}

/// Runs a request alone; tokens, steps and time begin behind its first token.
TraceRun run_trace(Stepper& stepper, const Request& request) {
  TraceRun measured;
  static_cast<void>(stepper.add(request).value());
  while (measured.tokens == 0 && !stepper.idle()) step_trace(stepper, measured);
  measured.tokens = 0;
  const std::uint64_t ticks = stepper.stats().ticks;
  const auto began = std::chrono::steady_clock::now();
  while (!stepper.idle()) step_trace(stepper, measured);
  measured.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  measured.steps = static_cast<double>(stepper.stats().ticks - ticks);
  return measured;
}

/// Returns a text in which some words are others.
std::string edited(std::string_view text) {
  std::string all;
  std::size_t words = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    all += ++words % kEditedWord == 0 ? std::string_view("green") : text.substr(begin, end - begin);
    if (end < text.size()) all += ' ';
    begin = end + 1;
  }
  return all;
}

void begin_trace(const RecipeSetup& setup, const std::string& part) {
  if (setup.begin_part) setup.begin_part(part);
  if (setup.stop == nullptr || !setup.stop->load(std::memory_order_relaxed)) return;
  throw boost::system::system_error(make_error_code(boost::system::errc::operation_canceled));
}

/// Measures a trace in rounds; the first, which warms up, is left out.
MeasuredTrace measure_trace(const RecipeSetup& setup, const GuessTrace& trace, Stepper& plain,
                            Guesser& guesser) {
  MeasuredTrace measured{.name = std::string(trace.name) + (guesser.draft ? ", drafted" : "")};
  Request request = trace_request(setup, trace);
  const TraceRun before = run_trace(plain, request);
  if (trace.predicts) request.speculation.prediction = edited(before.text);
  static_cast<void>(run_trace(guesser.guessing, request));
  if (guesser.draft) static_cast<void>(run_trace(*guesser.draft, request));
  for (std::int32_t round = 0; round < setup.repeats; ++round) {
    begin_trace(setup, round_part(setup, round) + measured.name);
    TracePair pair;
    pair.plain = run_trace(plain, request);
    pair.guessed = run_trace(guesser.guessing, request);
    if (guesser.draft) pair.draft_seconds = run_trace(*guesser.draft, request).step_seconds();
    measured.rounds.add(std::move(pair));
  }
  return measured;
}

std::vector<std::string> trace_row(const MeasuredTrace& trace) {
  const Rounds<TracePair>& rounds = trace.rounds;
  const auto text = [&](auto of) { return number(rounds.median(of)); };
  const auto time = [&](auto of) {
    const double seconds = rounds.median(of);
    return std::isfinite(seconds) ? seconds_text(seconds) : number(seconds);
  };
  return {trace.name,
          text([](const TracePair& one) { return one.r(); }),
          text([](const TracePair& one) { return one.k(); }),
          text([](const TracePair& one) { return one.guessed.per_step(); }),
          time([](const TracePair& one) { return one.by_paper(); }),
          time([](const TracePair& one) { return one.by_count(); }),
          time([](const TracePair& one) { return one.guessed.seconds; }),
          time([](const TracePair& one) { return one.plain.seconds; }),
          with_range(rounds.each([](const TracePair& one) { return one.gain(); }), times_text)};
}

Table trace_table(const std::vector<MeasuredTrace>& all) {
  Table table{
      "Acceptance and cost",
      {"trace", "r", "K", "tokens a step", "N/(r(K+1))", "N/(1+rK)", "measured", "without", "gain"},
      {},
      {}};
  for (const MeasuredTrace& one : all) table.rows.push_back(trace_row(one));
  table.note =
      "r: the part of the guesses that was right. K: guesses in a step, on average. N/(r(K+1)): "
      "the "
      "paper's cost (equation 9) of all tokens, where t_target is a step without guesses. t_draft, "
      "the time of a guess, is a step of the draft model by itself; a look-up takes no time. It "
      "counts r(K+1) tokens a step, so none where no guess is right; N/(1+rK) counts what a step "
      "gives. Their difference from what was measured is what verifying guesses costs. Medians; of "
      "the gain also the least and the most.";
  return table;
}

Figure trace_figure(const std::vector<MeasuredTrace>& all) {
  Figure figure = make_figure("Gain by tokens a step",
                              "Each trace: the time without guesses over the time with them. On "
                              "the line a step with guesses takes as long as one without.",
                              linear("tokens a step"), linear("times as fast"));
  Series bound{.name = "guesses for nothing"};
  double most = 1;
  for (const auto& [name, rounds] : all) {
    const double per_step =
        rounds.median([](const TracePair& one) { return one.guessed.per_step(); });
    most = std::max(most, per_step);
    figure.series.push_back(
        {.name = name,
         .style = Series::Style::kPoints,
         .points = {{per_step, rounds.median([](const TracePair& one) { return one.gain(); })}}});
  }
  bound.points = {{1, 1}, {std::max(most, 1.1), std::max(most, 1.1)}};
  figure.series.push_back(std::move(bound));
  return figure;
}

boost::json::object trace_data(const MeasuredTrace& trace) {
  const auto of = [&](auto what) { return trace.rounds.median(what); };
  return {{"trace", trace.name},
          {"acceptance", of([](const TracePair& one) { return one.r(); })},
          {"guesses_per_step", of([](const TracePair& one) { return one.k(); })},
          {"tokens_per_step", of([](const TracePair& one) { return one.guessed.per_step(); })},
          {"draft_seconds", of([](const TracePair& one) { return one.draft_seconds; })},
          {"seconds_by_paper", of([](const TracePair& one) { return one.by_paper(); })},
          {"seconds_by_count", of([](const TracePair& one) { return one.by_count(); })},
          {"seconds", of([](const TracePair& one) { return one.guessed.seconds; })},
          {"seconds_without", of([](const TracePair& one) { return one.plain.seconds; })},
          {"gain", of([](const TracePair& one) { return one.gain(); })}};
}

}  // namespace

Report inferflow_speculation(const RecipeSetup& setup) {
  begin_trace(setup, "loading");
  Stepper plain = stepper_of(setup, setup.model, Guesses::kNone);
  std::vector<Guesser> guessers;
  guessers.push_back(look_ups_of(setup));
  if (!setup.config.speculation_model.empty()) guessers.push_back(draft_of(setup));
  std::vector<MeasuredTrace> all;
  for (Guesser& guesser : guessers) {
    for (const GuessTrace& trace : kGuessTraces) {
      all.push_back(measure_trace(setup, trace, plain, guesser));
    }
  }
  Report report = begin_report(setup, "Speculation (Inferflow, section 8)",
                               "One sequence with and without guesses, step by step, on outputs "
                               "that are predicted, that repeat themselves, and that do neither.");
  for (const GuessTrace& trace : kGuessTraces) report.facts.emplace_back(trace.name, trace.what);
  report.facts.emplace_back("output", std::to_string(scaled(setup, kTraceOutput, 16)) + " tokens");
  if (!setup.config.speculation_model.empty()) {
    report.facts.emplace_back("draft model", setup.config.speculation_model);
  }
  report.facts.emplace_back("guesses at once, at most",
                            std::to_string(setup.config.speculation_max_tokens));
  report.tables = {trace_table(all)};
  report.figures = {trace_figure(all)};
  boost::json::array data;
  bool are_same = true;
  for (const MeasuredTrace& trace : all) {
    data.push_back(trace_data(trace));
    for (const TracePair& one : trace.rounds.all())
      are_same = are_same && one.plain.text == one.guessed.text;
  }
  report.findings.emplace_back(are_same ? "Each text is the same with and without guesses."
                                        : "Some text is another with guesses than without.");
  report.data = {{"traces", std::move(data)}, {"same_texts", are_same}};
  return report;
}

}  // namespace weft::measure
