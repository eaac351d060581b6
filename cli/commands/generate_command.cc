#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/actors/loading/draft_model.h"
#include "weft/actors/loading/generation_config.h"
#include "weft/cli/chat_prompt.h"
#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/gpu/drafting/host_drafts.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/kernels/sample/sample.h"
#include "weft/sampling/drafters/drafter.h"
#include "weft/text/chat/chat_encoder.h"
#include "weft/text/output/incremental_detokenizer.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft::cli {
namespace {

using std::chrono::steady_clock;

constexpr const char* kGenerateVerb = "generate";
constexpr std::int64_t kMaxGeneratedTokens = std::int64_t{1} << 20;
constexpr std::size_t kMostGuesses = 8;  // the same bound as speculation.max_tokens
/// A draft model's guesses cost time, and the later ones are right less often.
constexpr std::size_t kMostDrafts = 4;

struct GenerateOptions {
  ModelOptions model;
  std::string prompt;
  std::string system;
  bool chat = false;
  bool ids = false;  ///< the prompt is token ids, and the output is printed as token ids
  bool ignore_end = false;
  bool stats = false;
  std::int64_t max_tokens = 256;
  SampleParams sampling;
  float repetition_penalty = 1;  ///< the same meaning as PenaltyParams::repetition
  std::string generation_config;
  std::string speculation = "off";
  std::string forced_bos;               ///< a token's text or number
  TokenId usual_forced_bos = kNoToken;  ///< used where the flag names none
};

struct Timing {
  std::size_t prompt_tokens = 0;
  std::size_t tokens = 0;
  std::size_t guessed = 0;
  std::size_t accepted = 0;  ///< guesses that were accepted
  std::chrono::duration<double> prefill{};
  std::chrono::duration<double> decode{};
};

/// Reads ids between commas or white space; brackets around the ids are allowed, as weft tokenize
/// prints them.
std::vector<TokenId> ids_in(std::string text, const Program& program) {
  for (char& c : text) {
    if (std::string_view(",[]").find(c) != std::string_view::npos) c = ' ';
  }
  std::istringstream words(text);
  std::vector<TokenId> ids;
  for (std::string word; words >> word;) {
    TokenId id = kNoToken;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (failed != std::errc() || end != word.data() + word.size() || id < 0 ||
        id >= program.vocabulary) {
      fail(kGenerateVerb,
           "--ids: " + word + " is no token id in 0 .. " + std::to_string(program.vocabulary - 1));
    }
    ids.push_back(id);
  }
  if (ids.empty()) fail(kGenerateVerb, "the prompt has no tokens");
  return ids;
}

std::vector<TokenId> prompt_tokens(const GenerateOptions& options, const Tokenizer& tokenizer,
                                   const Program& program) {
  const std::string text = text_argument(options.prompt);
  if (options.ids) return ids_in(text, program);
  if (!tokenizer.exists()) {
    fail(kGenerateVerb, "the model has no tokenizer: give token ids, with --ids");
  }
  if (options.chat) {
    Conversation conversation{.messages = one_question(options.system, text)};
    return value_or_fail(kGenerateVerb,
                         ChatEncoder(tokenizer).encode(std::move(conversation), wall_clock()));
  }
  std::vector<TokenId> ids;
  // A user's prompt is plain text. Special tokens such as BOS are put around it, but their texts
  // are not looked for in it.
  value_or_fail(kGenerateVerb, tokenizer.encode(text, {true, false}, ids));
  if (ids.empty()) fail(kGenerateVerb, "the prompt has no tokens");
  return ids;
}

bool ends(const Tokenizer& tokenizer, const Program& program, TokenId id) {
  return std::ranges::find(tokenizer.end_tokens(), id) != tokenizer.end_tokens().end() ||
         std::ranges::find(program.end_tokens, id) != program.end_tokens.end();
}

/// Returns the token of --forced-bos: "__fr__", or 128028.
TokenId forced_bos(const GenerateOptions& options, const Tokenizer& tokenizer,
                   const Program& program) {
  const std::string& text = options.forced_bos;
  if (text.empty()) return program.has_encoder ? options.usual_forced_bos : kNoToken;
  TokenId id = tokenizer.id_of(text);
  if (id == kNoToken) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), id);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) id = kNoToken;
  }
  if (!program.has_encoder) fail(kGenerateVerb, "--forced-bos is for models with an encoder");
  if (id < 0 || id >= program.vocabulary)
    fail(kGenerateVerb, "--forced-bos " + text + ": is no token of the model");
  return id;
}

