// The control groups of this process: how a container or a service is held to a share of the machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heed {

struct ControlGroup {
  std::filesystem::path folder;
  int version;  // 2 or 1, which name their files differently
};

// Those that may limit what `controller` ("memory", "cpu") hands out, the groups above the process's own included.
// `groups` is the text of /proc/self/cgroup, `root` what is /sys/fs/cgroup.
std::vector<ControlGroup> control_groups(const std::string& groups, const std::string& root,
                                         const std::string& controller);

std::string own_control_groups();  // the text of /proc/self/cgroup
constexpr const char* kControlGroups = "/sys/fs/cgroup";

}  // namespace heed
