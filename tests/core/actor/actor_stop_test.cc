// A chain of actors that fail at random is stopped at a random moment in one of several ways,
// 10,000 times over with real threads. Every message that a sender was told is taken must be
// answered exactly once.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/actor/actor_system.h"
#include "weft/core/error/internal_error.h"
#include "weft/core/thread.h"

namespace weft {
namespace {

// The others have all moments: ThreadSanitizer's build, and the optimised one.
#ifdef WEFT_ADDRESS_SANITIZED
constexpr std::uint64_t kSeeds = 2'000;
#else
constexpr std::uint64_t kSeeds = 10'000;
#endif
constexpr std::size_t kJobs = 60;  // jobs of each of two senders
constexpr std::chrono::seconds kHang{60};

/// How often each job was answered.
using Ledger = std::vector<std::atomic<int>>;

struct JobMsg {
  JobMsg(std::shared_ptr<Ledger> ledger, std::size_t number)
      : ledger_(std::move(ledger)), number_(number) {}
  JobMsg(JobMsg&&) noexcept = default;
  JobMsg& operator=(JobMsg&&) noexcept = default;

  void answer() {
    if (const auto ledger = std::exchange(ledger_, nullptr)) (*ledger)[number_].fetch_add(1);
  }
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::shared_ptr<Ledger> ledger_;  // none: answered, or moved on
  std::size_t number_;
};

using Jobs = Protocol<JobMsg>;

/// Passes jobs on, or answers them if it is the last; keeps some for a while, as an actor with
/// requests does; and fails now and then, before or after it has dealt with the job.
class Link {
 public:
  using Accepts = Jobs;

  Link(ActorContext& context, std::optional<ActorRef<Jobs>> next, std::uint64_t seed)
      : random_(seed ^ context.id().value()) {
    if (next) next_.emplace(next->sender(context.id()));
  }

  void on(JobMsg&& job) {
    if (random_() % 64 == 0) fail();
    if (random_() % 8 == 0) {
      kept_.push_back(std::move(job));
    } else {
      pass_on(std::move(job));
    }
    if (random_() % 64 == 0) fail();
    if (kept_.size() > 4) {
      pass_on(std::move(kept_.back()));
      kept_.pop_back();
    }
  }
  void undelivered(JobMsg&& job, const Error& /*why*/) { job.answer(); }
  void exiting(const Error& /*why*/) {
    for (JobMsg& job : kept_) job.answer();
  }

 private:
  void pass_on(JobMsg&& job) {
    if (!next_ || !taken(next_->try_send(std::move(job)))) job.answer();
  }

  void fail() {
    switch (random_() % 16) {
      case 0:
        throw InternalError("broken");
      case 1:
        throw ActorFailure(ExitKind::kDeviceLost, "gone");
      case 2:
        throw std::bad_alloc();
      default:
        throw std::runtime_error("oops");
    }
  }

  std::mt19937_64 random_;
  std::optional<Sender<Jobs>> next_;
  std::vector<JobMsg> kept_;
};

/// Ends the process and prints the seed when a run hangs: there is no other way out of a deadlock.
class Watchdog {
 public:
  Watchdog() : thread_([this](const std::stop_token& stop) { watch(stop); }) {}
  void begin(std::uint64_t seed) {
    seed_.store(seed);
    runs_.fetch_add(1);
  }

 private:
  void watch(const std::stop_token& stop) {
    auto last_change = std::chrono::steady_clock::now();
    for (std::uint64_t last = 0; !stop.stop_requested();) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const std::uint64_t runs = runs_.load();
      const auto now = std::chrono::steady_clock::now();
      if (runs != last) last_change = now;
      last = runs;
      if (now - last_change > kHang) {
        std::fprintf(stderr, "actor_stop_test hangs with seed %llu\n",
                     static_cast<unsigned long long>(seed_.load()));
        std::abort();
      }
    }
  }

