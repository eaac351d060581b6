#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <span>
#include <string_view>

#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/usage_error.h"
#include "weft/core/thread.h"

namespace {

constexpr const char* kOutOfMemory = "weft: out of memory\n";

std::terminate_handler default_end = std::abort;

void add_verbs(CLI::App& app) {
  weft::cli::add_serve_command(app);
  weft::cli::add_chat_command(app);
  weft::cli::add_batch_command(app);
  weft::cli::add_config_command(app);
  weft::cli::add_generate_command(app);
  weft::cli::add_embed_command(app);
  weft::cli::add_tokenize_command(app);
  weft::cli::add_inspect_command(app);
  weft::cli::add_logits_command(app);
  weft::cli::add_perplexity_command(app);
  weft::cli::add_merge_command(app);
  weft::cli::add_quantize_command(app);
  weft::cli::add_devices_command(app);
  weft::cli::add_tune_command(app);
  weft::cli::add_tune_lora_command(app);
  weft::cli::add_bench_command(app);
  weft::cli::add_version_command(app);
  weft::cli::add_help_command(app);
}

/// Runs the verb that the arguments name, and returns the exit status.
int run(int argc, char** argv) {
  // Handled first: scripts ask for the version often, and adding the verbs' hundreds of options
  // takes milliseconds.
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::cout << WEFT_VERSION << '\n';
    return 0;
  }
  weft::ask_for_short_slices();  // verbs that run a model do so on this thread
  CLI::App app(
      "weft serves autoregressive language models: one fused step a tick over all requests.",
      "weft");
  app.set_version_flag("--version", WEFT_VERSION);
  add_verbs(app);
  app.failure_message(weft::cli::usage_error);
  const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
  try {
    if (argc > 1 && std::string_view(argv[1]) == "help") {
      weft::cli::show_help(app, words.subspan(2));
      return 0;
    }
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& end) {
    return end.get_exit_code();  // fail() has said why
  } catch (const CLI::ParseError& end) {
    return app.exit(end) == EXIT_SUCCESS ? EXIT_SUCCESS : weft::cli::kExitUsage;
  }
  // app.require_subcommand() would hide which word was not understood.
  if (app.get_subcommands().empty()) {
    std::cerr << app.help();
    return weft::cli::kExitUsage;
  }
  return 0;
}

/// Returns `status`, or the status of a failure where the output did not get to its reader.
int status_once_printed(int status) {
  if (std::cout.flush()) return status;
  std::cerr << "weft: standard output could not be written in full\n";
  return status == 0 ? weft::cli::kExitFailed : status;
}

/// Ends the process when an exception cannot be caught anywhere. Memory can run out in a function
/// that must not throw, as some of CLI11's are. That is no bug, so no core dump is made.
[[noreturn]] void end_of_exception() {
  try {
    if (const auto failure = std::current_exception()) std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    std::cerr << kOutOfMemory;
    std::_Exit(weft::cli::kEngineLost);
  } catch (...) {  // shown by the handler that follows
  }
  default_end();
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  default_end = std::set_terminate(end_of_exception);
  try {
    return status_once_printed(run(argc, argv));
  } catch (const std::bad_alloc&) {
    std::cerr << kOutOfMemory;
    return weft::cli::kExitFailed;
  } catch (const std::exception& failure) {
    // The exception is caught so that destructors undo a verb's changes, such as a terminal's mode.
    std::cerr << "weft: " << failure.what() << '\n';
    return weft::cli::kExitFailed;
  }
}