/// Runs one sequence from its prompt to its end.
class Generation {
 public:
  /// `drafter` may be null: no tokens are guessed.
  Generation(const GenerateOptions& options, const Tokenizer& tokenizer, ModelDevice& device,
             std::unique_ptr<Drafter> drafter)
      : options_(options),
        tokenizer_(tokenizer),
        device_(device),
        runner_(device),
        forced_bos_(forced_bos(options, tokenizer, device.program())),
        drafter_(std::move(drafter)) {
    const auto vocabulary = static_cast<std::size_t>(device.program().vocabulary);
    scratch_.resize(2 * vocabulary);
    // A page of a draft model for each page of the model; the numbers are the runner's.
    draft_pages_.resize(static_cast<std::size_t>(device.options().pages));
    std::iota(draft_pages_.begin(), draft_pages_.end(), 0);
  }

  Timing run(std::vector<TokenId> prompt) {
    Timing timing;
    timing.prompt_tokens = prompt.size();
    const Program& program = device_.program();
    const auto whole = static_cast<std::int64_t>(prompt.size()) + options_.max_tokens;
    const auto started = steady_clock::now();
    if (program.has_encoder) {
      value_or_fail(kGenerateVerb, runner_.encode(prompt));
      prompt = {static_cast<TokenId>(std::max<std::int64_t>(program.start_token, 0))};
      if (forced_bos_ != kNoToken) prompt.push_back(forced_bos_);
    }
    seen_.insert(prompt.begin(), prompt.end());
    if (drafter_) drafter_->start(0, prompt, prompt.size(), {});
    feed(prompt, {}, whole);
    const auto prefilled = steady_clock::now();
    const std::int64_t room = device_.options().max_context - runner_.length();
    const auto most = static_cast<std::size_t>(std::min(options_.max_tokens, room + 1));
    IncrementalDetokenizer detokenizer(tokenizer_);
    while (take_chosen(timing, most, detokenizer)) advance(timing, most, whole);
    std::cout << detokenizer.finish() << '\n';
    timing.prefill = prefilled - started;
    timing.decode = steady_clock::now() - prefilled;
    return timing;
  }

 private:
  /// Prints the chosen tokens. Returns whether the output goes on.
  bool take_chosen(Timing& timing, std::size_t most, IncrementalDetokenizer& detokenizer) {
    for (const TokenId token : chosen_) {
      if (token == kNoToken) fail(kGenerateVerb, "the logits are not numbers");
      if (!options_.ignore_end && ends(tokenizer_, device_.program(), token)) return false;
      ++timing.tokens;
      if (options_.ids) {
        std::cout << (timing.tokens > 1 ? ", " : "") << token << std::flush;
      } else {
        std::cout << value_or_fail(kGenerateVerb, detokenizer.push(token)) << std::flush;
      }
      if (timing.tokens == most) return false;
    }
    return true;
  }

  /// Feeds the newest token, and guesses of the tokens that follow it.
  void advance(Timing& timing, std::size_t most, std::int64_t whole) {
    fed_.assign(1, chosen_.back());
    if (drafter_) {
      drafter_->observe(0, chosen_);
      fed_.resize(1 + std::min(kMostGuesses, most - timing.tokens - 1));
      GuessTask task{.slot = 0, .room = std::span(fed_).subspan(1)};
      task.drafts = static_cast<std::int32_t>(std::min(task.room.size(), kMostDrafts));
      task.pages = draft_pages_;
      task.draws = options_.sampling;
      task.draws.draw = static_cast<std::uint64_t>(runner_.length()) + 1;
      drafter_->guess_all(std::span(&task, 1));
      fed_.resize(1 + task.draft.count);
    }
    const std::span<const TokenId> guesses = std::span(fed_).subspan(1);
    feed(std::span(fed_).first(1), guesses, whole);
    timing.guessed += guesses.size();
    timing.accepted += chosen_.size() - 1;
  }

