#include "weft/gpu/cuda/runtime/nccl_ranks.h"

#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/io/shared_library.h"
#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/cuda/runtime/peer_sums.h"
#include "weft/gpu/device_error.h"

namespace weft::cuda {
namespace {

#define WEFT_TEXT_OF(number) #number
#define WEFT_NCCL(major) "libnccl.so." WEFT_TEXT_OF(major)
constexpr const char* kLibrary = WEFT_NCCL(NCCL_MAJOR);

static_assert(sizeof(ncclUniqueId) == sizeof(CudaRanks::GroupId));

// NCCL's statuses begin here; CUDA's end far below.
constexpr int kFirstStatus = 20'000;

// Tokens are a kilobyte, and a kernel that waits for them should take little of a GPU.
constexpr int kTokenBlocks = 1;
// A step's stream has at most some megabytes; this many blocks transfer them at the links' rate.
constexpr int kStreamBlocks = 8;

Status nccl_status(ncclResult_t result) {
  if (result == ncclSuccess || result == ncclInProgress) return Status::kSuccess;
  return Status{kFirstStatus + static_cast<int>(result)};
}

bool goes_on(ncclResult_t result) { return nccl_status(result) == Status::kSuccess; }

/// NCCL's functions, from the library that the first call loads.
struct Nccl {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclCommGetAsyncError) get_async_error = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  std::string missing;  ///< why NCCL cannot be used

  Nccl() {
    // NVLink multicast gains nothing at the sizes of a step. On hosts whose GPUs are shared by
    // guests, it has disabled the GPUs until the host was reset. The user's own setting wins.
    ::setenv("NCCL_NVLS_ENABLE", "0", 0);
    const auto library = SharedLibrary::open({kLibrary});
    if (!library) {
      missing = library.error().detail;
      return;
    }
    find(*library, "ncclGetVersion", get_version);
    find(*library, "ncclGetUniqueId", get_unique_id);
    find(*library, "ncclCommInitRankConfig", init_rank);
    find(*library, "ncclCommAbort", abort);
    find(*library, "ncclCommGetAsyncError", get_async_error);
    find(*library, "ncclGetErrorString", get_error_string);
    find(*library, "ncclAllReduce", all_reduce);
    find(*library, "ncclBroadcast", broadcast);
    find(*library, "ncclSend", send);
    find(*library, "ncclRecv", receive);
    find(*library, "ncclGroupStart", group_start);
    find(*library, "ncclGroupEnd", group_end);
  }

 private:
  template <class Function>
  void find(const SharedLibrary& library, const char* name, Function*& function) {
    const auto found = library.find(name, function);
    if (!found && missing.empty()) missing = found.error().detail;
  }
};

const Nccl& nccl() {
  static const Nccl loaded;
  return loaded;
}

std::size_t numbers_of(std::int64_t rows, const DeviceRows& values) {
  return static_cast<std::size_t>(rows * values.stride);
}

class Communicators final : public NcclRanks {
 public:
  explicit Communicators(const CudaRank& place)
      : all_(place.all),
        stage_(place.stage),
        rank_(place.rank),
        number_(rank_number(all_->widths, stage_, rank_)) {}

  /// Destroying the threads then waits for the aborts.
  ~Communicators() override { Communicators::leave(); }

  Status join_all() {
    // Only ranks of one process can write to each other's inboxes.
    if (all_->several_processes) return join_groups();
    // Each rank shows its inbox before it meets its stage, so that the others find it afterwards.
    if (const auto shown = PeerSums::show({all_, stage_, rank_}, peers_);
        shown != Status::kSuccess) {
      return shown;
    }
    const Status joined = join_groups();
    return joined == Status::kSuccess && peers_ ? peers_->meet() : joined;
  }

  Status run(const CudaAllReduceParams& params, Stream stream) override {
    return sum_up(params, nullptr, stream);
  }

  Status run(const CudaSumNormParams& params, Stream stream) override {
    return sum_up(params.sum, &params.norm, stream);
  }

  Status run(const CudaGatherParams& params, Stream stream) override {
    const ncclComm_t stage = group(GroupKind::kStage, stage_);
    if (params.parts == nullptr) {
      return checked([&] {
        return nccl().send(params.in.data, numbers_of(params.rows, params.in), ncclFloat32, 0,
                           stage, stream);
      });
    }
    return together([&] {
      ncclResult_t result = ncclSuccess;
      for (std::size_t from = 1; from < params.columns.size() && goes_on(result); ++from) {
        const DeviceRows& part = params.parts[from];
        result = nccl().receive(part.data, numbers_of(params.rows, part), ncclFloat32,
                                static_cast<int>(from), stage, stream);
      }
      return result;
    });
  }

