// Blocks of 256 whose weights are points of a grid, four or eight at a time. The whole grid is
// searched: the nearest point depends on the scale, but the error of each point is a polynomial of
// the scale whose two sums are computed once (grid_search.h).

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "weft/kernels/encoding/codebooks.h"
#include "weft/kernels/encoding/quantize/block_quantizers.h"
#include "weft/kernels/encoding/quantize/grid_search.h"

namespace weft {
namespace {

constexpr std::size_t kGridNumbers = 256;
constexpr std::size_t kSignGroup = 8;
// The shift, up or down, that encodings with points of three values add to a point.
constexpr float kPointShift = 0.125F;
// Scales are tried at tenths of the scale that maps the extreme to the grid's largest number. Lower
// scales clip too much; higher scales make the other numbers too small.
constexpr int kFirstTenth = 3;
constexpr int kLastTenth = 12;
// A group of nearly equal numbers needs a point whose numbers are all the grid's largest. A grid
// may lack that point, so scales for points of smaller numbers are tried too.
constexpr int kLastTenthOfFlat = 160;
constexpr float kFlat = 0.7F;

/// How a number's sign is stored.
enum class GridSigns {
  kNone,  ///< the points themselves have signs, and a shift moves them
  kEven,  ///< seven bits for eight numbers; an even number of them are negative
  kFree,  ///< a bit for each number
};

/// The layout of an encoding's block.
struct GridForm {
  std::size_t point = 8;         ///< numbers of a point
  std::size_t scale_group = 32;  ///< numbers under a scale
  std::size_t shift_group = 32;  ///< numbers with the same shift (kNone)
  GridSigns signs = GridSigns::kEven;
  int scale_codes = 16;
  float first_scale = 0.125F;  ///< the scale of code 0, in scales of the block
  float scale_step = 0.25F;    ///< the step from one code's scale to the next

  [[nodiscard]] float scale_of(int code) const {
    return first_scale + scale_step * static_cast<float>(code);
  }
  [[nodiscard]] std::size_t shifts() const { return signs == GridSigns::kNone ? 2 : 1; }
};

constexpr GridForm kIq2XxsForm = {.scale_group = 32};
constexpr GridForm kIq2XsForm = {.scale_group = 16};
constexpr GridForm kIq2SForm = {.scale_group = 16, .signs = GridSigns::kFree};
constexpr GridForm kIq3XxsForm = {.point = 4, .first_scale = 0.25F, .scale_step = 0.5F};
constexpr GridForm kIq3SForm = {
    .point = 4, .signs = GridSigns::kFree, .first_scale = 1, .scale_step = 2};
constexpr GridForm kIq1SForm = {
    .signs = GridSigns::kNone, .scale_codes = 8, .first_scale = 1, .scale_step = 2};
constexpr GridForm kIq1MForm = {.scale_group = 16,
                                .shift_group = 8,
                                .signs = GridSigns::kNone,
                                .scale_codes = 8,
                                .first_scale = 1,
                                .scale_step = 2};

template <std::size_t kPoint, std::size_t kCount>
GridColumns columns_of(const std::array<GridPoint<kPoint>, kCount>& points, float shift) {
  GridColumns grid{kCount, kPoint, {}};
  for (std::size_t j = 0; j < kPoint; ++j) {
    for (const GridPoint<kPoint>& point : points) {
      grid.values.push_back(static_cast<float>(point[j]) + shift);
    }
  }
  return grid;
}

/// A grid alone, or a grid moved up and the grid moved down.
using Grids = std::array<GridColumns, 2>;

template <std::size_t kPoint, std::size_t kCount>
Grids grids_of(const std::array<GridPoint<kPoint>, kCount>& points, const GridForm& form) {
  if (form.shifts() == 1) return {columns_of(points, 0), {}};
  return {columns_of(points, kPointShift), columns_of(points, -kPointShift)};
}

float largest_of(const Grids& grids) {
  return *std::ranges::max_element(grids[0].values, {}, [](float x) { return std::abs(x); });
}

/// The points, scales and signs chosen for a block.
struct GridCodes {
  std::array<std::uint16_t, kGridNumbers / 4> points{};
  std::array<std::uint8_t, kGridNumbers / kSignGroup> signs{};
  std::array<int, kGridNumbers / 16> scales{};
  std::array<bool, kGridNumbers / kSignGroup>
      moved_down{};  ///< one for each group of eight numbers
  float scale = 0;
};

/// The two sums whose quotient is the best scale for the chosen points (least squares).
struct FitSums {
  double products = 0;
  double squares = 0;

