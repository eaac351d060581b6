#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace weft::measure {

using Points = std::vector<std::pair<double, double>>;

/// Thins out a line so that a chart of `columns` columns looks as with all points. Of each run of
/// neighbours in one column it keeps the first, the lowest, the highest and the last (M4: Jugel et
/// al., VLDB 2014, section 4). It keeps at most 16 points a column, however the line runs. `low`
/// and `high` are the ends of x.
[[nodiscard]] Points thin_line(const Points& points, double low, double high, std::size_t columns);

/// Thins out separate points. It keeps the points with the least and the greatest x and y, and at
/// most `most` (1 or more) of the others, one in each cell of a grid.
[[nodiscard]] Points thin_cloud(const Points& points, std::size_t most);

}  // namespace weft::measure