  Status run(const CudaSendParams& params, Stream stream) override {
    if (all_->is_on_host(stage_ + 1)) return state_of_all();
    const std::int32_t width = all_->widths[static_cast<std::size_t>(stage_)];
    const std::int32_t next = all_->widths[static_cast<std::size_t>(stage_) + 1];
    return together([&] {
      ncclResult_t result = ncclSuccess;
      for (std::int32_t to = rank_; to < next && goes_on(result); to += width) {
        result = nccl().send(params.values.data, numbers_of(params.rows, params.values),
                             ncclFloat32, width + to, group(GroupKind::kStream, stage_), stream);
      }
      return result;
    });
  }

  Status run(const CudaReceiveParams& params, Stream stream) override {
    if (all_->is_on_host(stage_ - 1)) return state_of_all();
    const std::int32_t before = all_->widths[static_cast<std::size_t>(stage_) - 1];
    return checked([&] {
      return nccl().receive(params.values.data, numbers_of(params.rows, params.values), ncclFloat32,
                            rank_ % before, group(GroupKind::kStream, stage_ - 1), stream);
    });
  }

  Status run(const CudaTokensParams& params, Stream stream) override {
    const auto stage = static_cast<std::int32_t>(all_->widths.size()) - 1;
    return checked([&] {
      return nccl().broadcast(params.tokens, params.tokens, static_cast<std::size_t>(params.count),
                              ncclInt32, 0, group(GroupKind::kTokens, stage), stream);
    });
  }

  Status state() override {
    if (state_of_all() != Status::kSuccess) return kRankLost;
    for (const Joined& one : groups_) {
      ncclResult_t error = ncclSuccess;
      const auto asked = nccl().get_async_error(one.communicator, &error);
      if (asked != ncclSuccess) return nccl_status(asked);
      if (nccl_status(error) != Status::kSuccess) return nccl_status(error);
    }
    return Status::kSuccess;
  }

  void leave() noexcept override {
    has_left_ = true;
    if (peers_) peers_->leave();
    for (const Joined& one : std::exchange(groups_, {})) {
      leaving_.emplace_back(
          [communicator = one.communicator] { static_cast<void>(nccl().abort(communicator)); });
    }
  }

  void abandon() noexcept override { all_->lost.store(true, std::memory_order_release); }

 private:
  struct Joined {
    const NcclGroup* group = nullptr;
    ncclComm_t communicator = nullptr;
  };

  Status join_groups() {
    for (std::size_t i = 0; i < all_->groups.size(); ++i) {
      const NcclGroup& group = all_->groups[i];
      const auto own = std::ranges::find(group.ranks, number_);
      if (own == group.ranks.end()) continue;
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      // Another process may never come, and the call must notice that. Threads of one process
      // always come.
      config.blocking = all_->several_processes ? 0 : 1;
      if (group.kind == GroupKind::kTokens) config.minCTAs = config.maxCTAs = kTokenBlocks;
      if (group.kind == GroupKind::kStream) config.maxCTAs = kStreamBlocks;
      ncclUniqueId id;
      std::memcpy(&id, all_->ids[i].data(), sizeof(id));
      ncclComm_t made = nullptr;
      const auto joined = nccl().init_rank(&made, static_cast<int>(group.ranks.size()), id,
                                           static_cast<int>(own - group.ranks.begin()), &config);
      if (made != nullptr) groups_.push_back({&group, made});
      if (const Status met = settled(joined); met != Status::kSuccess) return met;
    }
    return Status::kSuccess;
  }

  Status sum_up(const CudaAllReduceParams& params, const CudaNormParams* after, Stream stream) {
    if (peers_ && peers_->takes(params, after != nullptr)) {
      const Status state = state_of_all();
      return state == Status::kSuccess ? peers_->run(params, after, stream) : state;
    }
    const Status summed = sum_up_by_nccl(params, stream);
    return summed == Status::kSuccess && after != nullptr ? norm(*after, stream) : summed;
  }

