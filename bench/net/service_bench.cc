// The service's bars, with the server and its clients in two processes:
//
//   streams   2000 WebSockets stream from a device that gives each a token 50 times a second:
//             checks the tokens and their order, and measures the cost; then at the rate of a
//             plain send() loop over the same connections, in turn with that loop
//   idle      5000 idle WebSockets: memory of the server for each
//   stalled   inter-token times of 50 streams, without and with 500 clients that connect and stall
//
//   weft_service_bench [streams|idle|stalled|all, default all] [seconds for a figure, default 2]
//                      [I/O threads, default 2] [pairs, default 7]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weft/bench/net/served_engine.h"
#include "weft/bench/net/stalled_clients.h"
#include "weft/bench/net/swarm.h"
#include "weft/bench/peer_process.h"
#include "weft/bench/ratio.h"

namespace weft::bench {
namespace {

constexpr int kStreams = 2000;
constexpr double kTokensPerSecond = 100'000;
constexpr int kIdle = 5000;
constexpr int kHealthy = 50;
constexpr int kStalled = 500;
constexpr int kStalledStep = 3000;  // microseconds

struct Options {
  std::string only = "all";
  double seconds = 2;
  int io_threads = 2;
  int pairs = 7;
};

void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

void wait_until(const std::function<bool()>& done, const char* what) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) {
      throw std::runtime_error(std::string("not in two minutes: ") + what);
    }
    sleep_seconds(0.002);
  }
}

/// Returns the number of the clients' threads: the remaining processors, at least one.
int client_threads(const Options& options) {
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(processors - options.io_threads - 3, 1, 8);
}

/// The server's process; served_engine.h lists its commands.
class ServerProcess {
 public:
  explicit ServerProcess(const Options& options)
      : process_({"/proc/self/exe", "serve", std::to_string(options.io_threads)}) {
    const std::string line = process_.read_line();
    port_ = static_cast<std::uint16_t>(std::strtol(line.c_str(), nullptr, 10));
    if (port_ == 0) throw std::runtime_error("no server: " + line);
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  void set_period(double seconds) {
    process_.write_line("period " + std::to_string(static_cast<long long>(1e6 * seconds)));
    if (process_.read_line() != "ok") throw std::runtime_error("the server has ended");
  }

  struct Usage {
    double user = 0, system = 0;  // seconds
    double tokens = 0;
    double memory = 0;  // KiB
  };
  Usage usage() {
    process_.write_line("usage");
    std::istringstream words(process_.read_line());
    Usage usage;
    words >> usage.user >> usage.system >> usage.tokens >> usage.memory;
    return usage;
  }

  void begin_raw(double seconds, const std::string& message) {
    process_.write_line("raw " + std::to_string(seconds) + " " + message);
  }
  std::int64_t end_raw() { return std::strtoll(process_.read_line().c_str(), nullptr, 10); }

 private:
  PeerProcess process_;
  std::uint16_t port_ = 0;
};

/// The rates of events in a window of time, per second.
struct Rates {
  double frames = 0, tokens = 0, bytes = 0;
  double user_us = 0, system_us = 0;  ///< processor time of the server for a frame
  double user_us_per_token = 0;
};

class Window {
 public:
  Window(ServerProcess& server, const Swarm& swarm)
      : server_(server), swarm_(swarm), usage_(server.usage()), counts_(swarm.counts()) {}

  [[nodiscard]] Rates end() const {
    const Swarm::Counts counts = swarm_.counts();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began_;
    const auto usage = server_.usage();
    const auto frames = static_cast<double>(counts.frames - counts_.frames);
    const double user = usage.user - usage_.user;
    return {.frames = frames / took.count(),
            .tokens = static_cast<double>(counts.tokens - counts_.tokens) / took.count(),
            .bytes = static_cast<double>(counts.bytes - counts_.bytes) / frames,
            .user_us = 1e6 * user / frames,
            .system_us = 1e6 * (usage.system - usage_.system) / frames,
            .user_us_per_token = 1e6 * user / (usage.tokens - usage_.tokens)};
  }

