// Every way in which a client leaves, in every phase of its request, over every transport: each
// cell of the matrix ends its request once, frees all that the request held, and computes nothing
// more for it. What is to be free at once is asked for while the device stands still, so that no
// step can do it. Real sockets and threads; only the time of deadlines is virtual.

#include "weft/tests/net/server/cancellation_matrix.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "weft/actors/failure.h"
#include "weft/core/time/virtual_clock.h"
#include "weft/tests/actors/checking_observer.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/net/server/own_sockets.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

// The seed by which the device knows the request that the cell is about.
constexpr std::uint64_t kVictimsSeed = 777;

constexpr const char* kKeys = R"(
  [[key]]
  name = "victim"
  key = "v"
  max_concurrent = 1
  [[key]]
  name = "other"
  key = "o"
)";
constexpr const char* kVictimsKey = "X-Api-Key: v\r\n";
constexpr const char* kOthersKey = "X-Api-Key: o\r\n";

/// Records the victim's work at the device, including the step that waits before it.
class DeviceWatch {
 public:
  struct Seen {
    int steps = 0;
    int tokens_made = 0;
  };
  void on_step(const Plan& plan) {
    const std::scoped_lock lock(mutex_);
    for (const PlanMove& move : plan.moves) std::swap(is_victims(move.from), is_victims(move.to));
    for (const PlanStart& start : plan.starts) is_victims(start.row) = start.seed == kVictimsSeed;
    const auto count = [this](const auto& list) {
      return static_cast<int>(
          std::ranges::count_if(list, [this](const auto& one) { return is_victims(one.row); }));
    };
    if (count(plan.entries) > 0) ++seen_.steps;
    seen_.tokens_made += count(plan.samples);
  }
  [[nodiscard]] Seen seen() const {
    const std::scoped_lock lock(mutex_);
    return seen_;
  }

 private:
  char& is_victims(std::int32_t row) { return rows_.at(static_cast<std::size_t>(row)); }

  mutable std::mutex mutex_;
  std::array<char, 4> rows_{};
  Seen seen_;
};

/// An application's actor before the tokenizer, with a gate.
class Desk {
 public:
  using Accepts = PreprocessProtocol;
  Desk(ActorContext& /*context*/, const PreprocessPool& next, StepGate* gate)
      : next_(next), gate_(gate) {}
  void on(PrepareMsg&& message) {
    gate_->pass();
    if (taken(next_.try_send(std::move(message)))) return;
    undelivered(std::move(message), {CoreErrc::kActorFailed, {}});
  }
  void undelivered(PrepareMsg&& message, const Error& why) {
    std::move(message.ticket).fail(request_failure(why));
  }

 private:
  const PreprocessPool next_;
  StepGate* const gate_;
};

/// Sets SO_SNDBUF or SO_RCVBUF; the system takes the smallest or largest there is.
void set_size(int socket, int buffer, int bytes) {
  ::setsockopt(socket, SOL_SOCKET, buffer, &bytes, sizeof bytes);
}

/// The resources that requests hold in the server.
struct Held {
  std::size_t requests = 0, running = 0, waiting = 0;
  std::int32_t pages = 0;

  friend bool operator==(const Held&, const Held&) = default;
};

class CancellationMatrix : public ServedPipeline, public testing::WithParamInterface<CellNumbers> {
 public:
  void SetUp() override;
  void TearDown() override;
  static void TearDownTestSuite();

  void ask();
  void reach_phase();
  void leave();
  void expect_engine_is_free();
  void expect_connection_is_free();
  void widen();
  void expect_answer(const std::string& end);
  void expect_well_ended();
  void expect_nothing_more_was_computed() const;
  void expect_one_line_in_the_log() const;
  void expect_key_and_row_serve_others();

  void step_until(const std::function<bool(DeviceWatch::Seen)>& there);
  void outrun_client();
  void begin_to_stop();
  void finish_stopping();
  void let_actors_go() {
    desk.open();
    door.open();
  }
  void note_time() const;
  [[nodiscard]] Held held() const;
  [[nodiscard]] bool answers_are_free() const;

  const Cell cell = cell_of(GetParam());
  const TempFolder folder;
  const std::shared_ptr<VirtualClock> clock = std::make_shared<VirtualClock>();
  DeviceWatch watch;
  StepGate desk;  // before the tokenizer
  StepGate door;  // before the scheduler's next message, once
  std::atomic<bool> door_is_armed{false};
  Question question{.prompt = "cdefg", .max_tokens = 6, .seed = kVictimsSeed};

