#include "weft/tests/actors/simulated_model.h"

#include <algorithm>
#include <array>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "weft/gpu/device_error.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/tests/actors/letter_model.h"
#include "weft/tests/fixture/fake_device_with_files.h"

namespace weft::test {
namespace {

/// Clients and salts of a simulation have names of one letter.
constexpr std::int32_t kLettersAndNone = 27;

std::int32_t number_of(const std::string& letter) {
  return letter.empty() ? 0 : 1 + (letter.front() - 'a');
}

}  // namespace

SimulatedModel::SimulatedModel(const Options& options, std::mt19937_64& random)
    : name("m" + std::to_string(options.number)),
      options_(options),
      weights_(static_cast<std::uint64_t>(options.number) * 0xA24BAED4963EE407U) {
  const auto below = [&](std::uint64_t most) { return random() % most; };
  const auto chance = [&](double probability) {
    return std::uniform_real_distribution<double>()(random) < probability;
  };
  limits_.page_tokens = std::array{1, 2, 4, 16}.at(below(4));
  limits_.context = 48;
  limits_.rows = static_cast<std::int32_t>(1 + below(8));
  const bool slab = chance(0.2) && !options.folder && !options.pages_only;
  limits_.step_tokens = limits_.rows + 1 + static_cast<std::int32_t>(below(40));
  // It may be less than a page, and more than a context.
  if (options.windows) limits_.window = static_cast<std::int64_t>(1 + below(below(60) + 1));
  const auto whole = limits_.pages_per_row();
  const std::int32_t all = limits_.rows * whole;
  const auto most = static_cast<std::uint64_t>(all);
  const auto least = static_cast<std::uint64_t>(limits_.held_pages_for(limits_.context));
  limits_.pages = slab ? all : static_cast<std::int32_t>(std::max(least, below(most) + 1));
  if (chance(0.5) || options.places)
    limits_.host_pages = static_cast<std::int32_t>(below(most) + 1);
  if (options.encoder) limits_.cross_pages = whole + static_cast<std::int32_t>(below(most));
  if (options.state) {
    limits_.state_bytes = sizeof(std::uint64_t);
    limits_.snapshot_pages = static_cast<std::int32_t>(1 + below(3));
    limits_.snapshot_every = static_cast<std::int32_t>(below(10));
  }
  limits_.vocabulary = kLetters;
  limits_.stages = options.stages;
  limits_.guesses = options.guesses;
  if (options.guesses > 0) {
    acceptance_.seed(random());
    // Of some devices the draft model has a shorter context.
    const std::uint64_t shape = acceptance_() % 4;
    if (shape > 0)
      limits_.draft_context = static_cast<std::int32_t>(limits_.context >> (shape - 1));
  }
  if (options.adapters) {
    limits_.adapter_places = static_cast<std::int32_t>(1 + below(3));
    copying_.seed(random());
  }

  config.kv_layout = slab ? KvLayout::kSlab : KvLayout::kPages;
  config.page_tokens = limits_.page_tokens;
  config.admission = chance(0.3) ? AdmissionMode::kReserve : AdmissionMode::kOptimistic;
  config.watermark = chance(0.5) ? 0.05 : 0;
  config.decode_every = static_cast<std::int32_t>(1 + below(3));
  config.cache_enabled = !chance(0.1) || options.folder;
  config.cache_share = chance(0.5) ? CacheShare::kAll : CacheShare::kKey;
  config.max_queued_requests = 24;
  if (limits_.guesses > 0) config.speculation = SpeculationKind::kSuffix;
  config.max_queued_prompt_tokens = 2000;
  if (chance(0.15)) config.policy = BatchPolicy::kStatic;
  if (chance(0.15)) {
    config.policy = BatchPolicy::kWindow;
    config.window = std::chrono::milliseconds(5);
  }
}

ServedModel SimulatedModel::served() const {
  ServedModel model = letter_model(limits_.context);
  model.end_tokens = {SimulatedRequest::kEnd};
  model.has_encoder = options_.encoder;
  model.start_token = SimulatedRequest::kStart;
  model.cache_share = config.cache_share;
  return model;
}

void SimulatedModel::know(const Request& request, std::uint64_t adapter) {
  if (adapter > 0) adapters_[*request.sampling.seed] = fake_prepared(adapter);
  const std::string& client = config.cache_share == CacheShare::kAll ? "" : request.client;
  const std::int32_t model = options_.number * kLettersAndNone * kLettersAndNone;
  const std::int32_t domain =
      model + number_of(client) * kLettersAndNone + number_of(request.cache_salt);
  constexpr std::size_t kMostSequences = 8;
  for (std::size_t i = 0; i < kMostSequences; ++i) domains_[seed_of_choice(request, i)] = domain;
}

std::shared_ptr<const PreparedAdapter> SimulatedModel::adapter_of(const Request& request) const {
  const auto found = adapters_.find(*request.sampling.seed);
  return found == adapters_.end() ? nullptr : found->second;
}

void SimulatedModel::count(const Plan& plan) {
  adapter_loads += plan.adapters.size();
  for (const PlanEntry& entry : plan.entries) {
    guesses.entries += entry.guesses > 0 ? 1 : 0;
    guesses.unsure += entry.unsure > 0 ? 1 : 0;
    guesses.drafts += entry.drafts > 0 ? 1 : 0;
  }
  states.kept += plan.snapshots.size();
  states.restored += plan.restores.size();
  for (const PlanRestore& one : plan.restores) {
    const PageId first = plan.pages.at(static_cast<std::size_t>(one.first_page));
    states.from_host += first >= limits_.pages ? 1 : 0;
  }
}

FakeDevice::Options SimulatedModel::device_options(const std::function<void()>& run) {
  FakeDevice::Options device{.limits = limits_, .weights = weights_};
  device.domain = [this](const PlanStart& start) { return domains_.at(start.seed); };
  // So slow that reading files is sooner.
  const int token = options_.folder ? 2000 : 20;
  device.took = [token](const Plan& plan) {
    return std::chrono::microseconds(500 + token * tokens_of(plan));
  };
  device.right_guesses = [this](std::int32_t made) {
    const auto right =
        static_cast<std::int32_t>(acceptance_() % (static_cast<std::uint64_t>(made) + 1));
    guesses.made += static_cast<std::uint64_t>(made);
    guesses.right += static_cast<std::uint64_t>(right);
    return right;
  };
  if (limits_.draft_context > 0) {
    device.drafting = [this](std::int32_t drafted) {
      // It reads in some steps.
      const auto reading = static_cast<std::int64_t>(acceptance_() % 4) - 2;
      return DraftTimes{.drafting = std::chrono::microseconds(2 * drafted),
                        .reading = std::chrono::microseconds(std::max<std::int64_t>(reading, 0))};
    };
  }
  if (options_.adapters) {
    device.adapter_steps = [this] { return static_cast<std::int32_t>(copying_() % 4); };
  }
  device.run = [this, run](const Plan& plan) {
    count(plan);
    run();
  };
  return device;
}

DeviceRanks SimulatedModel::make_devices(const std::function<void()>& run) {
  FakeDevice::Options device = device_options(run);
  if (options_.ranks == 0) return finish_devices(std::move(device), {});
  ranks = std::make_shared<FakeRanks>(
      FakeRanks::Options{std::move(device), options_.ranks, /*waits=*/false});
  return ranks->devices();
}

std::size_t SimulatedModel::least_bytes() const noexcept {
  return static_cast<std::size_t>(limits_.pages_per_row()) *
         static_cast<std::size_t>(limits_.page_tokens) * sizeof(TokenId);
}

DeviceRanks SimulatedModel::make_devices(const std::function<void()>& run, MemoryBudget& budget,
                                         std::int64_t most_bytes) {
  const std::int64_t page = limits_.page_tokens * static_cast<std::int64_t>(sizeof(TokenId));
  auto claim = budget.take([&](std::int64_t left) -> Result<std::int64_t> {
    const std::int64_t most = std::int64_t{limits_.rows} * limits_.pages_per_row();
    const std::int64_t pages = std::min(std::min(left, most_bytes) / page, most);
    if (pages < limits_.pages_per_row()) {
      return Error{DeviceErrc::kOutOfMemory, "for one request"};
    }
    limits_.pages = static_cast<std::int32_t>(pages);
    return pages * page;
  });
  if (!claim) throw boost::system::system_error(claim.error().code, claim.error().detail);
  return finish_devices(device_options(run), *std::move(claim));
}

DeviceRanks SimulatedModel::finish_devices(FakeDevice::Options device, MemoryClaim claim) {
  auto made = std::make_shared<FakeDeviceWithFiles>(std::move(device), std::move(claim));
  if (options_.folder) {
    made->open_files(*options_.folder, PageKey{static_cast<std::byte>(options_.number)},
                     pages_read_before_);
    files = made->page_files();
  }
  return {made};
}

std::uint64_t SimulatedModel::pages_read() const {
  const auto open = files.lock();
  return *pages_read_before_ + (open ? open->stats().read : 0);
}

}  // namespace weft::test
