#include "weft/cli/bench/load_play.h"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <iomanip>
#include <sstream>
#include <utility>

#include "weft/cli/progress_bar.h"
#include "weft/measure/server/server_load.h"

namespace weft::cli {

using measure::ServerLoad;
using std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{200};

/// The line on the terminal, renewed a few times a second.
class LiveLine {
 public:
  LiveLine(boost::asio::io_context& context, const ServerLoad& load, std::size_t total,
           std::string label)
      : timer_(context),
        load_(load),
        total_(static_cast<std::int64_t>(total)),
        label_(std::move(label)),
        bar_(label_, count_line) {
    look();
  }
  void stop() { timer_.cancel(); }

 private:
  void look() {
    const auto& progress = load_.progress();
    const std::int64_t output = load_.output_so_far();
    const auto now = steady_clock::now();
    const std::chrono::duration<double> passed = now - looked_at_;
    // The rate is smoothed over a second or so, since a person reads it.
    constexpr double kWeight = 0.2;
    const double rate =
        passed.count() > 0 ? static_cast<double>(output - last_output_) / passed.count() : 0;
    rate_ += (last_output_ == 0 ? 1 : kWeight) * (rate - rate_);
    std::ostringstream text;
    text << label_ << ": " << progress.under_way() << " under way, " << std::fixed
         << std::setprecision(0) << rate_ << " tokens/s";
    if (progress.failed > 0) text << ", " << progress.failed << " failed";
    bar_.set_label(text.str());
    bar_.show(static_cast<std::int64_t>(progress.ended), total_);
    last_output_ = output;
    looked_at_ = now;
    timer_.expires_after(kBetweenLooks);
    timer_.async_wait([this](boost::system::error_code error) {
      if (!error) look();
    });
  }

  boost::asio::steady_timer timer_;
  const ServerLoad& load_;
  const std::int64_t total_;
  const std::string label_;
  ProgressBar bar_;
  std::int64_t last_output_ = 0;
  double rate_ = 0;
  steady_clock::time_point looked_at_ = steady_clock::now();
};

}  // namespace

PlayedLoad play_load(boost::asio::io_context& context, measure::LoadClient& client,
                     measure::Load load, const std::string& label) {
  PlayedLoad played;
  const std::size_t total = load.arrivals.size();
  ServerLoad player(context.get_executor(), std::move(load), client);
  boost::asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code error, int signal) {
    if (error) return;
    played.ended_by = signal;
    player.stop();
  });
  LiveLine line(context, player, total, label);
  context.restart();
  player.start([&] {
    line.stop();
    signals.cancel();
    context.stop();  // kept-alive connections would keep it running
  });
  context.run();
  // Notifies cancelled operations before they are destroyed.
  context.restart();
  context.poll();
  played.words = player.words();
  for (const measure::Outcome& outcome : player.outcomes()) {
    if (outcome.error == ServerLoad::kNotSent) {
      ++played.not_sent;
    } else {
      played.outcomes.push_back(outcome);
    }
  }
  return played;
}

}  // namespace weft::cli