  std::optional<PlainClient> blocker;  // occupies the row while the victim is queued
  std::optional<PlainClient> late;     // asks while the server goes down
  std::optional<LeavingClient> victim;
  std::string victims_address;
  OwnSocket victims_socket;
  Held before;
  std::size_t connections_before = 0;
  std::atomic<bool> drained{false};

  Clock::time_point left;  // the moment when the server could know
  int steps_when_left = 0;

  /// Milliseconds from `left` until something was free, and in which cell.
  static inline std::vector<std::pair<double, std::string>> times;
};

void CancellationMatrix::SetUp() {
  limits.rows = 1;
  limits.step_tokens = 16;
  server_config.io_threads = 1;
  server_config.api_key_file = folder.write("keys.toml", kKeys).string();
  if (cell.outruns_client()) server_config.max_unread_bytes = 64;
  // The clock finds the client out; it runs before the client leaves and must not end then.
  // Elsewhere the defaults are longer than any cell.
  const bool by_clock = cell.must_be_found_out() && !cell.outruns_client();
  const bool by_pings =
      cell.leaving == Leaving::kHalfOpen && cell.transport == Transport::kWebSocket;
  if (by_pings) {
    server_config.ping_interval = 1s;
  } else if (by_clock) {
    server_config.write_timeout = 1s;
  }
  on_step = [this](const Plan& plan) { watch.on_step(plan); };
  pipeline_options.system.clock = clock;
  pipeline_options.observer = std::make_shared<CheckingObserver>([this] {
    if (door_is_armed.exchange(false)) door.pass();
  });
  pipeline_options.before_preprocess = [this](ActorSystem& system, const PreprocessPool& next) {
    const ActorOptions how{.name = "desk", .thread = DedicatedThread{.spin = {}, .cpu = {}}};
    return system.spawn<Desk>(how, next, &desk);
  };
  clock->advance(1s);
  start();
}

void CancellationMatrix::TearDown() {
  let_actors_go();
  stop();
}

Held CancellationMatrix::held() const {
  const EngineStats stats = engine->stats();
  return {stats.requests, stats.running, stats.waiting, stats.pages - stats.pages_free};
}

void CancellationMatrix::ask() {
  gate.close();
  if (cell.phase == Phase::kQueued) {
    blocker.emplace(server->port());
    blocker->post("/v1/completions", R"({"prompt":[5],"max_tokens":9,"ignore_eos":true})",
                  kOthersKey);
    gate.wait_for_step();
    before = {.requests = 1, .running = 1, .waiting = 0, .pages = 1};
    ASSERT_TRUE(eventually([&] { return held() == before; }));
  }
  if (cell.leaving == Leaving::kSigterm) {
    late.emplace(server->port());
    late->say("GET /v1/models HTTP/1.1\r\nHost: x\r\n" + std::string(kVictimsKey));
  }
  const std::size_t others = (blocker ? 1U : 0U) + (late ? 1U : 0U);
  ASSERT_TRUE(eventually([&] { return server->connections() == others; }));
  connections_before = others;

  const char* const deadline =
      cell.leaving == Leaving::kDeadline ? "X-Request-Timeout-Ms: 60000\r\n" : "";
  victim.emplace(server->port(), cell.transport, std::string(kVictimsKey) + deadline);
  victims_address = "127.0.0.1:" + std::to_string(victim->local_port()) + " ";
  ASSERT_TRUE(eventually([&] { return server->connections() == others + 1; }));
  victims_socket = own_socket_to(victim->local_port());
  ASSERT_GE(victims_socket.descriptor, 0);
  set_size(victims_socket.descriptor, SO_SNDBUF, 1);
  victim->upgrade();

  if (cell.phase == Phase::kTokenizing) desk.close();
  if (cell.phase == Phase::kEnqueueing) {
    door.close();
    door_is_armed = true;
  }
  if (cell.phase == Phase::kPrefill) question.prompt = std::string(100, 'c');
  if (cell.phase == Phase::kSending || cell.outruns_client()) {
    question.top_logprobs = 20;
    question.max_tokens = cell.outruns_client() ? 3000 : 150;
  }
  victim->ask(question);
  // The engine may have it before the server has noted it down.
  const std::size_t answers = blocker ? 2 : 1;
  ASSERT_TRUE(eventually([&] { return server->service().running().count() == answers; }));
}

void CancellationMatrix::step_until(const std::function<bool(DeviceWatch::Seen)>& there) {
  gate.wait_for_step();
  while (!there(watch.seen())) {
    const auto arrivals = gate.arrivals();
    gate.let(1);
    ASSERT_TRUE(eventually([&] { return gate.arrivals() > arrivals; }));
  }
}

