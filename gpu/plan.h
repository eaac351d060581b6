#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/core/token.h"
#include "weft/gpu/activation_reader.h"
#include "weft/gpu/device_adapter.h"
#include "weft/gpu/sequence_traits.h"
#include "weft/sampling/choice_failure.h"
#include "weft/sampling/drafters/draft_sources.h"
#include "weft/sampling/drafters/draft_times.h"
#include "weft/sampling/part_summary.h"
#include "weft/sampling/sampler.h"
#include "weft/sampling/sampling_params.h"

namespace weft {

/// Moves a row's dense state (page table, last token, sampler, what its layers keep beside pages)
/// to another row. Pages stay.
struct PlanMove {
  std::int32_t from = 0;
  std::int32_t to = 0;

  friend bool operator==(const PlanMove&, const PlanMove&) = default;
};

/// A sequence begins in a row, or begins again.
struct PlanStart {
  std::int32_t row = 0;
  std::shared_ptr<const SamplingParams> sampling{};
  std::shared_ptr<ActivationReader> reader{};  ///< gets the sequence's activations; null: none
  std::uint64_t seed = 0;
  std::int32_t prompt_tokens = 0;  ///< of what the sampler will see; the rest is output
  float mirostat_mu = 0;
  SequenceTraits traits{};
  /// Which logits its choices need, where `sampling` is null, as in another process.
  LogitNeeds needs = LogitNeeds::kAll;
  std::int32_t first_history = 0;  ///< in Plan::ids: tokens that are in the KV already
  /// Without any the row's state (DeviceLimits::state_bytes) is that of no tokens from now on. Else
  /// a PlanRestore of this plan, or of one before it, has given the row the state behind them.
  std::int32_t history_tokens = 0;
  std::int32_t cross_context = 0;     ///< tokens of its encoder's output, where that is there
  std::int32_t first_cross_page = 0;  ///< in Plan::pages: where that lies
  std::int32_t cross_pages = 0;
  bool may_guess = true;  ///< false: no entry of the sequence will have guesses
  DraftSources drafts{};  ///< for the drafter; not for a device in another process
};

/// A sequence begins with another row's tokens so far, those of this plan included, and with a copy
/// of its state.
struct PlanFork {
  std::int32_t from = 0;
  std::int32_t to = 0;
  /// The first `copied_pages` pages of `to`'s table get the contents that `from`'s have after this
  /// step, where the two tables name different pages.
  std::int32_t copied_pages = 0;
  std::uint64_t seed = 0;
  float mirostat_mu = 0;
};

/// Entries [first, first + count) of a row's page table become Plan::pages[first_page ...].
struct PlanTable {
  std::int32_t row = 0;
  std::int32_t first = 0;
  std::int32_t first_page = 0;
  std::int32_t count = 0;
};

/// Copies a page's keys and values in all layers, before anything is computed, one copy after the
/// other. Numbers from DeviceLimits::pages on are places in host memory. If no page table that the
/// plan changes (Plan::pages) has a copied page, a device may copy beside its step, which then
/// neither writes to a copy's source nor uses its target. The next plan may rely on the copies, and
/// so may a reader of the step's result where the device's pages go to files.
struct PlanCopy {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

/// A place (DeviceLimits::adapter_places) gets an adapter, and loses the one that it had. Neither
/// an entry of this plan nor one of an earlier plan without a result uses the place, so a device
/// may copy beside its steps; it keeps a share of the adapter until the copy has ended.
/// StepResult::adapters then names the place. A plan may have nothing but adapters, or nothing at
/// all: in a plan without entries the device waits for the copies that are under way, and its
/// result names all of them. An adapter is in the place that was named last for it. Another rank
/// than the one that samples() may still be copying when a row uses the adapter: its step waits for
/// that.
struct PlanAdapter {
  std::int32_t place = 0;
  std::shared_ptr<const PreparedAdapter> adapter{};  ///< not null
};

/// The row's state becomes what a snapshot of it holds, which lies in DeviceLimits::snapshot_pages
/// pages. Numbers from DeviceLimits::pages on are places for pages in host memory. It is carried
/// out among the plan's copies: the pages hold the snapshot once the first `after_copies` of these
/// are made, and a later one may change them. The device may copy beside its step as PlanCopy says;
/// the snapshot's pages are in Plan::pages as well.
struct PlanRestore {
  std::int32_t row = 0;
  std::int32_t first_page = 0;  ///< in Plan::pages: where the snapshot lies
  std::int32_t after_copies = 0;

  friend bool operator==(const PlanRestore&, const PlanRestore&) = default;
};

/// The row's state behind the entries of this plan is copied to DeviceLimits::snapshot_pages pages.
struct PlanSnapshot {
  std::int32_t row = 0;
  std::int32_t first_page = 0;  ///< in Plan::pages: where the snapshot goes

