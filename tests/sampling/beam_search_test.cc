#include "weft/sampling/beam_search.h"