  /// Chooses the token behind each fed token for as long as the guesses are right. Each choice is
  /// the same as without guesses, since it uses its position's logits and random number.
  void feed(std::span<const TokenId> ids, std::span<const TokenId> guesses, std::int64_t whole) {
    std::int64_t end = runner_.length() + static_cast<std::int64_t>(ids.size());
    chosen_.clear();
    const auto choose = [&](ConstRows rows) {
      for (std::int64_t row = 0; row < rows.count; ++row) {
        const std::size_t right = chosen_.size();
        if (right > 0 && chosen_.back() != guesses[right - 1]) return;
        choose_by({rows.row(row), static_cast<std::size_t>(rows.width)}, end++);
      }
    };
    if (guesses.empty()) {
      value_or_fail(kGenerateVerb, runner_.feed(ids, choose, true, whole));
    } else {
      value_or_fail(kGenerateVerb, runner_.feed(fed_, choose, false, whole));
      runner_.rewind(end - 1);
    }
  }

  void choose_by(std::span<const float> logits, std::int64_t position) {
    SampleParams params = options_.sampling;
    params.draw = static_cast<std::uint64_t>(position);
    const TokenId token =
        sample(options_.repetition_penalty == 1 ? logits : penalized(logits), params, scratch_);
    if (token != kNoToken) seen_.insert(token);
    chosen_.push_back(token);
  }

  /// Returns the logits after the repetition penalty; valid until the next call.
  std::span<const float> penalized(std::span<const float> logits) {
    logits_.assign(logits.begin(), logits.end());
    for (const TokenId token : seen_) {
      float& logit = logits_[static_cast<std::size_t>(token)];
      const float penalty = options_.repetition_penalty;
      logit = logit > 0 ? logit / penalty : logit * penalty;
    }
    return logits_;
  }

  const GenerateOptions& options_;
  const Tokenizer& tokenizer_;
  ModelDevice& device_;
  SequenceRunner runner_;
  std::vector<std::uint64_t> scratch_;
  TokenId forced_bos_;      ///< the output begins with this token
  std::set<TokenId> seen_;  ///< tokens of the prompt and the output
  std::vector<float> logits_;
  std::unique_ptr<Drafter> drafter_;       ///< null: no tokens are guessed
  std::vector<std::int32_t> draft_pages_;  ///< the drafter's
  std::vector<TokenId> fed_;               ///< the newest token, then guesses
  std::vector<TokenId> chosen_;            ///< tokens chosen in the last step
};

void print_stats(const Timing& timing, const std::string& device) {
  const auto rate = [](std::size_t tokens, std::chrono::duration<double> took) {
    return took.count() > 0 ? static_cast<double>(tokens) / took.count() : 0.0;
  };
  std::cerr << std::fixed << std::setprecision(1) << timing.prompt_tokens << " prompt tokens at "
            << rate(timing.prompt_tokens, timing.prefill) << "/s, " << timing.tokens
            << " tokens at " << rate(timing.tokens, timing.decode) << "/s";
  if (timing.guessed > 0) {
    std::cerr << " (" << timing.accepted << " of " << timing.guessed << " guesses right)";
  }
  std::cerr << ", on " << device << '\n';
}

/// Returns the limits for a drafter of one sequence on this device.
DeviceLimits limits_of(const ModelDevice& device) {
  DeviceLimits limits;
  limits.rows = 1;
  limits.pages = device.options().pages;
  limits.page_tokens = device.options().page_tokens;
  limits.context = device.options().max_context;
  limits.vocabulary = device.program().vocabulary;
  limits.guesses = static_cast<std::int32_t>(kMostGuesses);
  return limits;
}

/// Returns the drafter that --speculation names: none, look-ups, or the draft model at a path.
std::unique_ptr<Drafter> drafter_for(const GenerateOptions& options, const OpenedModel& model,
                                     const Tokenizer& tokenizer, const ModelDevice& device) {
  if (options.speculation == "off") return nullptr;
  DeviceWishes wishes;
  if (options.speculation != "suffix") {
    wishes.draft =
        value_or_fail(kGenerateVerb, open_draft_model(model, tokenizer, options.speculation));
    wishes.looks_up = false;
    value_or_fail(kGenerateVerb, check_draft(*wishes.draft->program, *model.program));
  }
  HostDrafters drafters(wishes, device.options().kv_dtype, options.model.threads);
  return value_or_fail(kGenerateVerb, drafters.make(limits_of(device), {}));
}