  FitSums& operator+=(const FitSums& other) {
    products += other.products;
    squares += other.squares;
    return *this;
  }
  /// Returns by how much the best scale lowers the squared error.
  [[nodiscard]] double gain() const {
    return products > 0 && squares > 0 ? products * products / squares : 0;
  }
  /// Returns the change of the squared error under another scale.
  [[nodiscard]] double cost(double scale) const {
    return scale * scale * squares - 2 * scale * products;
  }
};

/// Finds the points, scales and signs of one block.
class GridFitter {
 public:
  GridFitter(const GridForm& form, const Grids& grids, const FitGroup& block)
      : form_(form), grids_(grids), block_(block) {
    sums_.resize(2 * form.shifts() * grids[0].points * kGridNumbers / form.point);
    choose_signs();
    sum_all();
  }

  GridCodes fit() {
    std::array<float, kGridNumbers / 16> scales{};
    const std::size_t groups = kGridNumbers / form_.scale_group;
    for (std::size_t g = 0; g < groups; ++g) scales[g] = best_scale(g);
    const float most = *std::ranges::max_element(scales);
    codes_.scale = from_f16(to_f16(most / form_.scale_of(form_.scale_codes - 1)));
    for (std::size_t g = 0; g < groups; ++g) choose_scale(g, scales[g]);
    refit();
    return codes_;
  }

 private:
  // --- Signs.

  [[nodiscard]] float target(std::size_t i) const {
    const float number = block_.numbers[i];
    if (form_.signs == GridSigns::kNone) return number;
    const bool is_negative = (codes_.signs[i / kSignGroup] >> (i % kSignGroup) & 1U) != 0;
    return is_negative ? -number : number;
  }

  void choose_signs() {
    if (form_.signs == GridSigns::kNone) return;
    for (std::size_t group = 0; group < codes_.signs.size(); ++group) {
      unsigned signs = 0;
      std::size_t cheapest = 0;
      float least = std::numeric_limits<float>::infinity();
      for (std::size_t j = 0; j < kSignGroup; ++j) {
        const std::size_t i = group * kSignGroup + j;
        const float number = block_.numbers[i];
        if (number < 0) signs |= 1U << j;
        const float cost = block_.weight(i) * number * number;
        if (cost >= least) continue;
        least = cost;
        cheapest = j;
      }
      // The number whose error grows least gets the wrong sign.
      if (form_.signs == GridSigns::kEven && std::popcount(signs) % 2 != 0) signs ^= 1U << cheapest;
      codes_.signs[group] = static_cast<std::uint8_t>(signs);
    }
  }

  // --- Points. A cell is the group of numbers that become one point.

  [[nodiscard]] PointSums sums_of(std::size_t cell, std::size_t shift) {
    const std::size_t points = grids_[0].points;
    float* const first = sums_.data() + 2 * points * (cell * form_.shifts() + shift);
    return {first, first + points};
  }

  void sum_all() {
    std::array<float, 8> numbers{};
    std::array<float, 8> weights{};
    for (std::size_t cell = 0; cell < kGridNumbers / form_.point; ++cell) {
      for (std::size_t j = 0; j < form_.point; ++j) {
        numbers[j] = target(cell * form_.point + j);
        weights[j] = block_.weight(cell * form_.point + j);
      }
      for (std::size_t shift = 0; shift < form_.shifts(); ++shift) {
        sum_points(grids_[shift], numbers.data(), weights.data(), sums_of(cell, shift));
      }
    }
  }

  /// Chooses the points of the cells from `first` to `last` under a scale and with the same shift.
  FitSums choose_points(std::size_t first, std::size_t last, std::size_t shift, float scale) {
    FitSums fit;
    for (std::size_t cell = first; cell < last; ++cell) {
      const PointSums sums = sums_of(cell, shift);
      const std::size_t point = nearest_point(grids_[shift], sums, scale);
      codes_.points[cell] = static_cast<std::uint16_t>(point);
      fit += {static_cast<double>(sums.products[point]), static_cast<double>(sums.squares[point])};
    }
    return fit;
  }

  /// Chooses points for the numbers under one scale, and the direction of each group's shift.
  FitSums choose_group(std::size_t group, float scale) {
    const std::size_t step = std::min(form_.shift_group, form_.scale_group);
    FitSums all;
    for (std::size_t at = group * form_.scale_group; at < (group + 1) * form_.scale_group;
         at += step) {
      const std::size_t first = at / form_.point;
      const std::size_t last = (at + step) / form_.point;
      FitSums fit = choose_points(first, last, 0, scale);
      bool down = false;
      if (form_.shifts() == 2) {
        const FitSums other = choose_points(first, last, 1, scale);
        down = other.cost(double{scale}) < fit.cost(double{scale});
        fit = down ? other : choose_points(first, last, 0, scale);
      }
      for (std::size_t i = at; i < at + step; i += kSignGroup)
        codes_.moved_down[i / kSignGroup] = down;
      all += fit;
    }
    return all;
  }

