#include "heed/base/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace heed {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// "MemAvailable:   22382344 kB"
int64_t machine_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string key, unit; file >> key;) {
    int64_t kilobytes = 0;
    if (key == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
    std::getline(file, unit);
  }
  return physical_memory();
}

// "max" is no limit.
int64_t container_memory() {
  std::ifstream limit("/sys/fs/cgroup/memory.max"), used("/sys/fs/cgroup/memory.current");
  int64_t most = 0, now = 0;
  if (!(limit >> most) || !(used >> now)) return kNoLimit;
  return std::max<int64_t>(0, most - now);
}

}  // namespace

int64_t physical_memory() { return int64_t{::sysconf(_SC_PHYS_PAGES)} * int64_t{::sysconf(_SC_PAGESIZE)}; }

int64_t available_memory() { return std::min(machine_memory(), container_memory()); }

}  // namespace heed