  Status sum_up_by_nccl(const CudaAllReduceParams& params, Stream stream) {
    const DeviceRows& values = params.values;
    const auto add_up = [&](float* numbers, std::size_t count) {
      return nccl().all_reduce(numbers, numbers, count, ncclFloat32, ncclSum,
                               group(GroupKind::kStage, stage_), stream);
    };
    auto* numbers = static_cast<float*>(values.data);
    if (values.stride == values.width) {
      return checked([&] { return add_up(numbers, numbers_of(params.rows, values)); });
    }
    // The padding between rows is not summed: after some steps it would overflow to NaN.
    return together([&] {
      ncclResult_t result = ncclSuccess;
      for (std::int64_t row = 0; row < params.rows && goes_on(result); ++row) {
        result = add_up(numbers + row * values.stride, static_cast<std::size_t>(values.width));
      }
      return result;
    });
  }

  [[nodiscard]] ncclComm_t group(GroupKind kind, std::int32_t stage) const {
    const auto found = std::ranges::find_if(groups_, [&](const Joined& one) {
      return one.group->kind == kind && one.group->stage == stage;
    });
    return found == groups_.end() ? nullptr : found->communicator;  // NCCL refuses null
  }

  [[nodiscard]] Status state_of_all() const {
    return has_left_ || all_->lost.load(std::memory_order_acquire) ? kRankLost : Status::kSuccess;
  }

  /// Returns the status of an NCCL call. Communicators that do not block finish a call in the
  /// background. This function waits for the end, unless a rank is lost meanwhile.
  Status settled(ncclResult_t result) {
    if (result != ncclInProgress) return nccl_status(result);
    for (const Joined& one : groups_) {
      for (result = ncclInProgress; result == ncclInProgress; std::this_thread::yield()) {
        if (const Status state = state_of_all(); state != Status::kSuccess) return state;
        const auto asked = nccl().get_async_error(one.communicator, &result);
        if (asked != ncclSuccess) return nccl_status(asked);
      }
      if (result != ncclSuccess) return nccl_status(result);
    }
    return Status::kSuccess;
  }

  template <class Work>
  Status checked(const Work& work) {
    const Status state = state_of_all();
    return state == Status::kSuccess ? settled(work()) : state;
  }

  /// Runs all NCCL calls of `work` as one operation.
  template <class Work>
  Status together(const Work& work) {
    return checked([&] {
      const auto started = nccl().group_start();
      if (started != ncclSuccess) return started;
      const auto worked = work();
      const auto ended = nccl().group_end();
      return goes_on(worked) ? ended : worked;
    });
  }

  const std::shared_ptr<CudaRanks> all_;
  const std::int32_t stage_, rank_, number_;
  std::unique_ptr<PeerSums> peers_;  // null: no rank of the stage sums up this way
  std::vector<Joined> groups_;
  bool has_left_ = false;
  std::vector<std::jthread> leaving_;
};

}  // namespace

Status NcclRanks::join(const CudaRank& place, std::unique_ptr<NcclRanks>& ranks) {
  auto made = std::make_unique<Communicators>(place);
  const Status status = made->join_all();
  if (status == Status::kSuccess) ranks = std::move(made);
  return status;
}

Result<std::shared_ptr<CudaRanks>> make_ranks(const std::vector<std::int32_t>& widths,
                                              const std::vector<bool>& on_host) {
  auto ranks = std::make_shared<CudaRanks>(widths, on_host);
  if (ranks->groups.empty()) return ranks;
  if (!nccl().missing.empty()) return Error{DeviceErrc::kUnfit, "partition: " + nccl().missing};
  for (std::size_t i = 0; i < ranks->groups.size(); ++i) {
    ncclUniqueId id;
    if (const auto made = nccl().get_unique_id(&id); made != ncclSuccess) {
      return Error{DeviceErrc::kDriver,
                   std::string("partition: NCCL: ") + nccl().get_error_string(made)};
    }
    std::memcpy(ranks->ids.emplace_back().data(), &id, sizeof(id));
  }
  return ranks;
}

bool is_nccl(Status status) noexcept { return static_cast<int>(status) >= kFirstStatus; }

std::string describe_nccl(Status status) {
  const auto result = static_cast<ncclResult_t>(static_cast<int>(status) - kFirstStatus);
  return std::string("NCCL: ") + nccl().get_error_string(result);
}

std::string nccl_version() {
  int version = 0;
  if (!nccl().missing.empty() || nccl().get_version(&version) != ncclSuccess) return "";
  // NCCL writes 2.27.3 as 22703.
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

}  // namespace weft::cuda
