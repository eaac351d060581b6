#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weft/schedule/scheduler.h"
#include "weft/tests/fixture/fake_device.h"

namespace weft::test {

/// The request of a test's group.
struct Ask {
  std::int32_t prompt = 4;         ///< tokens
  std::int32_t encoder_input = 0;  ///< tokens of it
  std::int32_t max_tokens = 8;
  std::int32_t sequences = 1;
  std::int32_t beams = 1;
  RequestClass cls = RequestClass::kChat;
  std::int32_t priority = 0;
  std::uint64_t client = 0;
  std::uint64_t seed = 1;
  std::vector<TokenId> end_tokens{};
  std::size_t text = 0;  ///< groups of one text have the same prompt; 0: one of its own
  /// The group, by its number, whose prompt and first output come before the prompt; 0: none.
  std::size_t continues = 0;
  std::string domain{};  ///< whose pages it may share; "": everybody's
  bool long_context = false;
  bool has_reader = false;  ///< its activations are read
  /// Some of its tokens force other tokens behind them (forced_behind).
  bool has_forced = false;
  bool logprobs = false;
  bool has_penalty = false;
  std::uint64_t adapter = 0;         ///< its content; 0: none
  std::int32_t most_guesses = 1000;  ///< of its sequences, each in a step
};

/// Returns the tokens forced behind a chosen token, in a group with Ask::has_forced: up to seven
/// behind every third token.
[[nodiscard]] std::vector<TokenId> forced_behind(TokenId token);

/// The outcome of a group.
struct GroupOutcome {
  Ask ask;
  std::size_t number = 0;  ///< its number among submitted groups
  Group* group = nullptr;  ///< until it has ended
  std::vector<TokenId> encoder_input;
  std::vector<TokenId> prompt;
  std::vector<std::vector<TokenId>> outputs;  ///< of each sequence
  std::vector<std::vector<TokenId>> forced;   ///< each sequence's next forced tokens, reversed
  std::optional<GroupEnd> end;
  Error error;
  int begun = 0;             ///< how often it got its rows
  std::int32_t cached = -1;  ///< tokens that it found when it got them first
  std::size_t ended_as = 0;  ///< how many had ended before
};

inline constexpr std::int32_t kVocabulary = 1000;

/// Room for everything unless a test takes some away.
inline SchedulerOptions roomy() {
  SchedulerOptions options;
  options.limits.rows = 8;
  options.limits.page_tokens = 4;
  options.limits.context = 256;
  options.limits.pages = 512;
  options.limits.step_tokens = 64;
  options.limits.vocabulary = kVocabulary;
  options.watermark = 0;
  return options;
}

/// The scheduler and a device whose tokens tell where a row, page, position or move is wrong: each
/// token is compared with what the model gives a group that runs alone, each plan is checked, and
/// so is that nothing is left at the end. Of a device with stages, what its last tokens may be is
/// checked too.
class SchedulerFixture : public testing::Test, protected SchedulerListener {
 protected:
  /// `took` is how long a step takes, `swap` a page's copy to or from host memory.
  void start(const SchedulerOptions& options, std::function<Duration(const Plan&)> took = {},
             Duration swap = {});
  /// A new device and scheduler, as after a restart, with the pages' files in this folder.
  void start_with_files(SchedulerOptions options, const std::filesystem::path& folder,
                        std::function<Duration(const Plan&)> took = {});
  void TearDown() override;

  GroupOutcome& submit(const Ask& ask);
  void end(GroupOutcome& outcome, GroupEnd how = GroupEnd::kCancelled);
  void end_sequence(GroupOutcome& outcome, std::int32_t sequence);

  /// Plans the next tick, ahead of those that wait to run.
  bool plan(std::optional<Duration> budget = {});
  /// Changes the plan made last, which has not run.
  void amend();
  /// Runs the oldest plan and takes its results.
  void run();
  /// Runs the oldest plan and loses its results.
  void lose();
  /// Plans and runs once, with no plan ahead. Returns false when there was nothing to do.
  bool tick();
  /// Runs a plan in each stage while another waits, as the pipeline does, until nothing is left to
  /// plan.
  void finish_all();

  [[nodiscard]] const Plan& newest() const { return planned_.back()->plan; }
  [[nodiscard]] const StepShape& newest_shape() const { return planned_.back()->shape; }
  [[nodiscard]] std::size_t planned() const { return planned_.size(); }
  [[nodiscard]] const PlanEntry* entry_of(const GroupOutcome& outcome,
                                          std::size_t sequence = 0) const;
  [[nodiscard]] std::int32_t pages_used() const {
    return options_.limits.pages - scheduler_->stats().pages_free;
  }
  [[nodiscard]] bool runs(const GroupOutcome& outcome) const {
    return outcome.group != nullptr && outcome.group->phase != GroupPhase::kWaiting;
  }
  /// Returns the tokens that a group of one sequence gets when it runs alone to its longest.
  [[nodiscard]] std::vector<TokenId> alone(const GroupOutcome& outcome) const;
  /// Returns the token that the model gives behind a group's input and prompt and these outputs.
  [[nodiscard]] TokenId token_behind(const GroupOutcome& outcome, std::span<const TokenId> outputs,
                                     std::uint64_t seed) const;

  SchedulerOptions options_;
  std::unique_ptr<FakeDevice> device_;
  std::shared_ptr<PageFiles> files_;                         // closed before the device goes
  std::function<std::int32_t(std::int32_t)> right_guesses_;  ///< of the next device
  GuessSource guess_source_ = GuessSource::kOwn;             ///< the same
  std::function<DraftTimes(std::int32_t)> drafting_;         ///< the same
  std::function<std::int32_t()> adapter_steps_;              ///< the same
  std::function<TrainingDone(const Plan&)> on_training_;     ///< what an executor does of a plan's
  std::int64_t file_bytes_ = std::int64_t{1} << 24U;
  std::unique_ptr<Scheduler> scheduler_;
  TimePoint now_{Duration(1)};
  std::deque<GroupOutcome> outcomes_;  ///< references to them stay
  std::size_t ended_ = 0;
  std::size_t groups_ = 0;  ///< that the scheduler has not forgotten

 private:
  void on_begin(Group& group) override;
  void on_token(Group& group, std::int32_t sequence, const SampleResult& result,
                std::span<const TokenLogprob> top, SequenceEnd end) override;
  void on_end(Group& group, GroupEnd how, const Error& error) override;
  void check(const Tick& tick);
  void check_adapters(const Plan& plan);
  [[nodiscard]] GroupOutcome& of(const Group& group);

  std::map<std::int32_t, std::uint64_t> adapters_;         // by place, by fake_adapter()
  std::map<std::uint64_t, std::set<std::uint64_t>> uses_;  // by plan, of those without a result
  std::vector<std::unique_ptr<Tick>> ticks_;               // at rest
  std::deque<std::unique_ptr<Tick>> planned_;
};

}  // namespace weft::test
