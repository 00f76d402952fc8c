#include "heed/base/cpus.h"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <fstream>
#include <thread>

namespace heed {
namespace {

// CPUs' worth of time that the container grants, rounded up; "max 100000" is no limit.
int container_cpus() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return INT_MAX;
  return static_cast<int>(std::clamp(std::ceil(quota / period), 1.0, 1e6));
}

}  // namespace

int available_cpus() {
  cpu_set_t allowed;
  const bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  const int cpus = known ? CPU_COUNT(&allowed) : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cpus, 1, container_cpus());
}

}  // namespace heed
