#include <CLI/CLI.hpp>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft::cli {
namespace {

constexpr const char* kTokenizeVerb = "tokenize";

struct TokenizeOptions {
  std::string model;
  std::string text;
  bool ids_only = false;
  bool no_special = false;
};

void print_ids(const std::vector<TokenId>& ids) {
  std::cout << '[';
  for (std::size_t i = 0; i < ids.size(); ++i) std::cout << (i == 0 ? "" : ", ") << ids[i];
  std::cout << "]\n";
}

void run_tokenize(const TokenizeOptions& options) {
  const Tokenizer tokenizer = value_or_fail(kTokenizeVerb, load_tokenizer(options.model));
  const EncodeOptions encode{!options.no_special, !options.no_special};
  std::vector<TokenId> ids;
  value_or_fail(kTokenizeVerb, tokenizer.encode(text_argument(options.text), encode, ids));
  if (options.ids_only) {
    print_ids(ids);
    return;
  }
  for (const TokenId id : ids) {
    std::cout << id << '\t' << value_or_fail(kTokenizeVerb, tokenizer.token(id)) << '\n';
  }
}

}  // namespace

void add_tokenize_command(CLI::App& app) {
  auto* command = app.add_subcommand("tokenize", "Show the tokens of a text");
  auto options = std::make_shared<TokenizeOptions>();
  command
      ->add_option("MODEL", options->model,
                   "A model, a tokenizer.json, or a GGUF file without tensors")
      ->required();
  command->add_option("TEXT", options->text, "The text; - reads standard input")->required();
  command->add_flag("--ids-only", options->ids_only, "Print the ids alone, as a list");
  command->add_flag("--no-special", options->no_special,
                    "Add no BOS or EOS, and take special tokens in the text as plain text");
  command->callback([options] { run_tokenize(*options); });
}

}  // namespace weft::cli