void CancellationMatrix::reach_phase() {
  using Seen = DeviceWatch::Seen;
  switch (cell.phase) {
    case Phase::kQueued:
      ASSERT_TRUE(eventually([&] { return engine->stats().waiting == 1; }));
      return;
    case Phase::kTokenizing:
      return desk.wait_for_step();
    case Phase::kEnqueueing:
      return door.wait_for_step();
    case Phase::kPrefill:
      step_until([](Seen seen) { return seen.steps == 2; });
      ASSERT_EQ(watch.seen().tokens_made, 0);
      return;
    case Phase::kDecode:
      return step_until([](Seen seen) { return seen.tokens_made == 4; });
    case Phase::kLastToken:
      return step_until([&](Seen seen) { return seen.tokens_made == question.max_tokens; });
    case Phase::kSending:
      gate.open();
      ASSERT_TRUE(eventually([&] { return engine->stats().finished == 1; }));
      ASSERT_TRUE(eventually([&] { return victims_socket.unsent() > 0; }));
      gate.close();
  }
}

void CancellationMatrix::leave() {
  steps_when_left = watch.seen().steps;
  if (cell.leaving == Leaving::kKilled) victim->move_to_child();
  if (cell.leaving == Leaving::kSigterm) begin_to_stop();
  left = Clock::now();
  switch (cell.leaving) {
    case Leaving::kRst:
      return victim->reset();
    case Leaving::kWebSocketClose:
      if (cell.transport == Transport::kWebSocket) return victim->say_close_frame();
      victim->say("POST /v1/completions HTTP/1.1\r\nHo");
      [[fallthrough]];
    case Leaving::kFin:
      return victim->shut_down_sending();
    case Leaving::kHalfOpen:
      return victim->vanish();
    case Leaving::kSlow:
      return cell.outruns_client() ? outrun_client() : void();
    case Leaving::kDeadline:
      clock->advance(61s);
      return;
    case Leaving::kSigterm:
      // Its drain_timeout is over.
      return engine->async_shutdown([](boost::system::error_code) {});
    case Leaving::kKilled:
      return victim->kill_child();
  }
}

/// Produces one token after the other until the server has enough of it.
void CancellationMatrix::outrun_client() {
  const auto noticed = [this] { return was_logged("client_too_slow"); };
  while (!noticed()) {
    const auto arrivals = gate.arrivals();
    gate.let(1);
    ASSERT_TRUE(eventually([&] { return gate.arrivals() > arrivals || noticed(); }));
  }
  left = Clock::now();
  // One more may have been on its way when it was noticed.
  steps_when_left = watch.seen().steps + 1;
}

/// Begins what `weft serve` does on SIGTERM.
void CancellationMatrix::begin_to_stop() {
  server->drain();
  engine->async_drain([this](boost::system::error_code) { drained = true; });
  late->say("\r\n");
  EXPECT_THAT(late->read_answer(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("shutting_down")));
  late.reset();
  ASSERT_TRUE(eventually([&] { return server->connections() == connections_before; }));
  --connections_before;
  if (cell.phase != Phase::kSending) {
    EXPECT_EQ(server->service().running().count(), connections_before + 1) << "it goes on";
  }
}

void CancellationMatrix::finish_stopping() {
  gate.open();
  ASSERT_TRUE(eventually([&] { return drained.load(); }));
  server->close(5s);
  EXPECT_EQ(server->connections(), 0U);
}

void CancellationMatrix::note_time() const {
  const double took = std::chrono::duration<double, std::milli>(Clock::now() - left).count();
  times.emplace_back(took, name_of(GetParam()));
  // Wall time says little on a busy machine, so it is judged only where somebody asks for that.
  if (const char* const most = std::getenv("WEFT_MATRIX_MS")) {
    EXPECT_LE(took, std::strtod(most, nullptr));
  }
}

void CancellationMatrix::expect_engine_is_free() {
  if (cell.leaving == Leaving::kSigterm) before = {};  // others end as well
  if (cell.in_an_actors_hands()) {
    left = Clock::now();
    let_actors_go();
  }
  EXPECT_TRUE(eventually([&] { return held() == before; }));
  note_time();
}

void CancellationMatrix::expect_connection_is_free() {
  EXPECT_TRUE(eventually([&] { return server->connections() == connections_before; }));
  EXPECT_FALSE(is_open(victims_socket));
  EXPECT_TRUE(answers_are_free());
}

bool CancellationMatrix::answers_are_free() const {
  return server->service().running().count() == (blocker ? 1U : 0U);
}