 private:
  ServerProcess& server_;
  const Swarm& swarm_;
  ServerProcess::Usage usage_;
  Swarm::Counts counts_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

void expect_nothing_wrong(const Swarm& swarm) {
  if (swarm.counts().wrong > 0) throw std::runtime_error(swarm.complaint());
}

/// Lets all clients stream at `tokens_per_second` together, and measures once all have begun.
Rates stream(ServerProcess& server, Swarm& swarm, double tokens_per_second, double seconds,
             std::vector<double>* gaps = nullptr) {
  constexpr double kBeginning = 1.5;  // seconds, in which all clients get their first token
  const double period = static_cast<double>(swarm.size()) / tokens_per_second;
  server.set_period(period);
  const Swarm::Counts before = swarm.counts();
  const auto all = static_cast<std::int64_t>(swarm.size());
  swarm.ask(static_cast<int>((seconds + kBeginning) / period));
  wait_until([&] { return swarm.counts().begun - before.begun == all; }, "all begin");
  sleep_seconds(0.1);
  if (gaps != nullptr) swarm.take_gaps(true);
  const Window window(server, swarm);
  sleep_seconds(seconds);
  const bool too_late = swarm.counts().ended > before.ended;
  const Rates rates = window.end();
  if (gaps != nullptr) *gaps = swarm.take_gaps(false);
  server.set_period(0);
  wait_until([&] { return swarm.counts().ended - before.ended == all || swarm.counts().wrong > 0; },
             "all end");
  expect_nothing_wrong(swarm);
  if (too_late) std::printf("(some streams ended within the window)\n");
  return rates;
}

Rates send_raw(ServerProcess& server, Swarm& swarm, const std::string& message, double seconds) {
  constexpr double kBeginning = 0.3;
  swarm.expect_raw(true);
  const std::int64_t before = swarm.counts().frames;
  Rates rates;
  server.begin_raw(seconds + 2 * kBeginning, message);
  sleep_seconds(kBeginning);
  const Swarm::Counts counts = swarm.counts();
  const auto began = std::chrono::steady_clock::now();
  sleep_seconds(seconds);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  rates.frames = static_cast<double>(swarm.counts().frames - counts.frames) / took.count();
  const std::int64_t sent = server.end_raw();
  wait_until([&] { return swarm.counts().frames - before == sent || swarm.counts().wrong > 0; },
             "all that was sent raw has come");
  swarm.expect_raw(false);
  expect_nothing_wrong(swarm);
  return rates;
}

/// Makes a message as long as the streamed ones, with enough digits for its number.
std::string raw_message(const Swarm& swarm) {
  std::string message = swarm.sample();
  constexpr std::string_view kName = "\"sequence_number\":";
  const auto at = message.find(kName) + kName.size();
  message.replace(at, message.find(',', at) - at, "000000");
  return message;
}

void print_spread(const char* what, const std::vector<double>& values, double scale = 1) {
  std::printf("  %-52s %10.3g [%.3g, %.3g]\n", what, scale * median(values),
              scale * *std::ranges::min_element(values), scale * *std::ranges::max_element(values));
}

void run_streams(const Options& options) {
  ServerProcess server(options);
  Swarm swarm(server.port(), kStreams, client_threads(options));
  std::printf("streams: %d WebSockets, %d I/O threads, %d of clients, %u processors\n", kStreams,
              options.io_threads, client_threads(options), std::thread::hardware_concurrency());
  std::vector<double> gaps;
  const Rates paced = stream(server, swarm, kTokensPerSecond, 2 * options.seconds, &gaps);
  std::printf("  %-52s %10.0f\n", "tokens/s at the clients, of 100000 asked for", paced.tokens);
  std::printf("  %-52s %10.0f\n", "frames/s", paced.frames);
  std::printf("  %-52s %10.3f\n", "processor time, user mode, us a token", paced.user_us_per_token);
  std::printf("  %-52s %10.3f\n", "processor time, kernel, us a frame", paced.system_us);
  std::printf("  %-52s %10.1f\n", "inter-token time, median ms", 1e3 * median(gaps));
  std::printf("  %-52s %10.1f\n", "inter-token time, p99 ms", 1e3 * quantile(gaps, 0.99));
  const std::string message = raw_message(swarm);
  std::vector<double> raw, ours, ratios, user, system, merged;
  for (int i = 0; i < options.pairs; ++i) {
    const auto before = server.usage();
    const auto counts = swarm.counts();
    raw.push_back(send_raw(server, swarm, message, options.seconds).frames);
    const auto after = server.usage();
    const auto sent = static_cast<double>(swarm.counts().frames - counts.frames);
    const double raw_us = 1e6 * (after.user + after.system - before.user - before.system) / sent;
    const Rates rates = stream(server, swarm, 1.1 * raw.back(), options.seconds);
    ours.push_back(rates.frames);
    ratios.push_back(rates.frames / raw.back());
    user.push_back(rates.user_us);
    system.push_back(rates.system_us);
    merged.push_back((rates.user_us + rates.system_us) / raw_us);
    std::printf("  pair %d: %.0f frames/s and %.0f tokens/s over %.0f raw, of %.0f bytes\n", i,
                rates.frames, rates.tokens, raw.back(), rates.bytes);
    std::fflush(stdout);
  }
  print_spread("send() alone, frames/s", raw);
  print_spread("streamed when asked for 1.1 of that, frames/s", ours);
  print_spread("streamed over send()                       (>= 0.8)", ratios);
  print_spread("streamed: user mode, us a frame", user);
  print_spread("streamed: kernel, us a frame", system);
  print_spread("processor time a frame, all of the server's over send()'s", merged);
  std::printf("  %-52s %10lld of %lld\n", "events that were lost or out of order",
              static_cast<long long>(swarm.counts().wrong),
              static_cast<long long>(swarm.counts().frames));
}

void run_idle(const Options& options) {
  const unsigned long files = raise_file_limit();
  ServerProcess server(options);
  const auto answer_all = [&](Swarm& swarm) {
    const std::int64_t before = swarm.counts().ended;
    swarm.ask(16);
    wait_until(
        [&] { return swarm.counts().ended - before == static_cast<std::int64_t>(swarm.size()); },
        "short answers");
    expect_nothing_wrong(swarm);
  };
  {
    Swarm first(server.port(), 100, 1);  // causes all one-time allocations
    answer_all(first);
  }
  sleep_seconds(1);
  const int count = std::min<int>(kIdle, static_cast<int>(files) - 100);
  const double none = server.usage().memory;
  Swarm swarm(server.port(), count, 1);
  sleep_seconds(1);
  const double open = server.usage().memory;
  answer_all(swarm);
  sleep_seconds(1);
  const double used = server.usage().memory;
  std::printf("idle: %d WebSockets\n", count);
  std::printf("  %-52s %10.2f\n", "KiB each, opened                            (<= 20)",
              (open - none) / count);
  std::printf("  %-52s %10.2f\n", "KiB each, after an answer of 16 tokens each (<= 20)",
              (used - none) / count);
}

double p99_of_phase(Swarm& swarm, double seconds) {
  sleep_seconds(1);  // by then the stalled clients receive nothing more
  swarm.take_gaps(true);
  sleep_seconds(seconds);
  return quantile(swarm.take_gaps(false), 0.99);
}

void run_stalled(const Options& options) {
  ServerProcess server(options);
  Swarm swarm(server.port(), kHealthy, 1);
  server.set_period(1e-6 * kStalledStep);
  swarm.ask(100'000);
  wait_until([&] { return swarm.counts().begun == kHealthy; }, "all begin");
  std::vector<double> without, with, ratios;
  std::printf("stalled: %d streams of a token each %d us, %d clients that stall\n", kHealthy,
              kStalledStep, kStalled);
  for (int i = 0; i < options.pairs; ++i) {
    without.push_back(p99_of_phase(swarm, options.seconds));
    {
      const StalledClients stalled(server.port(), kStalled);
      with.push_back(p99_of_phase(swarm, options.seconds));
    }
    ratios.push_back(with.back() / without.back());
    std::printf("  pair %d: p99 %.3f ms with, %.3f without\n", i, 1e3 * with.back(),
                1e3 * without.back());
    std::fflush(stdout);
    expect_nothing_wrong(swarm);
  }
  print_spread("p99 of inter-token times without, ms", without, 1e3);
  print_spread("p99 with 500 stalled clients, ms", with, 1e3);
  print_spread("with over without                           (<= 1.1)", ratios);
}

}  // namespace
}  // namespace weft::bench

int main(int count, char** arguments) {
  using namespace weft::bench;
  const auto argument = [&](int i) { return count > i ? std::string(arguments[i]) : ""; };
  if (argument(1) == "serve") return serve_letters(std::atoi(arguments[2]));
  Options options;
  if (count > 1) options.only = argument(1);
  if (count > 2) options.seconds = std::strtod(arguments[2], nullptr);
  if (count > 3) options.io_threads = std::atoi(arguments[3]);
  if (count > 4) options.pairs = std::atoi(arguments[4]);
  raise_file_limit();
  try {
    const bool all = options.only == "all";
    if (all || options.only == "streams") run_streams(options);
    if (all || options.only == "idle") run_idle(options);
    if (all || options.only == "stalled") run_stalled(options);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