  // --- Scales.

  float best_scale(std::size_t group) {
    const auto numbers = block_.numbers.subspan(group * form_.scale_group, form_.scale_group);
    const float extreme = std::abs(extreme_of(numbers));
    const float whole = extreme / largest_of(grids_);
    if (whole == 0) return 0;
    const bool is_flat =
        std::ranges::all_of(numbers, [&](float x) { return std::abs(x) >= kFlat * extreme; });
    float best = whole;
    double most = 0;
    for (int tenth = kFirstTenth; tenth <= (is_flat ? kLastTenthOfFlat : kLastTenth); ++tenth) {
      const FitSums fit = choose_group(group, whole * 0.1F * static_cast<float>(tenth));
      if (fit.gain() <= most) continue;
      most = fit.gain();
      best = static_cast<float>(fit.products / fit.squares);
    }
    return best;
  }

  /// Chooses, among the codes next to a scale, the code with the least error.
  void choose_scale(std::size_t group, float scale) {
    const float wanted = (scale * inverse_of(codes_.scale) - form_.first_scale) / form_.scale_step;
    const int near = code_near(wanted, {0, form_.scale_codes - 1});
    double least = std::numeric_limits<double>::infinity();
    for (int code = std::max(near - 1, 0); code <= std::min(near + 1, form_.scale_codes - 1);
         ++code) {
      const float own = codes_.scale * form_.scale_of(code);
      const double cost = choose_group(group, own).cost(double{own});
      if (cost >= least) continue;
      least = cost;
      codes_.scales[group] = code;
    }
    choose_group(group, codes_.scale * form_.scale_of(codes_.scales[group]));
  }

  /// Sets the block's scale to the best scale for the chosen codes.
  void refit() {
    FitSums all;
    for (std::size_t cell = 0; cell < kGridNumbers / form_.point; ++cell) {
      const std::size_t at = cell * form_.point;
      const bool down = codes_.moved_down[at / kSignGroup];
      const PointSums sums = sums_of(cell, down ? 1 : 0);
      const std::size_t point = codes_.points[cell];
      const auto part = double{form_.scale_of(codes_.scales[at / form_.scale_group])};
      all += {part * double{sums.products[point]}, part * part * double{sums.squares[point]}};
    }
    if (all.gain() > 0) codes_.scale = static_cast<float>(all.products / all.squares);
  }

