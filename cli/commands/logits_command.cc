#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/actors/request/vectors/mask_reader.h"
#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/kernels/sample/sample.h"
#include "weft/net/api/fields/json_text.h"

namespace weft::cli {
namespace {

constexpr const char* kLogitsVerb = "logits";
constexpr std::int64_t kMaxGenerated = std::int64_t{1} << 20;
// The number of a position's best tokens that are shown to people.
constexpr std::size_t kShown = 5;

struct LogitsOptions {
  ModelOptions model;
  std::vector<TokenId> ids;
  std::string text;  ///< the text to compute; empty: ids are given
  std::vector<TokenId> decoder_ids;
  std::int64_t generate = 0;
  bool json = false;
};

/// A candidate for a mask token.
struct MaskToken {
  TokenScore best;
  std::string text;
};

struct Answer {
  std::vector<std::vector<float>> rows;
  std::vector<std::size_t> positions;  ///< the positions of the tokens that the rows belong to
  /// The best tokens by row, where only the rows of mask tokens are kept.
  std::vector<std::vector<MaskToken>> masks;
  std::vector<TokenId> greedy;
  bool hidden = false;
};

std::vector<TokenId> decoder_input(const LogitsOptions& options, const Program& program) {
  if (!program.has_encoder) {
    if (!options.decoder_ids.empty()) fail(kLogitsVerb, "--decoder-ids: the model has no encoder");
    return options.ids;
  }
  if (!options.decoder_ids.empty()) return options.decoder_ids;
  if (program.start_token < 0) fail(kLogitsVerb, "--decoder-ids: the model names no start token");
  return {static_cast<TokenId>(program.start_token)};
}

Answer compute(const LogitsOptions& options, const OpenedModel& model) {
  const Program& program = *model.program;
  const std::vector<TokenId> ids = decoder_input(options, program);
  if (!program.generates() && options.generate > 0) {
    fail(kLogitsVerb, "--generate: an encoder generates nothing");
  }
  const auto longest = static_cast<std::int64_t>(std::max(options.ids.size(), ids.size()));
  const auto device =
      value_or_fail(kLogitsVerb, load_alone(model, options.model, longest + options.generate));
  SequenceRunner runner(*device);
  if (program.has_encoder) value_or_fail(kLogitsVerb, runner.encode(options.ids));
  Answer answer;
  answer.hidden = !program.has_logits;
  const auto keep = [&](ConstRows rows) {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      answer.rows.emplace_back(rows.row(i), rows.row(i) + rows.width);
    }
  };
  value_or_fail(kLogitsVerb, runner.feed(ids, keep, false));
  TokenId next = options.generate > 0 ? sample(answer.rows.back(), {}, {}) : kNoToken;
  const auto follow = [&](ConstRows rows) {
    next = sample({rows.row(0), static_cast<std::size_t>(rows.width)}, {}, {});
  };
  answer.positions.resize(answer.rows.size());
  std::iota(answer.positions.begin(), answer.positions.end(), std::size_t{0});
  for (std::int64_t step = 0; step < options.generate; ++step) {
    if (next == kNoToken) fail(kLogitsVerb, "the logits are not numbers");
    answer.greedy.push_back(next);
    if (step + 1 == options.generate) break;
    value_or_fail(kLogitsVerb, runner.feed(std::span(&answer.greedy.back(), 1), follow, true));
  }
  return answer;
}

std::vector<MaskToken> best_tokens(const Tokenizer& tokenizer, std::span<const float> logits) {
  std::vector<MaskToken> tokens;
  for (const TokenScore& best : likeliest_tokens(tokenizer, logits, kShown)) {
    const auto text = tokenizer.decode(std::span(&best.token, 1), false);
    tokens.push_back({best, text ? *text : std::string()});
  }
  return tokens;
}

/// Keeps only the rows of mask tokens, where there are any.
void keep_masks(std::span<const TokenId> ids, const Tokenizer& tokenizer, Answer& answer) {
  const TokenId mask = tokenizer.mask();
  if (mask == kNoToken || std::ranges::find(ids, mask) == ids.end()) return;
  const auto is_other = [&](std::size_t position) { return ids[position] != mask; };
  std::erase_if(answer.positions, is_other);
  std::vector<std::vector<float>> rows;
  for (const std::size_t position : answer.positions) {
    rows.push_back(std::move(answer.rows[position]));
  }
  answer.rows = std::move(rows);
  for (const auto& row : answer.rows) answer.masks.push_back(best_tokens(tokenizer, row));
}

// Prints null for NaN and infinities, which JSON lacks.
void print_number(float number) {
  if (std::isfinite(number)) {
    std::cout << number;
  } else {
    std::cout << "null";
  }
}

/// Prints candidates under the names that /v1/fill-mask uses.
void print_masks(const Answer& answer) {
  std::cout << ", \"positions\": [";
  for (std::size_t i = 0; i < answer.positions.size(); ++i) {
    std::cout << (i == 0 ? "" : ", ") << answer.positions[i];
  }
  std::cout << "], \"masks\": [";
  for (std::size_t i = 0; i < answer.masks.size(); ++i) {
    std::cout << (i == 0 ? "[" : ", [");
    for (std::size_t j = 0; j < answer.masks[i].size(); ++j) {
      const MaskToken& token = answer.masks[i][j];
      std::string text;
      append_json_string(text, token.text);
      std::cout << (j == 0 ? "" : ", ") << "{\"score\": " << token.best.score
                << ", \"token\": " << token.best.token << ", \"token_str\": " << text << '}';
    }
    std::cout << ']';
  }
  std::cout << ']';
}

void print_json(const Answer& answer, bool generated) {
  std::cout << "{\"" << (answer.hidden ? "hidden" : "logits") << "\": [";
  // Nine digits reproduce every float32 exactly.
  std::cout << std::setprecision(9);
  for (std::size_t row = 0; row < answer.rows.size(); ++row) {
    std::cout << (row == 0 ? "[" : ", [");
    for (std::size_t i = 0; i < answer.rows[row].size(); ++i) {
      std::cout << (i == 0 ? "" : ", ");
      print_number(answer.rows[row][i]);
    }
    std::cout << ']';
  }
  std::cout << ']';
  if (!answer.masks.empty()) print_masks(answer);
  if (generated || !answer.hidden) {
    std::cout << ", \"greedy\": [";
    for (std::size_t i = 0; i < answer.greedy.size(); ++i) {
      std::cout << (i == 0 ? "" : ", ") << answer.greedy[i];
    }
    std::cout << ']';
  }
  std::cout << "}\n";
}

/// Prints a line for each mask token: its position, then tokens with their probabilities.
void print_mask_table(const Answer& answer) {
  for (std::size_t row = 0; row < answer.masks.size(); ++row) {
    std::cout << std::setw(6) << answer.positions[row] << ' ';
    if (answer.masks[row].empty()) std::cout << " the logits are not numbers";
    for (const MaskToken& token : answer.masks[row]) {
      std::cout << std::setw(8) << token.best.token << ' ' << std::quoted(token.text) << ": "
                << std::fixed << std::setprecision(4) << token.best.score;
    }
    std::cout << '\n';
  }
}

void print_table(const Answer& answer) {
  for (std::size_t row = 0; row < answer.rows.size(); ++row) {
    const std::vector<float>& numbers = answer.rows[row];
    std::vector<std::size_t> order(numbers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t shown = std::min(kShown, order.size());
    if (!answer.hidden) {
      std::ranges::partial_sort(
          order, order.begin() + static_cast<std::ptrdiff_t>(shown),
          [&](std::size_t a, std::size_t b) { return numbers[a] > numbers[b]; });
    }
    std::cout << std::setw(6) << answer.positions[row] << ' ';
    for (std::size_t i = 0; i < shown; ++i) {
      if (!answer.hidden) std::cout << std::setw(8) << order[i] << ':';
      std::cout << std::fixed << std::setprecision(4) << std::setw(answer.hidden ? 12 : 0)
                << numbers[order[i]];
    }
    std::cout << (answer.hidden ? " ...\n" : "\n");
  }
  if (answer.greedy.empty()) return;
  std::cout << "greedy";
  for (const TokenId id : answer.greedy) std::cout << ' ' << id;
  std::cout << '\n';
}

void run_logits(LogitsOptions options) {
  const OpenedModel model = value_or_fail(kLogitsVerb, open_asked(options.model));
  std::optional<Tokenizer> tokenizer;  // empty where the model has no tokenizer
  if (!options.text.empty()) {
    tokenizer = value_or_fail(kLogitsVerb, load_tokenizer(options.model.path));
    value_or_fail(kLogitsVerb, tokenizer->encode(options.text, {true, true}, options.ids));
  } else if (model.program->fills_masks()) {
    if (auto loaded = load_tokenizer(options.model.path)) tokenizer = *std::move(loaded);
  }
  if (options.ids.empty()) fail(kLogitsVerb, "--text: has no tokens");
  Answer answer = compute(options, model);
  if (tokenizer && model.program->fills_masks()) keep_masks(options.ids, *tokenizer, answer);
  if (options.json) {
    print_json(answer, options.generate > 0);
  } else if (!answer.masks.empty()) {
    print_mask_table(answer);
  } else {
    print_table(answer);
  }
}

}  // namespace

void add_logits_command(CLI::App& app) {
  auto* command = app.add_subcommand("logits", "Print the logits of a model for given tokens");
  auto options = std::make_shared<LogitsOptions>();
  add_model_options(*command, options->model, true);
  auto* ids = command->add_option("--ids", options->ids,
                                  "Tokens, as 5,17,301 (of the encoder where there is one)");
  ids->delimiter(',');
  command
      ->add_option("--text", options->text,
                   "Text instead of tokens, in which the texts of special tokens are these tokens")
      ->excludes(ids);
  command->add_option("--decoder-ids", options->decoder_ids, "Tokens of the decoder")
      ->delimiter(',');
  command->add_option("--generate", options->generate, "Continue greedily by so many tokens")
      ->check(CLI::Range(std::int64_t{0}, kMaxGenerated));
  command->add_flag("--json", options->json, "Print every number, as JSON");
  command->callback([options] {
    if (options->ids.empty() && options->text.empty()) throw CLI::RequiredError("--ids or --text");
    run_logits(*options);
  });
}

}  // namespace weft::cli