/// The client reads now; through the small buffers it would take seconds.
void CancellationMatrix::widen() {
  constexpr int kWide = 1 << 20;
  set_size(victim->descriptor(), SO_RCVBUF, kWide);
  set_size(victims_socket.descriptor, SO_SNDBUF, kWide);
}

void CancellationMatrix::expect_answer(const std::string& end) {
  widen();
  EXPECT_THAT(victim->read_until(end), EndsWith(end));
}

void CancellationMatrix::expect_well_ended() {
  let_actors_go();
  if (blocker) {
    blocker->close();
    --connections_before;
  }
  blocker.reset();
  gate.open();
  expect_answer(victim->end_of(question));
  EXPECT_EQ(watch.seen().tokens_made, question.max_tokens);
  before = {};
}

void CancellationMatrix::expect_nothing_more_was_computed() const {
  EXPECT_LE(watch.seen().steps, steps_when_left);
}

void CancellationMatrix::expect_one_line_in_the_log() const {
  EXPECT_TRUE(eventually([&] { return !logged(victims_address).empty(); }));
  const auto lines = logged(victims_address);
  ASSERT_EQ(lines.size(), 1U);
  // Over a WebSocket an answer has ended well once all of it was given to the connection.
  if (cell.phase == Phase::kSending) return;
  static constexpr std::array kErrors{"error=client_gone", "error=client_too_slow",
                                      "error=deadline_exceeded", "error=stopping", " 200 "};
  EXPECT_THAT(lines.front(), HasSubstr(kErrors.at(static_cast<std::size_t>(cell.expected()))));
}

/// The key may run one request at a time, and there is one row.
void CancellationMatrix::expect_key_and_row_serve_others() {
  gate.open();
  blocker.reset();
  PlainClient probe(server->port());
  probe.post("/v1/completions", R"({"prompt":[5],"max_tokens":2,"ignore_eos":true})", kVictimsKey);
  EXPECT_THAT(probe.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(eventually([&] { return all_is_free(); }));
  const std::uint64_t asked = cell.phase == Phase::kQueued ? 3 : 2;
  EXPECT_EQ(engine->stats().finished, asked);
}

TEST_P(CancellationMatrix, AllIsFreeAndNothingMoreIsComputed) {
  ASSERT_NO_FATAL_FAILURE(ask());
  ASSERT_NO_FATAL_FAILURE(reach_phase());
  ASSERT_NO_FATAL_FAILURE(leave());
  const Ends how = cell.expected();
  if (how == Ends::kGone || how == Ends::kCutOff) {
    const bool says_goodbye =
        cell.leaving == Leaving::kWebSocketClose && cell.transport == Transport::kWebSocket;
    if (says_goodbye) {
      EXPECT_TRUE(eventually([&] { return answers_are_free(); }));
      note_time();
    } else {
      EXPECT_TRUE(eventually([&] { return server->connections() == connections_before; }));
      if (cell.must_be_found_out()) {
        if (!cell.outruns_client()) left = Clock::now();
      } else {
        note_time();
      }
      expect_connection_is_free();
    }
    expect_engine_is_free();
    if (says_goodbye) {
      widen();
      victim->read_to_end();
      victim->close();
      expect_connection_is_free();
    }
  } else {
    if (how == Ends::kWell) {
      expect_well_ended();
    } else {
      expect_engine_is_free();
      expect_answer(how == Ends::kDeadline ? R"("deadline_exceeded")" : R"("stopping")");
    }
    if (cell.leaving == Leaving::kSigterm) blocker.reset();
    victim->close();
    if (cell.leaving == Leaving::kSigterm) connections_before = 0;
    expect_connection_is_free();
  }
  if (cell.leaving == Leaving::kSigterm) {
    finish_stopping();
  } else {
    expect_key_and_row_serve_others();
  }
  if (how != Ends::kWell) expect_nothing_more_was_computed();
  expect_one_line_in_the_log();
}

void CancellationMatrix::TearDownTestSuite() {
  if (times.empty()) return;
  std::ranges::sort(times);
  const auto at = [](double part) {
    return times.at(static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))).first;
  };
  std::printf("[ cells    ] %zu freed: median %.2f ms, p99 %.2f ms, worst %.2f ms (%s)\n",
              times.size(), at(0.5), at(0.99), times.back().first, times.back().second.c_str());
}

INSTANTIATE_TEST_SUITE_P(, CancellationMatrix,
                         testing::Combine(testing::Range(0, int{kPhases.size()}),
                                          testing::Range(0, int{kLeavings.size()}),
                                          testing::Range(0, int{kTransports.size()})),
                         [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace weft::test
