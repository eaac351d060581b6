// How fast weights get from a checkpoint's files, whose pages are in the page cache, into the
// host's memory, beside plain reads of the same bytes with as many threads, in turn:
//
//   weft_load_bench MODEL [ROUNDS [THREADS]]
//
// One plain read fills a small buffer again and again: the page cache's speed. The other fills new
// memory, like the weights' memory: the speed of loading without packing.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/gpu/host/host_memory.h"
#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/host/thread_team.h"
#include "weft/model/open_model.h"

namespace weft::bench {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;  // the same size as
                                                            // CheckpointTensor::piece_bytes

/// The files of a checkpoint, from the first byte of a tensor to the last.
class Files {
 public:
  explicit Files(const Checkpoint& checkpoint) {
    std::map<SharedSource, std::pair<std::uint64_t, std::uint64_t>> places;
    for (const CheckpointTensor& tensor : checkpoint.tensors()) {
      auto [place, is_new] = places.try_emplace(tensor.source, tensor.offset, tensor.offset);
      auto& [first, end] = place->second;
      first = std::min(first, tensor.offset);
      end = std::max(end, tensor.offset + tensor.size);
    }
    for (const auto& [source, place] : places) {
      for (std::uint64_t at = place.first; at < place.second; at += kPieceBytes) {
        const auto count = std::min<std::uint64_t>(kPieceBytes, place.second - at);
        pieces_.push_back({source, at, static_cast<std::size_t>(count)});
        bytes_ += count;
      }
    }
  }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Returns the seconds for reading everything, each thread into its own small buffer again and
  /// again.
  [[nodiscard]] double read_over(ThreadTeam& team) const {
    return seconds([&] {
      team.run([&](Share share) {
        std::vector<std::byte> buffer(kPieceBytes);
        const auto [begin, end] = share.of(std::ssize(pieces_), 1);
        for (std::int64_t i = begin; i < end; ++i) {
          read(pieces_[static_cast<std::size_t>(i)], buffer);
        }
      });
    });
  }

  /// Returns the seconds for reading everything into new memory.
  [[nodiscard]] double read_fresh(ThreadTeam& team) const {
    HostMemory memory;
    return seconds([&] {
      memory = HostMemory::allocate(pieces_.size() * kPieceBytes).value();
      team.run([&](Share share) {
        const auto [begin, end] = share.of(std::ssize(pieces_), 1);
        for (std::int64_t i = begin; i < end; ++i) {
          const auto at = static_cast<std::size_t>(i);
          read(pieces_[at], memory.bytes().subspan(at * kPieceBytes, kPieceBytes));
        }
      });
    });
  }

 private:
  struct Piece {
    SharedSource source;
    std::uint64_t first = 0;
    std::size_t count = 0;
  };

  static void read(const Piece& piece, std::span<std::byte> into) {
    piece.source->read(piece.first, into.first(piece.count)).value();
  }

  std::vector<Piece> pieces_;
  std::uint64_t bytes_ = 0;
};

void print(const char* what, std::uint64_t bytes, const std::vector<double>& times) {
  std::vector<double> rates;
  for (const double time : times) rates.push_back(static_cast<double>(bytes) / time / 1e9);
  std::printf("%-34s %8.2f [%.2f, %.2f]\n", what, median(rates), quantile(rates, 0.25),
              quantile(rates, 0.75));
}

void print_ratio(const char* what, const std::vector<double>& over,
                 const std::vector<double>& under) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < over.size(); ++i) ratios.push_back(over[i] / under[i]);
  std::printf("%-34s %8.2f [%.2f, %.2f]\n", what, median(ratios), quantile(ratios, 0.25),
              quantile(ratios, 0.75));
}

int run(const std::string& path, int rounds, int threads) {
  const auto model = open_model(path);
  if (!model) {
    std::fprintf(stderr, "%s\n", to_string(model.error()).c_str());
    return 2;
  }
  const Files files(*model->checkpoint);
  ThreadTeam team({.threads = threads});
  const auto load = [&] {
    HostWeights weights;
    return seconds(
        [&] { weights = HostWeights::load(*model->program, team, LoadProgress{}).value(); });
  };
  std::vector<double> over, fresh, ours;
  for (int i = -1; i < rounds; ++i) {
    const double times[] = {files.read_over(team), files.read_fresh(team), load()};
    if (i < 0) continue;  // the first round brings the file into the page cache
    over.push_back(times[0]);
    fresh.push_back(times[1]);
    ours.push_back(times[2]);
  }
  std::printf("%s: %.0f MB, %d threads, %d rounds: median [quartiles]\n", path.c_str(),
              static_cast<double>(files.bytes()) / 1e6, team.size(), rounds);
  print("read into one buffer, GB/s", files.bytes(), over);
  print("read into fresh memory, GB/s", files.bytes(), fresh);
  print("loaded, GB/s", files.bytes(), ours);
  print_ratio("loading over one buffer", over, ours);
  print_ratio("loading over fresh memory", fresh, ours);
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: weft_load_bench MODEL [ROUNDS [THREADS]]\n", stderr);
    return 2;
  }
  const auto number = [&](int at, int otherwise) {
    return argc > at ? std::atoi(argv[at]) : otherwise;
  };
  return weft::bench::run(argv[1], number(2, 15), number(3, 0));
}