  const GridForm& form_;
  const Grids& grids_;
  const FitGroup& block_;
  std::vector<float> sums_;
  GridCodes codes_;
};

/// Writes four bits at index `i` of a row of bytes; each byte's low half comes first.
void put_nibble(BlockBytes to, std::size_t i, unsigned bits) {
  add_bits(to[i / 2], static_cast<int>(bits & 15U), static_cast<std::int64_t>(i % 2 * 4));
}

template <class T>
void put_word(BlockBytes to, T bits) {
  std::memcpy(to, &bits, sizeof(bits));
}

/// Packs the signs of four eights (seven bits each) and a scale (four bits), which follow each
/// group of 32 in iq2_xxs and iq3_xxs.
std::uint32_t signs_and_scale(const GridCodes& codes, std::size_t group) {
  std::uint32_t word = static_cast<std::uint32_t>(codes.scales[group]) << 28U;
  for (std::size_t i = 0; i < 4; ++i) {
    word |= (codes.signs[4 * group + i] & 127U) << (7 * i);
  }
  return word;
}

void quantize_iq2_xxs(const FitGroup& numbers, BlockBytes block) {
  static const Grids grids = grids_of(kIq2XxsPoints, kIq2XxsForm);
  const GridCodes codes = GridFitter(kIq2XxsForm, grids, numbers).fit();
  store_f16(codes.scale, block);
  for (std::size_t g = 0; g < 8; ++g) {
    BlockBytes to = block + 2 + 8 * g;
    for (std::size_t i = 0; i < 4; ++i) to[i] = static_cast<std::uint8_t>(codes.points[4 * g + i]);
    put_word(to + 4, signs_and_scale(codes, g));
  }
}

void quantize_iq2_xs(const FitGroup& numbers, BlockBytes block) {
  static const Grids grids = grids_of(kIq2XsPoints, kIq2XsForm);
  const GridCodes codes = GridFitter(kIq2XsForm, grids, numbers).fit();
  store_f16(codes.scale, block);
  for (std::size_t i = 0; i < 32; ++i) {
    const unsigned signs = codes.signs[i] & 127U;
    put_word(block + 2 + 2 * i, static_cast<std::uint16_t>(codes.points[i] | signs << 9U));
  }
  for (std::size_t g = 0; g < 16; ++g) {
    put_nibble(block + 66, g, static_cast<unsigned>(codes.scales[g]));
  }
}

void quantize_iq2_s(const FitGroup& numbers, BlockBytes block) {
  static const Grids grids = grids_of(kIq2SPoints, kIq2SForm);
  const GridCodes codes = GridFitter(kIq2SForm, grids, numbers).fit();
  store_f16(codes.scale, block);
  for (std::size_t i = 0; i < 32; ++i) {
    block[2 + i] = static_cast<std::uint8_t>(codes.points[i] & 255U);
    block[34 + i] = codes.signs[i];
    add_bits(block[66 + i / 4], codes.points[i] >> 8U, static_cast<std::int64_t>(i % 4 * 2));
  }
  for (std::size_t g = 0; g < 16; ++g) {
    put_nibble(block + 74, g, static_cast<unsigned>(codes.scales[g]));
  }
}

void quantize_iq3_xxs(const FitGroup& numbers, BlockBytes block) {
  static const Grids grids = grids_of(kIq3XxsPoints, kIq3XxsForm);
  const GridCodes codes = GridFitter(kIq3XxsForm, grids, numbers).fit();
  store_f16(codes.scale, block);
  for (std::size_t i = 0; i < 64; ++i) block[2 + i] = static_cast<std::uint8_t>(codes.points[i]);
  for (std::size_t g = 0; g < 8; ++g) put_word(block + 66 + 4 * g, signs_and_scale(codes, g));
}

void quantize_iq3_s(const FitGroup& numbers, BlockBytes block) {
  static const Grids grids = grids_of(kIq3SPoints, kIq3SForm);
  const GridCodes codes = GridFitter(kIq3SForm, grids, numbers).fit();
  store_f16(codes.scale, block);
  for (std::size_t i = 0; i < 64; ++i) {
    block[2 + i] = static_cast<std::uint8_t>(codes.points[i] & 255U);
    add_bits(block[66 + i / 8], codes.points[i] >> 8U, static_cast<std::int64_t>(i % 8));
  }
  std::ranges::copy(codes.signs, block + 74);
  for (std::size_t g = 0; g < 8; ++g) {
    put_nibble(block + 106, g, static_cast<unsigned>(codes.scales[g]));
  }
}

void quantize_iq1_s(const FitGroup& numbers, BlockBytes block) {
  static const Grids grids = grids_of(kIq1Points, kIq1SForm);
  const GridCodes codes = GridFitter(kIq1SForm, grids, numbers).fit();
  store_f16(codes.scale, block);
  for (std::size_t g = 0; g < 8; ++g) {
    unsigned rest = static_cast<unsigned>(codes.scales[g]) << 12U;
    if (codes.moved_down[4 * g]) rest |= 0x8000U;
    for (std::size_t i = 0; i < 4; ++i) {
      const unsigned point = codes.points[4 * g + i];
      block[2 + 4 * g + i] = static_cast<std::uint8_t>(point & 255U);
      rest |= point >> 8U << (3 * i);
    }
    put_word(block + 34 + 2 * g, static_cast<std::uint16_t>(rest));
  }
}

void quantize_iq1_m(const FitGroup& numbers, BlockBytes block) {
  static const Grids grids = grids_of(kIq1Points, kIq1MForm);
  const GridCodes codes = GridFitter(kIq1MForm, grids, numbers).fit();
  for (std::size_t i = 0; i < 32; ++i) {
    const unsigned point = codes.points[i];
    block[i] = static_cast<std::uint8_t>(point & 255U);
    put_nibble(block + 32, i, point >> 8U | (codes.moved_down[i] ? 8U : 0U));
  }
  // The highest four bits of the four words of group scales hold the block's scale.
  const unsigned scale = to_f16(codes.scale);
  for (std::size_t word = 0; word < 4; ++word) {
    unsigned bits = (scale >> (4 * word) & 15U) << 12U;
    for (std::size_t g = 0; g < 4; ++g) {
      bits |= static_cast<unsigned>(codes.scales[4 * word + g]) << (3 * g);
    }
    put_word(block + 48 + 2 * word, static_cast<std::uint16_t>(bits));
  }
}

}  // namespace

BlockQuantizer grid_quantizer_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kIQ1_S:
      return quantize_iq1_s;
    case DType::kIQ1_M:
      return quantize_iq1_m;
    case DType::kIQ2_XXS:
      return quantize_iq2_xxs;
    case DType::kIQ2_XS:
      return quantize_iq2_xs;
    case DType::kIQ2_S:
      return quantize_iq2_s;
    case DType::kIQ3_XXS:
      return quantize_iq3_xxs;
    case DType::kIQ3_S:
      return quantize_iq3_s;
    default:
      return nullptr;
  }
}

}  // namespace weft
