// Chat beside a flood of batch work. It shows the effect of request classes.

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/recipes/load_sweep.h"
#include "weft/measure/recipes/recipes.h"

namespace weft::measure {
namespace {

struct PriorityCase {
  const char* name;
  RequestLengths chat;
  RequestLengths batch;
};
constexpr std::array kCases = {
    PriorityCase{"short prompts",
                 {fixed_length(128), fixed_length(32)},
                 {fixed_length(64), fixed_length(64)}},
    PriorityCase{"long prompts",
                 {fixed_length(512), fixed_length(32)},
                 {fixed_length(512), fixed_length(64)}},
};
// Fractions of the load that the device can sustain while chats come. The offered load is twice
// that, and a tenth of it is chat.
constexpr double kChatShare = 0.2;
constexpr double kBatchShare = 1.8;
constexpr double kChatMostAlone =
    0.4;  // most seconds of a chat request alone on the host device, so that a run takes minutes
constexpr double kPrioritySeconds = 8;
constexpr double kLeastChats = 24;
constexpr double kMostChats = 200;
constexpr std::int32_t kLeastPerClass = 4;

/// The loads of a case, with the same chats in each.
struct Loads {
  std::int32_t divisor = 1;
  double seconds = 0;             ///< from the first to the last arrival of a chat
  double batch_tokens_alone = 0;  ///< tokens a second of batch work alone on the device
  std::vector<Arrival> chats;
  std::vector<Arrival> both;
};

/// The outcomes of chat and batch in one situation.
struct Situation {
  std::string name;
  std::vector<Outcome> chats;
  std::vector<Outcome> batch;
  double seconds = 0;

  /// Returns batch tokens a second while chats came. Tokens after the last chat do not count.
  [[nodiscard]] double batch_tokens_per_second() const {
    std::size_t tokens = 0;
    for (const Outcome& one : batch) {
      for (const double came : one.came) tokens += one.began + came <= seconds ? 1 : 0;
    }
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  }
  [[nodiscard]] std::size_t batch_ended() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        batch, [&](const Outcome& one) { return one.began + one.end <= seconds; }));
  }
};

Loads make_loads(const RecipeSetup& setup, const Config& config, const PriorityCase& what) {
  Loads loads;
  // Both kinds must fit the context, and the chats determine the time.
  loads.divisor = std::max(length_divisor(setup, what.chat, kChatMostAlone),
                           length_divisor(setup, what.batch, 2 * kChatMostAlone));
  const RequestLengths chat = divided(what.chat, loads.divisor);
  const RequestLengths batch = divided(what.batch, loads.divisor);
  const std::string name = what.name;
  const double most_chat =
      measure_full_load(setup, name + ", capacity for chat", config, chat).requests_per_second;
  const FullLoad most_batch =
      measure_full_load(setup, name + ", capacity for batch", config, batch);
  loads.batch_tokens_alone = most_batch.tokens_per_second;
  const double chat_rate = kChatShare * most_chat;
  const double wanted =
      std::clamp(std::round(chat_rate * kPrioritySeconds), kLeastChats, kMostChats);
  const auto chats =
      static_cast<std::size_t>(scaled(setup, static_cast<std::int32_t>(wanted), kLeastPerClass));
  LoadShape shape;
  shape.per_second = chat_rate;
  shape.requests = chats;
  shape.prompt = chat.prompt;
  shape.output = chat.output;
  loads.chats = draw(shape, setup.seed);
  loads.seconds = loads.chats.back().at;
  const auto flood = static_cast<std::size_t>(
      std::max(1.0, kBatchShare * most_batch.requests_per_second * loads.seconds));
  loads.both = merge(
      loads.chats,
      std::vector<Arrival>(flood, {0, batch.prompt.low, batch.output.low, RequestClass::kBatch}));
  return loads;
}

/// Plays one situation. Outcomes come in the order of the arrivals, whose classes tell them apart.
Situation play_situation(const RecipeSetup& setup, const std::string& part, const Config& config,
                         std::string name, const Loads& loads, const std::vector<Arrival>& arrivals,
                         bool with_classes) {
  std::vector<Arrival> sent(arrivals);
  if (!with_classes) {
    for (Arrival& one : sent) one.cls = RequestClass::kChat;
  }
  EngineRun run = play(setup, part + ", " + name, config, {sent, 0});
  Situation situation{std::move(name), {}, {}, loads.seconds};
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    auto& kind = arrivals[i].cls == RequestClass::kChat ? situation.chats : situation.batch;
    kind.push_back(std::move(run.outcomes[i]));
  }
  return situation;
}

/// Returns the distribution of times: the share of requests up to each time, in a hundred steps.
std::vector<std::pair<double, double>> distribution(std::vector<double> values) {
  constexpr int kSteps = 100;
  std::vector<std::pair<double, double>> points;
  if (values.empty()) return points;
  std::ranges::sort(values);
  for (int i = 0; i <= kSteps; ++i) {
    const double part = static_cast<double>(i) / kSteps;
    points.emplace_back(quantile(values, part), part);
  }
  return points;
}

std::vector<double> first_tokens(const std::vector<Outcome>& outcomes) {
  std::vector<double> all;
  for (const Outcome& one : outcomes) all.push_back(first_token_of(one));
  return all;
}

std::vector<double> between_tokens(const std::vector<Outcome>& outcomes) {
  std::vector<double> all;
  for (const Outcome& one : outcomes) {
    for (std::size_t i = 1; i < one.came.size(); ++i) {
      all.push_back(one.came[i] - one.came[i - 1]);
    }
  }
  return all;
}