  std::atomic<std::uint64_t> seed_{0};
  std::atomic<std::uint64_t> runs_{0};
  std::jthread thread_;
};

class Trial {
 public:
  explicit Trial(std::uint64_t seed)
      : random_(seed), ledger_(std::make_shared<Ledger>(2 * kJobs)), taken_(2 * kJobs) {}

  void play() {
    boost::asio::io_context context;
    auto work = boost::asio::make_work_guard(context);
    std::vector<std::jthread> runners;
    for (std::uint64_t i = 0; i <= random_() % 2; ++i) {
      runners.emplace_back([&context] { context.run(); });
    }
    auto system = std::make_unique<ActorSystem>(context.get_executor());
    const auto first = build(*system);
    std::vector<std::jthread> senders;
    for (std::size_t sender = 0; sender < 2; ++sender) {
      senders.emplace_back([this, first, sender] { send(first, sender); });
    }
    stop(context, system, senders);
    work.reset();
  }

  /// Names the first job that was taken and not answered exactly once, or answered and not taken.
  [[nodiscard]] std::optional<std::string> complaint() const {
    for (std::size_t job = 0; job < 2 * kJobs; ++job) {
      const int expected = taken_[job] != 0 ? 1 : 0;
      const int answers = (*ledger_)[job].load();
      if (answers != expected) {
        return "job " + std::to_string(job) + " was answered " + std::to_string(answers) +
               " times, not " + std::to_string(expected);
      }
    }
    return std::nullopt;
  }
  /// One reference is ours; another one would be a message that still exists somewhere.
  [[nodiscard]] bool leaks() const { return ledger_.use_count() != 1; }

 private:
  ActorRef<Jobs> build(ActorSystem& system) {
    std::optional<ActorRef<Jobs>> next;
    for (int link = 0; link < 3; ++link) {
      ActorOptions options{.name = "link" + std::to_string(link),
                           .role = kActorRoles[random_() % kActorRoles.size()],
                           .capacity = 1 + random_() % 32,
                           .messages_per_activation = 1 + random_() % 8};
      if (random_() % 3 == 0) {
        options.thread = DedicatedThread{.spin = std::chrono::microseconds(random_() % 20)};
      }
      next = system.spawn<Link>(std::move(options), next, std::uint64_t{random_()});
    }
    return *next;
  }

  void send(const ActorRef<Jobs>& first, std::size_t sender) {
    auto out = first.sender(ActorId(1000 + sender));
    for (std::size_t i = 0; i < kJobs; ++i) {
      const std::size_t number = sender * kJobs + i;
      JobMsg job(ledger_, number);
      taken_[number] = taken(out.try_send(std::move(job))) ? 1 : 0;
      if (number % 16 == 0) std::this_thread::yield();
    }
  }

  void stop(boost::asio::io_context& context, std::unique_ptr<ActorSystem>& system,
            std::vector<std::jthread>& senders) {
    for (std::uint64_t wait = random_() % 3000; wait > 0; --wait) pause_thread();
    switch (random_() % 4) {
      case 0:
        system->async_stop(boost::asio::use_future).get();
        break;
      case 1:
        break;  // destroyed as it runs
      case 2:
        system->request_stop();
        break;
      case 3:
        context.stop();
        break;  // destroyed, and nobody runs its executor
    }
    system.reset();
    senders.clear();
  }

  std::mt19937_64 random_;
  std::shared_ptr<Ledger> ledger_;
  std::vector<int> taken_;  // each written by one sender
};

TEST(ActorStop, AnswersEveryMessageOnceWhenAFailingSystemStopsAtAnyMoment) {
  Watchdog watchdog;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    watchdog.begin(seed);
    Trial trial(seed);
    trial.play();
    const auto complaint = trial.complaint();
    ASSERT_FALSE(complaint) << "seed " << seed << ": " << *complaint;
    ASSERT_FALSE(trial.leaks()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft
