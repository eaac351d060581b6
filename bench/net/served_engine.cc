#include "weft/bench/net/served_engine.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/actors/pipeline.h"
#include "weft/bench/net/letters.h"
#include "weft/bench/net/raw_sender.h"
#include "weft/net/server/server.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kContext = 1 << 17;

DeviceLimits limits() {
  DeviceLimits limits;
  limits.rows = kServedRows;
  limits.page_tokens = 4096;
  limits.context = kContext;
  limits.pages = kServedRows * limits.pages_per_row();
  limits.step_tokens = 4 * kServedRows;
  limits.vocabulary = test::kTinyVocabulary;
  return limits;
}

Config config() {
  Config config;
  config.max_queued_requests = 4 * kServedRows;
  config.preprocess_workers = 1;
  return config;
}

ServerConfig server_config(int io_threads) {
  ServerConfig config;
  config.port = 0;
  config.io_threads = io_threads;
  // No pings, because they would come between the frames of raw_sender.
  config.ping_interval = std::chrono::hours(1);
  return config;
}

/// Returns RssAnon of /proc/self/status, in KiB.
long anonymous_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stol(line.substr(8));
  }
  return 0;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void print_usage(const LetterDevice& device) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%.6f %.6f %lld %ld\n", seconds(usage.ru_utime), seconds(usage.ru_stime),
              static_cast<long long>(device.tokens()), anonymous_memory());
}

void obey(std::uint16_t port, int io_threads, LetterDevice& device) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "period") {
      std::int64_t microseconds = 0;
      words >> microseconds;
      device.set_period(std::chrono::microseconds(microseconds));
      std::printf("ok\n");
    } else if (verb == "usage") {
      print_usage(device);
    } else if (verb == "raw") {
      double length = 0;
      std::string message;
      words >> length >> std::ws;
      std::getline(words, message);
      std::printf("%lld\n", static_cast<long long>(send_raw(port, io_threads, length, message)));
    }
    std::fflush(stdout);
  }
}

}  // namespace

unsigned long raise_file_limit() {
  constexpr rlim_t kEnough = 6000;  // root may raise the upper limit, too
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit more{std::max(limit.rlim_max, kEnough), std::max(limit.rlim_max, kEnough)};
  if (setrlimit(RLIMIT_NOFILE, &more) == 0) return more.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

int serve_letters(int io_threads) {
  raise_file_limit();
  auto logger =
      std::make_shared<spdlog::logger>("bench", std::make_shared<spdlog::sinks::null_sink_mt>());
  auto server = Server::create(
      server_config(io_threads),
      std::make_shared<RequestLog>(std::move(logger), RequestLog::Format::kText, false));
  if (!server) {
    std::printf("%s\n", to_string(server.error()).c_str());
    return 1;
  }
  boost::asio::io_context io;
  const auto work = boost::asio::make_work_guard(io);
  std::jthread runner([&io] { io.run(); });
  const auto device = std::make_shared<LetterDevice>(limits());
  auto pipeline = std::make_unique<Pipeline>(
      io.get_executor(), config(), test::tiny_model(kContext), std::vector<DeviceRanks>{{device}});
  ModelCard card{.name = "letters", .created = 1, .model = pipeline->model()};
  Engine engine(io.get_executor(), std::move(pipeline));
  (*server)->open(engine, std::move(card));
  std::printf("%d\n", (*server)->port());
  std::fflush(stdout);
  obey((*server)->port(), io_threads, *device);
  (*server)->drain();
  (*server)->close(std::chrono::milliseconds(0));
  io.stop();
  return 0;
}

}  // namespace weft::bench
