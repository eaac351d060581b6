// The rate that the load generator of `weft bench serve` sustains on its one thread. A server
// without an engine sends canned answers, an event for each token and a send() for each event, as
// fast as they are read; in turn with the demo model's server under the same load. The generator
// must sustain five times the rate that it is asked to measure.
//
//   weft_load_generator_bench [pairs, default 5] [tokens of an answer, default 128]

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/bench/net/canned_server.h"
#include "weft/bench/ratio.h"
#include "weft/measure/server/http_load_client.h"
#include "weft/measure/server/server_load.h"
#include "weft/measure/server/websocket_load_client.h"
#include "weft/tests/cli/demo_server.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kAtOnce = 16;
constexpr std::int32_t kPrompt = 16;
constexpr std::size_t kDemoRequests = 64;
constexpr std::size_t kCannedRequests = 1024;

/// Returns the processor time of the calling thread, in user mode and in the kernel.
double thread_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Rates {
  double by_clock = 0;      ///< tokens a second
  double by_processor = 0;  ///< tokens a second of the generator's own processor time
};

/// Plays a closed loop of kAtOnce requests on this thread.
Rates play(const std::string& url, measure::ServerApi api, std::size_t requests,
           std::int32_t output) {
  boost::asio::io_context context{1};
  const auto connector = Connector::create(context, {.url = parse_server_url(url).value()}).value();
  const measure::QuestionOptions questions{.api = api};
  constexpr std::chrono::minutes kLimit{2};
  std::unique_ptr<measure::LoadClient> client;
  if (api == measure::ServerApi::kResponses) {
    // One stream on each connection, because the canned server answers one request after the other.
    client = std::make_unique<measure::WebSocketLoadClient>(connector, questions, kLimit, 1);
  } else {
    client = std::make_unique<measure::HttpLoadClient>(connector, questions, kLimit);
  }
  measure::Load load{.arrivals = {}, .at_once = kAtOnce};
  for (std::size_t i = 0; i < requests; ++i) load.arrivals.push_back({0, kPrompt, output});
  measure::ServerLoad player(context.get_executor(), std::move(load), *client);
  const double before = thread_seconds();
  const auto began = std::chrono::steady_clock::now();
  player.start([&context] { context.stop(); });
  context.run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const double used = thread_seconds() - before;
  if (player.progress().failed > 0) {
    const auto& [kind, words] = *player.words().begin();
    throw std::runtime_error(kind + ": " + words);
  }
  const auto tokens = static_cast<double>(player.progress().output);
  client->stop();
  return {.by_clock = tokens / took.count(), .by_processor = tokens / used};
}

void print_spread(const char* what, const std::vector<double>& values) {
  std::printf("  %-58s %10.4g [%.4g, %.4g]\n", what, median(values),
              *std::ranges::min_element(values), *std::ranges::max_element(values));
}

void compare_api(const char* name, measure::ServerApi api, int pairs, std::int32_t output,
                 const CannedServer& canned, const test::DemoServer& demo) {
  std::vector<double> taken;
  std::vector<double> by_processor;
  std::vector<double> asked;
  std::vector<double> ratios;
  play(demo.url(), api, kAtOnce, output);
  for (int i = 0; i < pairs; ++i) {
    const Rates generator = play(canned.url(), api, kCannedRequests, output);
    const Rates server = play(demo.url(), api, kDemoRequests, output);
    taken.push_back(generator.by_clock);
    by_processor.push_back(generator.by_processor);
    asked.push_back(server.by_clock);
    ratios.push_back(generator.by_clock / server.by_clock);
  }
  std::printf("%s: %d requests at once, %d tokens each, %u processors, %d pairs\n", name, kAtOnce,
              output, std::thread::hardware_concurrency(), pairs);
  print_spread("canned answers, tokens/s", taken);
  print_spread("the same by the generator's processor time, tokens/s", by_processor);
  print_spread("the demo model's server, tokens/s", asked);
  print_spread("what can be taken over what is measured         (>= 5)", ratios);
}

}  // namespace
}  // namespace weft::bench

int main(int count, char** arguments) {
  using namespace weft::bench;
  const int pairs = count > 1 ? std::atoi(arguments[1]) : 5;
  const int output = count > 2 ? std::atoi(arguments[2]) : 128;
  if (pairs < 1 || output < 1) {
    std::fprintf(stderr, "usage: weft_load_generator_bench [pairs] [tokens of an answer]\n");
    return 2;
  }
  try {
    const CannedServer canned;
    const weft::test::DemoServer demo({}, kAtOnce, 0);
    compare_api("SSE", weft::measure::ServerApi::kCompletions, pairs, output, canned, demo);
    compare_api("WebSocket", weft::measure::ServerApi::kResponses, pairs, output, canned, demo);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
