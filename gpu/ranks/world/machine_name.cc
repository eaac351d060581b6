#include "weft/gpu/ranks/world/machine_name.h"

#include <sys/stat.h>

#include <fstream>

namespace weft {

std::string machine_name() {
  std::string name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
  // In a container the group's root is the container's own group, which has its own limits.
  struct stat root{};
  if (::stat("/sys/fs/cgroup", &root) == 0) name += "/" + std::to_string(root.st_ino);
  return name;
}

}  // namespace weft