void run_generate(const GenerateOptions& options) {
  const OpenedModel model = value_or_fail(kGenerateVerb, open_asked(options.model));
  if (!model.program->generates())
    fail(kGenerateVerb, "an encoder generates nothing; see weft logits");
  // A GPU may compute several rows with other rounding than one row.
  if (options.speculation != "off" && options.model.device != "cpu")
    fail(kGenerateVerb,
         std::string("--speculation ").append(options.speculation).append(" needs --device cpu"));
  const Tokenizer tokenizer = value_or_fail(kGenerateVerb, load_tokenizer(options.model.path));
  std::vector<TokenId> prompt = prompt_tokens(options, tokenizer, *model.program);
  const auto context = static_cast<std::int64_t>(prompt.size()) + options.max_tokens;
  const auto device = value_or_fail(kGenerateVerb, load_alone(model, options.model, context));
  Generation generation(options, tokenizer, *device,
                        drafter_for(options, model, tokenizer, *device));
  const Timing timing = generation.run(std::move(prompt));
  if (options.stats) print_stats(timing, options.model.device);
}

/// Sets each option without a flag from generation_config.json.
void take_defaults(const CLI::App& command, GenerateOptions& options) {
  SamplingParams plain;
  plain.temperature = options.sampling.temperature;
  const GenerationDefaults defaults = value_or_fail(
      kGenerateVerb, read_generation_config(options.generation_config, options.model.path, plain));
  const auto take = [&](const char* flag, auto value, auto& to) {
    if (command.count(flag) == 0) to = value;
  };
  take("--temperature", defaults.sampling.temperature, options.sampling.temperature);
  take("--top-p", defaults.sampling.top_p, options.sampling.top_p);
  take("--top-k", defaults.sampling.top_k, options.sampling.top_k);
  take("--min-p", defaults.sampling.min_p, options.sampling.min_p);
  take("--repetition-penalty", defaults.sampling.penalties.repetition, options.repetition_penalty);
  options.usual_forced_bos = defaults.forced_bos;
  if (defaults.max_tokens > 0) take("--max-tokens", defaults.max_tokens, options.max_tokens);
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto* command = app.add_subcommand("generate", "Continue a prompt and print the text");
  auto options = std::make_shared<GenerateOptions>();
  add_model_options(*command, options->model, true);
  command->add_option("PROMPT", options->prompt, "The prompt; - reads standard input")->required();
  command->add_flag("--chat", options->chat, "Put the prompt into the model's chat template");
  command->add_flag("--ids", options->ids, "PROMPT is token ids, and ids are printed");
  command->add_option("--system", options->system, "With --chat: the system message");
  command->add_option("--max-tokens", options->max_tokens, "Most tokens to generate")
      ->check(CLI::Range(std::int64_t{1}, kMaxGeneratedTokens))
      ->capture_default_str();
  SampleParams& sampling = options->sampling;
  command->add_option("--temperature", sampling.temperature, "0 = always the most probable token")
      ->check(CLI::Range(0.0F, 100.0F))
      ->capture_default_str();
  command->add_option("--top-p", sampling.top_p, "Keep the best of this probability in all")
      ->check(CLI::Range(0.0F, 1.0F))
      ->capture_default_str();
  command->add_option("--top-k", sampling.top_k, "Keep the best so many; 0 = all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--min-p", sampling.min_p,
                   "Keep tokens of at least this share of the best's probability")
      ->check(CLI::Range(0.0F, 1.0F))
      ->capture_default_str();
  command
      ->add_option("--repetition-penalty", options->repetition_penalty,
                   "Divides the logits of tokens that were there; 1 = off")
      ->check(CLI::Range(0.01F, 100.0F))
      ->capture_default_str();
  command->add_option("--forced-bos", options->forced_bos,
                      "Of models with an encoder: the token that the output begins with, such as "
                      "the language to translate into (__fr__)");
  command->add_option(
      "--generation-config", options->generation_config,
      "generation_config.json for options without a flag: auto for the model's own, or "
      "the folder that it is in");
  command
      ->add_option(
          "--speculation", options->speculation,
          "How tokens are guessed, which one step then verifies together: off; suffix: as the "
          "text continued before; or the path of a draft model with the same "
          "vocabulary. The output stays the same")
      ->type_name("off|suffix|MODEL")
      ->capture_default_str();
  auto* seed = command->add_option("--seed", sampling.seed, "Same seed, same text; default: any");
  command->add_flag("--ignore-end", options->ignore_end, "Go on past the model's end token");
  command->add_flag("--stats", options->stats, "Print counts and rates on standard error");
  command->callback([options, seed, command] {
    if (seed->count() == 0) options->sampling.seed = std::random_device()();
    take_defaults(*command, *options);
    run_generate(*options);
  });
}

}  // namespace weft::cli
