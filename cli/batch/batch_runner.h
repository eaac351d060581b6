#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "weft/cli/batch/batch_backend.h"
#include "weft/cli/batch/batch_journal.h"
#include "weft/cli/batch/batch_lines.h"
#include "weft/cli/batch/batch_output.h"
#include "weft/cli/retry.h"
#include "weft/core/error/error.h"

namespace weft::cli {

/// Asks the requests that a journal has left, a number of them at a time, and writes each result
/// when it comes. A request that is refused for now (429, 503) or fails is asked again as Retry
/// says; the runner stops when the server cannot be reached, wants another key, or its engine has
/// failed for good. Runs on the context's one thread. All borrowed objects must outlive it.
class BatchRunner {
 public:
  struct Options {
    std::size_t concurrency = 32;
    std::string model{};  ///< replaces the model of the requests; empty: they keep theirs
    std::chrono::milliseconds first_pause = Retry::kFirstPause;
    /// Called with the reason why requests are asked again: once for each reason, up to a bound.
    std::function<void(const std::string& why)> on_wait{};
  };
  struct Tally {
    std::size_t answered = 0;
    std::size_t failed = 0;  ///< refused by the server or wrong in the file; the results say why
  };

  BatchRunner(boost::asio::io_context& context, BatchBackend& backend, BatchJournal& journal,
              BatchOutput& output, Options options)
      : context_(context),
        backend_(backend),
        journal_(journal),
        output_(output),
        options_(std::move(options)) {}

  /// Begins. The context has nothing left to run when all requests are done, and is stopped at a
  /// failure. `on_result` is called after each line.
  void start(std::function<void(const Tally&)> on_result);

  [[nodiscard]] const Tally& tally() const noexcept { return tally_; }
  /// Returns why the runner stopped with requests left; nothing when it did not.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  [[nodiscard]] boost::asio::awaitable<void> work();
  /// Returns nothing when the whole run has to stop.
  [[nodiscard]] boost::asio::awaitable<std::optional<HttpAnswer>> ask(std::string path,
                                                                      std::string body);
  [[nodiscard]] boost::asio::awaitable<void> pause(std::chrono::milliseconds least);
  void tell(const std::string& why);
  [[nodiscard]] std::string body_of(BatchLine line) const;
  void write(const std::string& line, bool answered);
  void fail(const Error& error);

  boost::asio::io_context& context_;
  BatchBackend& backend_;
  BatchJournal& journal_;
  BatchOutput& output_;
  const Options options_;
  std::function<void(const Tally&)> on_result_;
  std::minstd_rand random_{std::random_device()()};
  std::set<std::string> told_;
  Tally tally_;
  std::optional<Error> failure_;
};

}  // namespace weft::cli
