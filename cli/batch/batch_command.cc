#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "weft/cli/backend_options.h"
#include "weft/cli/batch/batch_journal.h"
#include "weft/cli/batch/batch_output.h"
#include "weft/cli/batch/batch_runner.h"
#include "weft/cli/batch/open_backend.h"
#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/progress_bar.h"
#include "weft/cli/serve/open_files.h"
#include "weft/core/io/file.h"

namespace weft::cli {
namespace {

constexpr const char* kBatchVerb = "batch";
// More connections than servers, or the system, allow one client.
constexpr std::size_t kMaxConcurrency = 4096;

struct BatchOptions {
  BackendOptions backend;
  std::string in;
  std::string out;
  std::size_t concurrency = 32;
};

/// Reads both files; requests whose results are in OUT are not asked again.
void prepare(const BatchOptions& options, std::string_view requests, BatchOutput& output,
             BatchJournal& journal) {
  if (const auto mistakes = journal.read_requests(requests); !mistakes.empty()) {
    for (const std::string& mistake : mistakes) std::cerr << options.in << ": " << mistake << '\n';
    fail(kBatchVerb, "nothing was asked: results could not be told apart");
  }
  const std::string results = value_or_fail(kBatchVerb, output.read());
  const auto whole = journal.read_results(results);
  if (!whole) fail(kBatchVerb, options.out + ": " + whole.error().message);
  value_or_fail(kBatchVerb, output.cut(*whole));
  if (*whole < results.size()) std::cerr << "a result that was cut off is asked again\n";
  if (journal.strangers() > 0) {
    std::cerr << options.out << " has " << journal.strangers() << " results of requests that "
              << options.in << " does not have\n";
  }
  const std::size_t done = journal.total() - journal.left();
  if (done > 0) std::cerr << done << " of " << journal.total() << " are done already\n";
}

std::string summary(const BatchRunner::Tally& tally, std::chrono::duration<double> took) {
  std::ostringstream text;
  const std::size_t all = tally.answered + tally.failed;
  text << all << (all == 1 ? " request: " : " requests: ") << tally.answered << " answered, "
       << tally.failed << " failed, in " << std::fixed << std::setprecision(1) << took.count()
       << " s";
  if (took.count() > 0) text << " (" << static_cast<double>(all) / took.count() << "/s)";
  return text.str();
}

/// Asks until all requests are answered, Ctrl-C is pressed, or the run fails.
void ask_all(const BatchOptions& options, BatchJournal& journal, BatchOutput& output) {
  boost::asio::io_context context{1};
  BatchRunner::Options limits{.concurrency = options.concurrency};
  if (options.backend.remote()) limits.concurrency = connections_at_once(options.concurrency);
  if (limits.concurrency < options.concurrency) {
    std::cerr << limits.concurrency << " requests at once: the system allows no more open files\n";
  }
  const auto backend = open_backend(kBatchVerb, options.backend, context, limits.model);
  std::optional<ProgressBar> bar;
  limits.on_wait = [&bar](const std::string& why) { bar->note("asked again: " + why); };
  BatchRunner runner(context, *backend, journal, output, limits);
  int ended_by = 0;
  boost::asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code error, int signal) {
    if (error) return;
    ended_by = signal;
    context.stop();
  });
  const auto total = static_cast<std::int64_t>(journal.left());
  const auto began = std::chrono::steady_clock::now();
  bar.emplace(kBatchVerb, count_line);
  bar->show(0, total);
  runner.start([&](const BatchRunner::Tally& tally) {
    const auto done = static_cast<std::int64_t>(tally.answered + tally.failed);
    bar->show(done, total);
    if (done == total) signals.cancel();
  });
  context.run();
  bar.reset();
  value_or_fail(kBatchVerb, output.sync());
  std::cerr << summary(runner.tally(), std::chrono::steady_clock::now() - began) << '\n';
  if (runner.failure()) fail(kBatchVerb, *runner.failure());
  if (ended_by == 0) return;
  std::cerr << "stopped; the same command asks the remaining requests\n";
  throw CLI::RuntimeError(status_after(ended_by));
}

void run_batch(const BatchOptions& options) {
  const std::string requests = value_or_fail(kBatchVerb, read_text_file(options.in, kAnySize));
  BatchOutput output = value_or_fail(kBatchVerb, BatchOutput::open(options.out));
  if (output.is(options.in))
    fail(kBatchVerb, options.out + " holds the requests; results go elsewhere");
  BatchJournal journal;
  prepare(options, requests, output, journal);
  if (journal.left() > 0) return ask_all(options, journal, output);
  std::cerr << "nothing is left to ask\n";
}

}  // namespace

void add_batch_command(CLI::App& app) {
  auto* command = app.add_subcommand("batch", "Ask a file of requests; can be stopped and resumed");
  auto options = std::make_shared<BatchOptions>();
  add_backend_options(*command, options->backend);
  command
      ->add_option("IN", options->in,
                   R"(JSON lines: {"custom_id", "method": "POST", "url", "body"})")
      ->required();
  command
      ->add_option("OUT", options->out,
                   "Results are appended; requests with a result are not asked")
      ->required();
  command->add_option("--concurrency", options->concurrency, "Requests at once")
      ->check(CLI::Range(std::size_t{1}, kMaxConcurrency))
      ->capture_default_str();
  command->callback([options] { run_batch(*options); });
}

}  // namespace weft::cli