  friend bool operator==(const PlanSnapshot&, const PlanSnapshot&) = default;
};

/// The encoder reads a sequence's whole input.
struct PlanEncode {
  std::int32_t row = 0;
  std::int32_t first_id = 0;  ///< in Plan::ids
  std::int32_t count = 0;
  std::int32_t first_page = 0;  ///< in Plan::pages: where its output goes, of the cross KV
  std::int32_t pages = 0;
};

/// PlanEntry::first_id where the one token, guesses apart, is the row's last sample. The plan
/// before this one chose it or, on a device of S stages (DeviceLimits::stages), the plan S before.
inline constexpr std::int32_t kLastToken = -1;

/// New tokens of one sequence: first tokens that the plan gives, then guesses of the device.
struct PlanEntry {
  std::int32_t row = 0;
  std::int32_t count = 0;              ///< guesses included
  std::int32_t start = 0;              ///< position of the first; if `unsure`, the last it may have
  std::int32_t first_id = kLastToken;  ///< in Plan::ids, of the tokens that are no guesses
  /// How many tokens at the end are guesses of the device (DeviceLimits::guesses). It makes so many
  /// or fewer, whatever its drafter has to guess.
  std::int32_t guesses = 0;
  /// How many guesses for the row stand in earlier plans whose results the host does not have yet.
  /// The entry begins where the row's tokens end on the device: at `start` if all these guesses are
  /// right, at `start - unsure` if none is.
  std::int32_t unsure = 0;
  /// The most guesses if the device's draft model makes them (DeviceLimits::draft_context); at most
  /// `guesses`. They cost more than guesses that are looked up.
  std::int32_t drafts = 0;
};

/// A token is chosen for a row by the logits of an entry's last token. Where an entry has guesses,
/// one token is chosen behind its last token that is no guess, and one behind each right guess. A
/// guess is right if it is the token chosen at its position and all guesses before it are right.
/// The row's tokens then end on the device behind its last right guess.
struct PlanSample {
  std::int32_t entry = 0;
  std::int32_t row = 0;
};

/// Plan::training_pieces of a plan whose training ends with the present iteration.
inline constexpr std::int32_t kWholeIteration = std::numeric_limits<std::int32_t>::max();

/// What one tick runs. A device carries it out in the order of the members. Filled by the
/// scheduler, then only read; made once and used again, so that nothing is allocated.
struct Plan {
  std::uint64_t tick = 0;
  std::int32_t first_row = 0;  ///< running rows are [first_row, first_row + rows)
  std::int32_t rows = 0;
  std::vector<PlanCopy> slab_copies{};  ///< the KV of moved rows, where it lies in slabs
  std::vector<PlanMove> moves{};        ///< one after the other: `to` may be `from` of a later one
  std::vector<PlanStart> starts{};
  std::vector<PlanTable> tables{};
  std::vector<PlanCopy> copies{};
  std::vector<PlanAdapter> adapters{};
  std::vector<PlanRestore> restores{};  ///< in the order in which they stand among the copies
  std::vector<PlanEncode> encodes{};
  std::vector<PlanEntry> entries{};  ///< by row, behind them those that came late
  std::vector<PlanSnapshot> snapshots{};
  std::vector<PlanFork> forks{};
  std::vector<PlanSample> samples{};

  std::vector<TokenId> ids{};
  std::vector<std::int32_t> pages{};

  /// The most pieces of training (TrainingWork) that the executor runs after the device has run the
  /// plan. It stops at the end of an iteration. After entries it runs all of the pieces. In a plan
  /// without entries it stops between two pieces when a newer plan waits. Devices do not look at
  /// it.
  std::int32_t training_pieces = 0;

  /// Empties the plan and keeps its memory.
  void clear();
};

struct SampleResult {
  TokenId token = kNoToken;
  float logprob = 0;
  float mirostat_mu = 0;
  std::int32_t first_top = 0;  ///< in StepResult::top
  std::int32_t top_count = 0;
  std::shared_ptr<const ChoiceFailure> failure{};  ///< as of SampleOutcome
  bool more = false;  ///< a guess was right: the next result is of the same PlanSample
  /// Of the first result of a PlanSample: how many guesses the device made and computed, and where
  /// its drafter found them.
  std::int32_t guessed = 0;
  GuessSource source = GuessSource::kOwn;
};

/// The training that an executor carried out for a plan.
struct TrainingDone {
  std::int32_t pieces = 0;
  bool ends_iteration = false;  ///< the last piece was its iteration's last
  Duration took{};              ///< all pieces together
  Duration longest{};           ///< the longest piece
};

/// The results of a step.
struct StepResult {
  /// One for each PlanSample, and one more for each right guess of its entry.
  std::vector<SampleResult> samples{};
  std::vector<TokenLogprob> top{};
  /// The device's own time; on a rank, without waiting for other ranks. Zero: as long as run()
  /// took.
  Duration took{};
  /// How many pages were copied to and from host memory in copies whose time is known by now, and
  /// that time; zero on a device that does not measure it.
  std::int32_t swapped = 0;
  Duration swapping{};
  /// Places whose latest PlanAdapter is carried out: plans may use these adapters from now on. The
  /// host names them in the result of the plan itself, a GPU in the first result after the copy.
  std::vector<std::int32_t> adapters{};
  TrainingDone training{};  ///< the executor's
  DraftTimes drafting{};    ///< of `took`, the time that the device's draft model took

  /// Empties the result and keeps its memory.
  void clear();
};

}  // namespace weft