void add_table(const std::string& name, const std::vector<Situation>& all, double batch_alone,
               Report& report) {
  Table first{"Chat, " + name,
              {"", "TTFT p50", "mean", "p90", "p99", "inter-token p50", "p90", "p99"},
              {},
              {}};
  Table batch{"Batch, " + name,
              {"", "tokens/s while chats came", "of what it has alone", "TTFT p50", "ended"},
              {},
              "Until the last chat came; what was left is served after it."};
  for (const Situation& one : all) {
    const Summary chat = summarize(one.chats);
    first.rows.push_back({one.name, seconds_text(chat.first_token.p50),
                          seconds_text(chat.first_token.mean), seconds_text(chat.first_token.p90),
                          seconds_text(chat.first_token.p99), seconds_text(chat.between.p50),
                          seconds_text(chat.between.p90), seconds_text(chat.between.p99)});
    if (one.batch.empty()) continue;
    batch.rows.push_back(
        {one.name, number(one.batch_tokens_per_second()),
         number(100 * one.batch_tokens_per_second() / batch_alone) + " %",
         seconds_text(summarize(one.batch).first_token.p50),
         std::to_string(one.batch_ended()) + " of " + std::to_string(one.batch.size())});
  }
  report.tables.push_back(std::move(first));
  report.tables.push_back(std::move(batch));
}

void add_situation_figures(const std::string& name, const std::vector<Situation>& all,
                           Report& report) {
  Figure first{"Chat's time to first token, " + name,
               "The part of chats that had their first token within that time.",
               {"seconds", true},
               {"part of chats", false},
               {}};
  Figure between{"Chat's time between tokens, " + name,
                 "The part of all intervals that were no longer.",
                 {"seconds", true},
                 {"part of intervals", false},
                 {}};
  for (const Situation& one : all) {
    first.series.push_back(
        {one.name, Series::Style::kStep, distribution(first_tokens(one.chats)), false});
    between.series.push_back(
        {one.name, Series::Style::kStep, distribution(between_tokens(one.chats)), false});
  }
  report.figures.push_back(std::move(first));
  report.figures.push_back(std::move(between));
}

void add_finding(const std::string& name, const std::vector<Situation>& all, Report& report) {
  std::array<Summary, 3> chat;
  for (std::size_t i = 0; i < chat.size(); ++i) chat[i] = summarize(all[i].chats);
  const auto over_alone = [&](std::size_t which, Spread Summary::* spread) {
    const double ratio = (chat[which].*spread).p50 / (chat[0].*spread).p50;
    return times_text(ratio);
  };
  report.findings.push_back(
      name + ": beside the flood chat waits " + over_alone(1, &Summary::first_token) +
      " as long for its first token as without it where classes count, and " +
      over_alone(2, &Summary::first_token) + " where they do not; between tokens " +
      over_alone(1, &Summary::between) + " and " + over_alone(2, &Summary::between) +
      " (medians). Batch has " +
      times_text(all[1].batch_tokens_per_second() / all[2].batch_tokens_per_second()) +
      " the tokens a second meanwhile that it has without classes.");
}

boost::json::object situation_json(const Situation& one) {
  const Summary chat = summarize(one.chats);
  const auto spread = [](const Spread& of) {
    return boost::json::object{{"count", of.count}, {"mean", of.mean}, {"p50", of.p50},
                               {"p90", of.p90},     {"p99", of.p99},   {"max", of.max}};
  };
  return {{"situation", one.name},
          {"first_token", spread(chat.first_token)},
          {"between", spread(chat.between)},
          {"batch_tokens_per_second", one.batch_tokens_per_second()},
          {"batch_ended", one.batch_ended()},
          {"batch_sent", one.batch.size()}};
}

boost::json::object measure_case(const RecipeSetup& setup, const PriorityCase& what,
                                 Report& report) {
  Config config = with_policy(setup, BatchPolicy::kFusion);
  const Loads loads = make_loads(setup, config, what);
  const std::string name = what.name;
  const std::vector<Situation> all = {
      play_situation(setup, name, config, "chat alone", loads, loads.chats, true),
      play_situation(setup, name, config, "with classes", loads, loads.both, true),
      play_situation(setup, name, config, "without classes", loads, loads.both, false)};
  report.facts.emplace_back(
      name, "chat: " + lengths_text(divided(what.chat, loads.divisor)) +
                "; batch: " + lengths_text(divided(what.batch, loads.divisor)) + "; " +
                std::to_string(loads.chats.size()) + " chats in " + seconds_text(loads.seconds));
  add_table(name, all, loads.batch_tokens_alone, report);
  add_situation_figures(name, all, report);
  add_finding(name, all, report);
  boost::json::array situations;
  for (const Situation& one : all) situations.push_back(situation_json(one));
  return {{"lengths_divided_by", loads.divisor},
          {"batch_tokens_per_second_alone", loads.batch_tokens_alone},
          {"situations", std::move(situations)}};
}

}  // namespace

Report priority(const RecipeSetup& setup) {
  const RecipeSetup here = with_rows(setup);
  Report report = begin_report(
      here, "priority: chat beside a flood of batch work",
      "Chat of a fifth of what the device can carry, and batch work for almost twice the time that "
      "the chats take, which is there from the beginning; with the class scheduler, and with all "
      "requests sent as one class, which is served in its order.");
  report.facts.emplace_back(
      "aim between tokens",
      number(static_cast<double>(here.config.target_inter_token.count()) / 1e3) +
          " ms: prompts are cut so that steps take no longer");
  boost::json::object data;
  for (const PriorityCase& what : kCases) data[what.name] = measure_case(here, what, report);
  report.data = std::move(data);
  return report;
}

}  // namespace weft::measure
