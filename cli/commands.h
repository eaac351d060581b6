#pragma once

#include <span>

namespace CLI {
class App;
}

/// The verbs of the program. Each function adds its subcommand to `app`. Verbs print to standard
/// output; a failure prints a line on standard error and throws CLI::RuntimeError, whose number
/// becomes the exit status.
namespace weft::cli {

/// `weft config check FILE` and `weft config print`: the configuration, and its reasons.
void add_config_command(CLI::App& app);

/// `weft devices [--measure]`: the devices that a model can run on.
void add_devices_command(CLI::App& app);

/// `weft generate MODEL PROMPT`: a model's text, streamed.
void add_generate_command(CLI::App& app);

/// `weft serve MODEL`: the model behind HTTP and WebSocket. Every key of the configuration is a
/// flag.
void add_serve_command(CLI::App& app);

/// `weft chat URL|MODEL`: questions and answers, with batches behind.
void add_chat_command(CLI::App& app);

/// `weft batch URL|MODEL IN OUT`: a file of requests, its results as they come.
void add_batch_command(CLI::App& app);

/// `weft embed URL|MODEL [TEXT...]`: texts' embeddings, as JSON lines.
void add_embed_command(CLI::App& app);

/// `weft tokenize MODEL TEXT`: a text's tokens.
void add_tokenize_command(CLI::App& app);

/// `weft inspect MODEL`: sizes, memory, program; what is missing or unknown. For an adapter: what
/// it changes, and what is refused.
void add_inspect_command(CLI::App& app);

/// `weft logits MODEL --ids ...`: a model's logits, for people who check a port of a model.
void add_logits_command(CLI::App& app);

/// `weft perplexity MODEL TEXT`: how well a model predicts a text, alone or beside another model.
void add_perplexity_command(CLI::App& app);

/// `weft merge BASE ADAPTER OUT`: the model with an adapter's changes made.
void add_merge_command(CLI::App& app);

/// `weft quantize MODEL OUT --type T`: the model with smaller weights.
void add_quantize_command(CLI::App& app);

/// `weft tune MODEL`: finds the fastest way of computing it on a GPU.
void add_tune_command(CLI::App& app);

/// `weft tune-lora MODEL DATA OUT`: fine-tunes a model into a LoRA adapter.
void add_tune_lora_command(CLI::App& app);

/// `weft bench serve|engine|step|recipe`: measurements, with reports.
void add_bench_command(CLI::App& app);

/// `weft help [VERB...]`: the same text as `weft VERB --help`. The verb is only listed here, and
/// the program calls show_help(): CLI11 would take the verb behind `help` for the program's next
/// one.
void add_help_command(CLI::App& app);
/// Prints the help of a verb, or of a verb's verb: "bench", "serve"; without names the program's.
void show_help(const CLI::App& app, std::span<char* const> verbs);

/// `weft version`: the parts and settings of this build.
void add_version_command(CLI::App& app);

}  // namespace weft::cli
